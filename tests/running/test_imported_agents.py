"""Existing Pydantic AI agents, by import path: run as they are, with what the file gives them beside."""

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from restante.errors import BadConfig
from restante.running.agents import Hosted, build_agents
from restante.running.config import load_config
from restante.turn import TurnOptions
from tests.turn.playing import Played, play

pytestmark = pytest.mark.anyio

SHOP = """\
from dataclasses import dataclass

from pydantic import BaseModel
from pydantic_ai import Agent, RunContext
from pydantic_ai.capabilities import ProcessHistory
from pydantic_ai.models.function import FunctionModel
from pydantic_ai.messages import ModelResponse, TextPart, ToolCallPart
from pydantic_ai.usage import UsageLimits

from restante.testing import ScriptedModel, call, calls, says


@dataclass
class Books:
    owner: str


class Bill(BaseModel):
    total: int
    note: str = ""


books = Books("the shop")
seen = []


def keep(messages):
    seen.append(len(messages))
    return messages


def bill(messages, info):
    return ModelResponse(parts=[ToolCallPart(info.output_tools[0].name, {"total": 3})])


billing = Agent(FunctionModel(bill), output_type=Bill)
reader = Agent(
    ScriptedModel(calls(call("owner")), says("read")),
    deps_type=Books,
    capabilities=[ProcessHistory(keep)],
)


@reader.tool
async def owner(ctx: RunContext[Books]) -> str:
    return ctx.deps.owner


writer = Agent(ScriptedModel(calls(call("send_message", to="everyone", text="hello")), says("sent")))
parent = Agent(ScriptedModel(calls(call("spawn", agent="billing", task="count")), says("asked")))
mute = Agent(name="mute")


class rack:
    billing = billing


prices = {"a": 1}
"""


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    """A folder with a module beside the configuration, which Python finds nowhere else."""
    (tmp_path / "shop_of_test.py").write_text(SHOP)
    (tmp_path / "restless_of_test.py").write_text("raise RuntimeError('no database')\n")
    (tmp_path / "leaving_of_test.py").write_text("import sys\nsys.exit('usage: ...')\n")
    (tmp_path / "needy_of_test.py").write_text("import a_library_that_is_not_there\n")
    path, modules = list(sys.path), set(sys.modules)
    yield tmp_path
    sys.path[:] = path
    for name in set(sys.modules) - modules:
        if name.endswith("_of_test"):
            del sys.modules[name]


def built(folder: Path, *agents: str) -> dict[str, Hosted]:
    """Agents by tables of their own; the first is the entry agent."""
    tables = "\n".join(agents)
    name = agents[0].partition("]")[0].removeprefix("[agents.")
    (folder / "restante.toml").write_text(f'entry = "{name}"\n{tables}\n')
    return dict(build_agents(load_config(folder / "restante.toml")))


async def played(agents: dict[str, Hosted], name: str) -> Played:
    return await play(agents[name].agent, "go", TurnOptions(label=name, agents=agents[name].delegates))


async def test_an_agent_beside_the_file_answers_with_an_output_of_its_own_type(folder: Path) -> None:
    agents = built(folder, '[agents.a]\nagent = "shop_of_test:billing"')

    result = (await played(agents, "a")).result

    assert repr(result.output) == "Bill(total=3, note='')"


async def test_its_output_is_read_by_whoever_spawned_it(folder: Path) -> None:
    agents = built(
        folder,
        '[agents.parent]\nagent = "shop_of_test:parent"\ndelegates_to = ["billing"]',
        '[agents.billing]\nagent = "shop_of_test:billing"',
    )

    turn = await played(agents, "parent")

    assert turn.result.output == "asked"
    assert turn.entries.results("spawn") == ['{"total":3,"note":""}']


async def test_its_tools_get_what_they_depend_on_and_its_history_processor_runs(folder: Path) -> None:
    table = '[agents.a]\nagent = "shop_of_test:reader"\ndeps = "shop_of_test:books"'

    turn = await played(built(folder, table), "a")

    assert turn.result.error is None
    assert turn.entries.results("owner") == ["the shop"]
    assert sys.modules["shop_of_test"].seen == [1, 3]


async def test_a_worker_gets_its_own_deps_and_not_those_of_its_parent(folder: Path) -> None:
    agents = built(
        folder,
        '[agents.parent]\nagent = "shop_of_test:parent"\ndelegates_to = ["billing"]\ndeps = "shop_of_test:prices"',
        '[agents.billing]\nagent = "shop_of_test:reader"\ndeps = "shop_of_test:books"',
    )

    assert (await played(agents, "parent")).entries.results("owner") == ["the shop"]


async def test_it_is_given_the_toolsets_that_the_file_names_beside_its_own(folder: Path) -> None:
    agents = built(folder, '[agents.a]\nagent = "shop_of_test:writer"\ntools.available = ["messaging"]')

    turn = await played(agents, "a")

    assert turn.result.output == "sent"
    assert turn.entries.of("message")[0]["sender"] == "a"
    assert sys.modules["shop_of_test"].writer.toolsets != agents["a"].agent.toolsets


async def test_as_a_worker_it_may_spawn_whom_the_file_lets_it(folder: Path) -> None:
    (folder / "script.toml").write_text(
        '[[top]]\ncall = {tool = "spawn", args = {agent = "parent", task = "ask"}}\n[[top]]\nsay = "done"\n'
    )
    agents = built(
        folder,
        '[agents.top]\nmodel = "scripted:script.toml"\ndelegates_to = ["parent"]',
        '[agents.parent]\nagent = "shop_of_test:parent"\ndelegates_to = ["billing"]',
        '[agents.billing]\nagent = "shop_of_test:billing"',
    )

    turn = await played(agents, "top")

    assert [facts["address"] for facts in turn.entries.of("spawn")] == ["parent#1", "billing#1"]
    assert turn.result.output == "done"


async def test_one_agent_may_stand_under_two_names(folder: Path) -> None:
    agents = built(
        folder,
        '[agents.a]\nagent = "shop_of_test:billing"',
        '[agents.b]\nagent = "shop_of_test:rack.billing"',
    )

    assert agents["a"].agent is agents["b"].agent
    assert (await played(agents, "b")).result.outcome == "answered"


@pytest.mark.parametrize(
    ("path", "words"),
    [
        ("shop_of_nobody:a", ["there is no module 'shop_of_nobody'", "nor in", "where this file is"]),
        ("shop_of_test.deeper:a", ["there is no module 'shop_of_test.deeper'"]),
        ("restless_of_test:a", ["restless_of_test cannot be imported: RuntimeError: no database"]),
        ("leaving_of_test:a", ["cannot be imported: SystemExit: usage"]),
        ("needy_of_test:a", ["No module named 'a_library_that_is_not_there'", "Is it installed?"]),
        ("shop_of_test:biling", ["there is no 'biling'", "agents of shop_of_test are: billing, "]),
        ("shop_of_test:rack.none", ["there is no 'none'"]),
        ("shop_of_test:prices", ["is a dict and no Pydantic AI agent", "billing"]),
        ("shop_of_test:mute", ["has no model", "Agent('openai:gpt-5', ...)"]),
    ],
)
async def test_what_gives_no_agent_is_refused_with_the_line_and_what_would_have_worked(
    folder: Path, path: str, words: list[str]
) -> None:
    with pytest.raises(BadConfig) as caught:
        built(folder, f'[agents.a]\ndescription = "x"\nagent = "{path}"')

    assert "restante.toml:4: Agent 'a': " in caught.value.message
    assert all(word in caught.value.message for word in words), caught.value.message


async def test_deps_that_are_not_there_are_refused_with_their_own_line(folder: Path) -> None:
    with pytest.raises(BadConfig, match=r"restante\.toml:4: Agent 'a': shop_of_test:bokks: there is no 'bokks'"):
        built(folder, '[agents.a]\nagent = "shop_of_test:reader"\ndeps = "shop_of_test:bokks"')


async def test_deps_are_for_an_agent_by_import_path(folder: Path) -> None:
    with pytest.raises(BadConfig, match=r"restante\.toml:4: deps is for an agent by import path"):
        built(folder, '[agents.a]\nmodel = "x:y"\ndeps = "shop_of_test:books"')


async def test_what_is_installed_wins_over_what_lies_beside_the_file(folder: Path) -> None:
    (folder / "json.py").write_text("raise RuntimeError('not the one of the standard library')\n")

    built(folder, '[agents.a]\nagent = "shop_of_test:billing"')

    assert str(folder) == sys.path[-1]
