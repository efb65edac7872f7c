"""The page on the Python API is true: its examples run from top to bottom, and print what stands below them."""

import asyncio
import re
import subprocess
import sys
from collections.abc import AsyncIterable, Awaitable, Callable
from typing import Any

import pytest
from pydantic_ai import Agent, CallToolsNode, RunContext

from restante.bus import BusPolicy, MessageBus
from restante.testing import ScriptedModel, says
from restante.turn import Mailbox, TurnOptions, run_turn
from tests.contract_page import ROOT
from tests.turn.playing import BOTH, DURING, PATIENCE_SECONDS, meanwhile

PAGE = (ROOT / "docs" / "in-python.md").read_text()
EXAMPLE = re.compile(r"```python\n(.*?)```\n\n```text\n(.*?)```", re.DOTALL)
CUT = "\f"
"""What is printed between two examples, and by none of them."""

AnyAgent = Agent[Any, Any]


def test_every_example_runs_and_prints_what_it_says() -> None:
    examples = EXAMPLE.findall(PAGE)
    script = f"print({CUT!r})\n".join(code for code, _ in examples)

    ran = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False, timeout=100)

    assert ran.returncode == 0, ran.stderr
    assert ran.stdout.split(f"{CUT}\n") == [printed for _, printed in examples]
    assert len(examples) == PAGE.count("```python\n")


# Which ways of running take the last drain


async def _run(agent: AnyAgent, mailbox: Mailbox) -> None:
    await agent.run("go", capabilities=[mailbox])


async def _run_sync(agent: AnyAgent, mailbox: Mailbox) -> None:
    await asyncio.to_thread(_in_a_loop_of_its_own, agent, mailbox)


def _in_a_loop_of_its_own(agent: AnyAgent, mailbox: Mailbox) -> None:
    loop = asyncio.new_event_loop()
    asyncio.set_event_loop(loop)
    try:
        agent.run_sync("go", capabilities=[mailbox])
    finally:
        loop.close()


async def _iter(agent: AnyAgent, mailbox: Mailbox) -> None:
    async with agent.iter("go", capabilities=[mailbox]) as run:
        async for _ in run:
            pass


async def _left_iter(agent: AnyAgent, mailbox: Mailbox) -> None:
    async with agent.iter("go", capabilities=[mailbox]) as run:
        async for node in run:
            if isinstance(node, CallToolsNode):
                return  # it has answered, and nobody looks at that


async def _events(agent: AnyAgent, mailbox: Mailbox) -> None:
    async with agent.run_stream_events("go", capabilities=[mailbox]) as events:
        async for _ in events:
            pass


async def _event_handler(agent: AnyAgent, mailbox: Mailbox) -> None:
    async def listen(_: RunContext[Any], events: AsyncIterable[Any]) -> None:
        async for _event in events:
            pass

    await agent.run("go", capabilities=[mailbox], event_stream_handler=listen)


async def _run_stream(agent: AnyAgent, mailbox: Mailbox) -> None:
    async with agent.run_stream("go", capabilities=[mailbox]) as stream:
        await stream.get_output()


async def _turn(agent: AnyAgent, mailbox: Mailbox) -> None:
    await run_turn(agent, "go", TurnOptions(label="worker", bus=mailbox.bus))


async def _listened_turn(agent: AnyAgent, mailbox: Mailbox) -> None:
    await run_turn(agent, "go", TurnOptions(label="worker", bus=mailbox.bus, on_text=_heard))


def _heard(_: str, __: str) -> None:
    """Somebody listens."""


Way = Callable[[AnyAgent, Mailbox], Awaitable[None]]
WAYS: dict[str, Way] = {
    "`run_turn`, `open_turn`": _turn,
    "the same with `TurnOptions(on_text=...)`": _listened_turn,
    "`agent.run`": _run,
    "`agent.run` with an `event_stream_handler`": _event_handler,
    "`agent.run_sync`": _run_sync,
    "`agent.run_stream_events`": _events,
    "`agent.iter`, driven to its end": _iter,
    "`agent.iter`, left before its end": _left_iter,
    "`agent.run_stream`": _run_stream,
}
TAKES_LAST_DRAIN = dict(re.findall(r"^\| (.*) \| (yes|no) \|$", PAGE, re.MULTILINE))


def test_the_page_names_every_way_of_running() -> None:
    assert list(TAKES_LAST_DRAIN) == list(WAYS)


@pytest.mark.anyio
@pytest.mark.rows("T372")
@pytest.mark.parametrize("policy", BOTH, ids=lambda policy: policy.name)
@pytest.mark.parametrize(("name", "run"), WAYS.items(), ids=WAYS)
async def test_mail_during_the_answer_is_read_or_reported_as_the_page_says_of_each_way_of_running(
    policy: BusPolicy, name: str, run: Way
) -> None:
    bus = MessageBus(policy)
    friend = bus.open("friend")
    model = ScriptedModel(
        says("hi", seconds=DURING), says("hi, bye"), sleep=meanwhile(lambda: friend.send("worker", "say bye"))
    )

    async with asyncio.timeout(PATIENCE_SECONDS):
        await run(Agent(model), Mailbox(bus, "worker"))

    unmet = [(one.text, one.reason) for one in bus.close().unmet]
    late = "run_ended_first" if policy.liveness else "never_drained"
    assert unmet == ([] if TAKES_LAST_DRAIN[name] == "yes" else [("say bye", late)])
    assert len(model.prompts) == (2 if TAKES_LAST_DRAIN[name] == "yes" else 1)
