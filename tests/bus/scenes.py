"""Scenes on real runs with scripted models."""

import asyncio

from restante.bus import BusPolicy
from restante.testing import call, calls, says
from tests.turn.playing import Stage, agent


async def a_worker_dies_with_mail(policy: BusPolicy) -> Stage:
    """`writer#1` writes to `researcher#1`, which then fails before its next boundary; then the writer lists."""
    stage = Stage(policy)
    there, written, dead = asyncio.Event(), asyncio.Event(), asyncio.Event()
    researcher = agent(calls(call("work")))
    writer = agent(
        calls(call("send_message", to="researcher#1", text="check the cache")),
        calls(call("look_on")),
        calls(call("list_agents")),
        says("ok"),
    )

    @researcher.tool_plain
    async def work() -> None:
        there.set()
        await written.wait()
        raise OSError("no more disk")

    @writer.tool_plain
    async def look_on() -> None:
        written.set()
        await dead.wait()

    async def die() -> None:
        try:
            await stage.run(researcher, "researcher")
        except OSError:
            dead.set()

    async def write() -> None:
        await there.wait()
        await stage.run(writer, "writer")

    await asyncio.gather(die(), write())
    return stage
