"""The scripted model, the clock and the scripts in files that are shipped for users' tests."""

import asyncio
from pathlib import Path

import pytest
from pydantic_ai import Agent

from restante.errors import BadConfig
from restante.testing import FakeClock, ScriptedModel, ScriptEnded, call, calls, load_script, says
from tests.turn.playing import PATIENCE_SECONDS

pytestmark = pytest.mark.anyio


async def test_each_run_starts_the_script_anew() -> None:
    agent = Agent(ScriptedModel(says("one"), says("two")))

    assert [(await agent.run("go")).output for _ in range(2)] == ["one", "one"]


async def test_a_run_that_asks_for_more_is_told_which_step_is_missing() -> None:
    agent = Agent(ScriptedModel(calls(call("look"))))
    agent.tool_plain(look)

    with pytest.raises(ScriptEnded, match=r"run 1 asked for step 2; the script has 1"):
        await agent.run("go")


async def test_a_step_is_taken_when_its_text_is_in_the_prompt() -> None:
    agent = Agent(ScriptedModel(says("about a", when="task a"), says("about b", when="task b")))

    assert (await agent.run("do task b")).output == "about b"
    with pytest.raises(ScriptEnded, match="none that is left fits the prompt"):
        await agent.run("do task c")


async def test_a_streamed_run_follows_the_same_script() -> None:
    agent = Agent(ScriptedModel(calls(call("look"), call("look")), says("one two three")))
    agent.tool_plain(look)

    async with agent.run_stream("go") as stream:
        pieces = [piece async for piece in stream.stream_text(delta=True, debounce_by=None)]

    assert pieces == ["one ", "two ", "three"]


async def test_a_model_thinks_on_the_clock_that_the_test_moves() -> None:
    clock = FakeClock(start=100.0)
    running = asyncio.ensure_future(Agent(ScriptedModel(says("ok", seconds=30), sleep=clock.sleep)).run("go"))

    await clock.advance(29)
    assert not running.done()
    await clock.advance(1)
    async with asyncio.timeout(PATIENCE_SECONDS):
        assert (await running).output == "ok"
    assert clock.now() == 130.0


async def test_sleepers_wake_in_the_order_of_their_moments() -> None:
    clock = FakeClock()
    woken: list[tuple[int, float]] = []

    async def sleep(seconds: int) -> None:
        await clock.sleep(seconds)
        woken.append((seconds, clock.now()))

    async with asyncio.TaskGroup() as group:
        for seconds in (3, 0, 1, 2):
            group.create_task(sleep(seconds))
        await clock.advance(5)

    assert woken == [(0, 0.0), (1, 1.0), (2, 2.0), (3, 3.0)]


SCRIPT = """
[[assistant]]
call = [
  { tool = "look", args = {} },
  { tool = "look" },
]
seconds = 0.5

[[assistant]]
say = "seen twice"
when = "seen"

[[researcher]]
call = { tool = "look" }

[[researcher]]
say = "seen once"
"""


async def test_a_file_holds_the_scripts_of_several_agents(tmp_path: Path) -> None:
    slept: list[float] = []

    async def sleep(seconds: float) -> None:
        slept.append(seconds)

    models = load_script(written(tmp_path, SCRIPT), sleep=sleep)

    assert list(models) == ["assistant", "researcher"]
    agent = Agent(models["assistant"])
    agent.tool_plain(look)
    assert (await agent.run("go")).output == "seen twice"
    assert slept == [0.5]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[[assistant]]\nsay = 'a'\ncall = {tool = 'b'}", "step 1 of assistant needs `say` or `call`"),
        ("[[assistant]]\nwhen = 'a'", "step 1 of assistant needs `say` or `call`"),
        ("[[assistant]]\nsay = 'a'\nthen = 'b'", "step 1 of assistant has the unknown key 'then'"),
        ("[[assistant]]\nsay = 3", "`say` in step 1 of assistant must be a text"),
        ("[[assistant]]\ncall = {name = 'b'}", "has the unknown key 'name'"),
        ("[[assistant]]\ncall = {tool = 'b', args = 3}", "`args` in step 1 of assistant must be a table"),
        ("[[assistant]]\ncall = 'b'", "must be a table"),
        ("[[assistant]]\nsay = 'a'\nseconds = -1", "`seconds` in step 1 of assistant is -1"),
        ("assistant = 3", "assistant must be a list of steps"),
        ("assistant = ", "is no TOML"),
    ],
)
async def test_a_bad_script_names_the_agent_and_the_step(tmp_path: Path, text: str, said: str) -> None:
    with pytest.raises(BadConfig, match=said):
        load_script(written(tmp_path, text))


async def test_what_is_wrong_in_a_script_is_said_with_the_file_and_the_line_of_its_step(tmp_path: Path) -> None:
    path = written(tmp_path, "[[a]]\nsay = 'x'\n\n[[b]]\nsay = 'y'\n[[a]]\nsay = 3\n")

    with pytest.raises(BadConfig) as refused:
        load_script(path)

    assert refused.value.message == f"{path}:6: `say` in step 2 of a must be a text."


async def test_a_script_in_another_encoding_says_where(tmp_path: Path) -> None:
    path = written(tmp_path, "")
    path.write_bytes(b"ab\xff")

    with pytest.raises(BadConfig, match="not UTF-8 at byte 2"):
        load_script(path)


async def test_a_missing_script_says_so(tmp_path: Path) -> None:
    with pytest.raises(BadConfig, match="cannot be read"):
        load_script(tmp_path / "none.toml")


def look() -> str:
    """Look around."""
    return "seen"


def written(folder: Path, text: str) -> Path:
    path = folder / "script.toml"
    path.write_text(text)
    return path
