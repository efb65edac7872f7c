"""Agents as a configuration describes them: their models, toolsets, and whom they may spawn."""

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import pytest
from pydantic_ai import Agent
from pydantic_ai.toolsets import FunctionToolset

from restante.bus import MessageBus
from restante.errors import BadConfig
from restante.running.agents import Hosted, build_agents
from restante.running.config import load_config
from restante.testing import ScriptedModel
from restante.turn import TurnOptions
from tests.turn.playing import play

pytestmark = pytest.mark.anyio

SCRIPT = """\
[[assistant]]
call = {tool = "spawn", args = {agent = "writer", task = "write"}}
[[assistant]]
say = "done"
[[writer]]
call = [
  {tool = "spawn", args = {agent = "reader", task = "read"}},
  {tool = "send_message", args = {to = "everyone", text = "hello"}},
]
[[writer]]
say = "written"
[[reader]]
say = "read"
"""
POLICIES = ("default", "classic")
TEAM = """\
entry = "assistant"
[agents.assistant]
model = "scripted:demo.toml"
delegates_to = ["writer"]
description = "Plans."
rounds = 3
[agents.writer]
model = "scripted:demo.toml"
delegates_to = ["reader"]
tools.available = ["messaging"]
capabilities.free_text_ask = false
[agents.reader]
model = "scripted:demo.toml"
"""


def built(folder: Path, text: str) -> dict[str, Hosted]:
    (folder / "demo.toml").write_text(SCRIPT)
    (folder / "restante.toml").write_text(text)
    return dict(build_agents(load_config(folder / "restante.toml")))


def refusal(folder: Path, text: str) -> str:
    with pytest.raises(BadConfig) as caught:
        built(folder, text)
    return caught.value.message


def tools_of(agent: Agent[Any, Any]) -> set[str]:
    return {name for toolset in agent.toolsets if isinstance(toolset, FunctionToolset) for name in toolset.tools}


async def test_a_configured_team_plays_its_script_and_each_spawns_whom_it_may(tmp_path: Path) -> None:
    agents = built(tmp_path, TEAM)

    options = TurnOptions(agents=agents["assistant"].delegates)
    played = await play(agents["assistant"].agent, "go", options)

    assert played.result.output == "done"
    assert [facts["address"] for facts in played.entries.of("spawn")] == ["writer#1", "reader#1"]
    assert played.entries.of("message")[0]["sender"] == "writer#1"


async def test_what_the_file_says_of_an_agent_is_what_the_platform_runs(tmp_path: Path) -> None:
    agents = built(tmp_path, TEAM)
    assistant = agents["assistant"]

    assert (assistant.description, assistant.rounds, assistant.free_text_ask) == ("Plans.", 3, True)
    assert (agents["writer"].rounds, agents["writer"].free_text_ask) == (None, False)
    assert list(assistant.delegates) == ["writer"]
    assert isinstance(assistant.agent.model, ScriptedModel)


@pytest.mark.rows("T333")
@pytest.mark.parametrize("policy", POLICIES)
async def test_each_agent_gets_exactly_the_toolsets_that_it_names(tmp_path: Path, policy: str) -> None:
    team = f'policy = "{policy}"\n{TEAM}'
    agents = built(tmp_path, team)

    assert tools_of(agents["writer"].agent) == {"send_message", "list_agents"}
    assert tools_of(agents["assistant"].agent) == tools_of(agents["reader"].agent) == set()
    message = refusal(tmp_path, team.replace('["messaging"]', '["messaging", "mesaging"]'))
    assert "restante.toml:11: Agent 'writer' names the toolset 'mesaging'. The nearest one is 'messaging'." in message


async def test_a_toolset_is_built_once_for_an_agent_however_often_others_spawn_it(tmp_path: Path) -> None:
    agents = built(tmp_path, TEAM)

    alone, as_worker = agents["writer"].agent, agents["assistant"].delegates["writer"]
    (messaging,) = [toolset for toolset in alone.toolsets if toolset.id == "restante.messaging"]
    assert any(toolset is messaging for toolset in as_worker.toolsets)


@pytest.mark.rows("T334")
@pytest.mark.parametrize("policy", POLICIES)
async def test_who_may_spawn_cannot_write_for_that_and_who_may_write_cannot_spawn(tmp_path: Path, policy: str) -> None:
    team = f'policy = "{policy}"\n{TEAM}'.replace('tools.available = ["messaging"]', "")
    agents = built(tmp_path, f'{team}tools.available = ["messaging"]\n')

    spawning, writing = agents["assistant"].delegates["writer"], agents["writer"].delegates["reader"]
    assert "spawn" in tools_of(spawning)
    assert not tools_of(spawning) & {"send_message", "list_agents", "ask", "await_reply"}
    assert tools_of(writing) == {"send_message", "list_agents"}


@pytest.mark.rows("T331")
@pytest.mark.parametrize("policy", POLICIES)
async def test_an_agent_without_tools_cannot_send_and_can_receive(tmp_path: Path, policy: str) -> None:
    script = '[[a]]\ncall = {tool = "send_message", args = {to = "everyone", text = "x"}}\n[[a]]\nsay = "done"\n'
    (tmp_path / "a.toml").write_text(script)
    text = f'policy = "{policy}"\nentry = "a"\n[agents.a]\nmodel = "scripted:a.toml"\n'
    agents = built(tmp_path, text)

    bus = MessageBus(load_config(tmp_path / "restante.toml").policy)
    bus.open("friend").send("everyone", "for you")
    played = await play(agents["a"].agent, "go", TurnOptions(label="a", bus=bus))

    assert played.result.output == "done"
    assert [one["sender"] for one in played.result.record["messages"]] == ["friend#1"]  # type: ignore[union-attr]
    assert played.result.report.unmet == ()


@pytest.mark.parametrize(
    ("model", "words"),
    [
        ("nobody:gpt", ["'a'", "'nobody:gpt'", "Unknown model"]),
        ("scripted:demo.toml", ["'a'", "demo.toml", "[[a]]"]),
        ("local", ["'a'", "'local'", "KEY_OF_TEST", "not set"]),
        ("far", ["'a'", "'far'"]),
    ],
)
async def test_a_model_that_cannot_be_used_is_refused_with_its_agent(
    tmp_path: Path, model: str, words: list[str]
) -> None:
    models = (
        '[models.local]\nprovider = "openai"\nmodel = "m"\napi_key_env = "KEY_OF_TEST"\n'
        '[models.far]\nprovider = "nobody"\nmodel = "m"\n'
    )
    message = refusal(tmp_path, f'entry = "a"\n{models}[agents.a]\nmodel = "{model}"\n')

    assert all(word in message for word in words), message


class Server(BaseHTTPRequestHandler):
    """Speaks as much of OpenAI's chat completions as one answer takes, and keeps what it was asked."""

    asked: list[tuple[str, str | None, dict[str, Any]]]

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.asked.append((self.path, self.headers["Authorization"], body))
        choice = {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": "from here"}}
        answer = {"id": "1", "object": "chat.completion", "created": 0, "model": "m", "choices": [choice]}
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.end_headers()
        self.wfile.write(json.dumps(answer).encode())

    def log_message(self, *_: object) -> None:  # pyright: ignore[reportIncompatibleMethodOverride]
        """Nobody reads it."""


@pytest.fixture
def server() -> Iterator[HTTPServer]:
    Server.asked = []
    with HTTPServer(("127.0.0.1", 0), Server) as running:
        thread = threading.Thread(target=running.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield running
        running.shutdown()
        thread.join()


@pytest.mark.parametrize(("line", "key"), [("", "none"), ('api_key_env = "KEY_OF_TEST"', "secret")])
async def test_a_server_of_ones_own_is_asked_at_its_base_url_with_its_key(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, server: HTTPServer, line: str, key: str
) -> None:
    monkeypatch.setenv("KEY_OF_TEST", "secret")
    monkeypatch.setenv("OPENAI_API_KEY", "not for this server")
    model = (
        f'[models.local]\nprovider = "openai"\nmodel = "small"\nbase_url = "http://127.0.0.1:{server.server_port}/v1"'
    )

    agents = built(tmp_path, f'entry = "a"\n{model}\n{line}\n[agents.a]\nmodel = "local"\ninstructions = "Be brief."\n')
    played = await play(agents["a"].agent, "go")

    assert played.result.output == "from here"
    ((path, authorization, body),) = Server.asked
    assert (path, authorization, body["model"]) == ("/v1/chat/completions", f"Bearer {key}", "small")
    assert "Be brief." in json.dumps(body["messages"])
