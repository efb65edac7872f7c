"""A round: what a mailbox adds to the rounds of an agent, with no mail and with a message in each."""

import asyncio
import gc
import statistics
import time
from collections.abc import Callable, Coroutine, Iterator
from typing import Any

from pydantic_ai import Agent
from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart, ToolCallPart
from pydantic_ai.models.function import AgentInfo, FunctionModel
from pydantic_ai.usage import UsageLimits

from restante import MessageBus
from restante.turn import Mailbox, MailboxOptions
from restante_bench.measure import Row, microseconds

CALLS = 10
"""Model calls of one run, each but the last with a tool."""
REPETITIONS = 31
"""How often each kind of run is measured, in turns, so that noise meets all alike."""

Play = Callable[[], Coroutine[Any, Any, object]]


def rows() -> Iterator[Row]:
    """Every row of rounds."""
    alone, quiet, busy = asyncio.run(_measured(_alone, _quiet, _busy))
    floor = ("the same agent without a mailbox", microseconds(min(alone) / CALLS))
    for what, taken, goal in (("round with a mailbox", quiet, 1.2), ("round with a message", busy, 1.3)):
        yield Row(what, microseconds(min(taken) / CALLS), *floor, _ratio(taken, alone), goal, "less")


async def _measured(*plays: Play) -> list[list[float]]:
    """Seconds of the processor for each run of each kind; nothing here waits."""
    times: list[list[float]] = [[] for _ in plays]
    for _ in range(REPETITIONS):
        for play, taken in zip(plays, times, strict=True):
            gc.collect()
            began = time.process_time()
            await play()
            taken.append(time.process_time() - began)
    return times


def _ratio(ours: list[float], floor: list[float]) -> float:
    """The median of the ratios of runs that were measured one after the other, since a machine has slow minutes."""
    return statistics.median(mine / theirs for mine, theirs in zip(ours, floor, strict=True))


def _agent(look: Callable[[], object] = lambda: None) -> Agent[None, str]:
    agent = Agent(FunctionModel(_look_until_the_last_call))

    @agent.tool_plain(name="look")
    async def looked() -> str:
        look()
        return "seen"

    return agent


def _look_until_the_last_call(messages: list[ModelMessage], _: AgentInfo) -> ModelResponse:
    calls = sum(message.kind == "response" for message in messages)
    return ModelResponse(parts=[ToolCallPart("look") if calls < CALLS - 1 else TextPart("that is all")])


async def _alone() -> None:
    await _agent().run("go", usage_limits=UsageLimits(request_limit=None))


async def _quiet() -> None:
    await _with_mailbox(_agent(), MessageBus())


async def _busy() -> None:
    bus = MessageBus()
    friend = bus.open("friend")
    await _with_mailbox(_agent(lambda: friend.send("worker", "news")), bus)


async def _with_mailbox(agent: Agent[None, str], bus: MessageBus) -> None:
    mailbox = Mailbox(bus, "worker", options=MailboxOptions(rounds=CALLS))
    await agent.run("go", capabilities=[mailbox], usage_limits=UsageLimits(request_limit=None))
