"""Waiting reads: woken by the commit, over in time, and never deaf for longer than one check."""

import asyncio
from pathlib import Path

import pytest

from restante.durable.db.database import Committed
from restante.errors import InvalidArguments
from restante.running.platform import Caller, Page, Platform, ReadRequest, SendRequest
from restante.testing import FakeClock
from tests.running.platforms import Gate, echo, platform_of, principal, replying, until

pytestmark = [pytest.mark.anyio, pytest.mark.timeout(60)]

START = 1_800_000_000.0


def _reading(
    group: asyncio.TaskGroup, platform: Platform, caller: Caller, seconds: float = 25, inbox_id: str | None = None
) -> asyncio.Task[Page]:
    return group.create_task(platform.read(caller, ReadRequest(inbox_id=inbox_id, wait_seconds=seconds)))


async def test_a_waiting_read_returns_on_the_commit_with_the_clock_standing_still(tmp_path: Path) -> None:
    clock = FakeClock(START)
    async with platform_of(tmp_path, replying(echo), clock=clock) as platform, asyncio.TaskGroup() as group:
        ci = await principal(platform)
        reading = _reading(group, platform, ci)
        await until(lambda: platform.waiting == 1)
        await platform.send(ci, SendRequest(message="ping", target="scout"))

        assert [one.message for one in (await reading).messages] == ["re: ping"]
        assert clock.now() == START


async def test_a_read_of_one_inbox_goes_on_waiting_when_another_gets_something(tmp_path: Path) -> None:
    gate = Gate()
    async with platform_of(tmp_path, replying(gate)) as platform, asyncio.TaskGroup() as group:
        ci = await principal(platform)
        held = await platform.send(ci, SendRequest(message="held", target="scout"))
        reading = _reading(group, platform, ci, inbox_id=held.inbox_id)
        await until(lambda: platform.waiting == 1)
        await platform.send(ci, SendRequest(message="other", target="editor"))
        await until(lambda: gate.waiting == 2)

        assert not reading.done()
        reading.cancel()
        gate.open()
    assert platform.waiting == 0


@pytest.mark.parametrize("seconds", [0.5, 2.0, 25.0])
async def test_an_empty_page_comes_when_the_time_is_over_and_not_before(tmp_path: Path, seconds: float) -> None:
    clock = FakeClock(START)
    async with platform_of(tmp_path, replying(echo), clock=clock) as platform, asyncio.TaskGroup() as group:
        reading = _reading(group, platform, await principal(platform), seconds)
        await until(lambda: platform.waiting == 1)
        await clock.settle()
        await clock.advance(seconds - 0.01)
        assert not reading.done()
        await clock.advance(0.02)

        assert (await reading).messages == ()


async def test_a_lost_signal_costs_one_check_and_no_message(tmp_path: Path) -> None:
    clock = FakeClock(START)
    async with platform_of(tmp_path, replying(echo), clock=clock) as platform, asyncio.TaskGroup() as group:
        deaf = True
        hear = platform._signals._listeners[0]

        def listen(committed: Committed) -> None:
            if not deaf:
                hear(committed)

        platform._signals._listeners[0] = listen
        ci = await principal(platform)
        reading = _reading(group, platform, ci)
        await until(lambda: platform.waiting == 1)
        await platform.send(ci, SendRequest(message="ping", target="scout"))
        assert not reading.done()
        deaf = False
        await clock.advance(1.01)

        assert [one.message for one in (await reading).messages] == ["re: ping"]


async def test_an_orderly_stop_answers_whoever_waits(tmp_path: Path) -> None:
    async with platform_of(tmp_path, replying(echo)) as platform, asyncio.TaskGroup() as group:
        ci = await principal(platform)
        readings = [_reading(group, platform, ci) for _ in range(3)]
        await until(lambda: platform.waiting == 3)
        platform.prepare_to_stop()

        assert [(await reading).messages for reading in readings] == [(), (), ()]


@pytest.mark.parametrize("seconds", [25.1, 26, -1, 1e9, float("nan")])
async def test_a_wait_out_of_range_is_refused(tmp_path: Path, seconds: float) -> None:
    async with platform_of(tmp_path, replying(echo)) as platform:
        with pytest.raises(InvalidArguments, match="0 to 25"):
            await platform.read(await principal(platform), ReadRequest(wait_seconds=seconds))
