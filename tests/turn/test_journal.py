import asyncio
from threading import Thread

import pytest

from restante.bus import JournalEntry, MessageBus
from restante.errors import InvalidArguments
from restante.testing import FakeClock, call, calls, says
from restante.turn import Journal, TurnOptions, open_turn
from tests.turn.playing import PATIENCE_SECONDS, Entries, agent

pytestmark = pytest.mark.anyio


@pytest.mark.rows("T358")
async def test_every_reader_gets_every_entry_however_late_it_begins() -> None:
    clock = FakeClock()
    played = agent(calls(call("list_agents"), seconds=1), says("ok", seconds=1), sleep=clock.sleep)

    async with asyncio.timeout(PATIENCE_SECONDS), open_turn(played, "go") as turn, asyncio.TaskGroup() as group:
        stopped = turn.events()
        await anext(stopped)
        early = group.create_task(all_of(turn.events()))
        await clock.advance(1)
        late = group.create_task(all_of(turn.events()))
        await clock.advance(1)

    assert early.result() == late.result() == await all_of(turn.events())
    assert [entry.number for entry in early.result()] == list(range(1, len(early.result()) + 1))
    assert early.result()[-1].kind == "bus_closed"
    await stopped.aclose()  # type: ignore[attr-defined]


async def test_entries_come_as_they_happen_and_in_the_order_of_the_rounds() -> None:
    entries = Entries()
    played = agent(calls(call("send_message", to="nobody", text="x")), says("ok"))

    async with asyncio.timeout(PATIENCE_SECONDS), open_turn(played, "go", TurnOptions(sink=entries.append)) as turn:
        turn.say("hello")

    kinds = [entry.kind for entry in entries]
    assert kinds == [
        "bus_opened",
        "run_opened",
        "message",
        "delivery",
        "round",
        "fate",
        "tool_call",
        "tool_result",
        "round",
        "model_text",
        "run_closed",
        "usage",
        "answer",
        "bus_closed",
    ]


async def test_a_bus_of_ones_own_is_read_from_the_turn_through_its_journal() -> None:
    outer = Entries()
    journal = Journal(outer.append)
    options = TurnOptions(bus=MessageBus(sink=journal), journal=journal)

    async with asyncio.timeout(PATIENCE_SECONDS), open_turn(agent(says("ok")), "go", options) as turn:
        seen = await all_of(turn.events())

    assert seen == outer
    with pytest.raises(InvalidArguments):
        TurnOptions(journal=journal)


async def test_entries_from_other_threads_wake_the_readers() -> None:
    journal = Journal()
    bus = MessageBus(sink=journal)
    reader = journal.events()
    assert (await anext(reader)).kind == "bus_opened"
    waiting = asyncio.ensure_future(anext(reader))
    await asyncio.sleep(0)

    thread = Thread(target=bus.open, args=("worker",))
    thread.start()
    async with asyncio.timeout(PATIENCE_SECONDS):
        entry = await waiting
    thread.join()

    assert entry.kind == "run_opened"


async def all_of(events: object) -> list[JournalEntry]:
    return [entry async for entry in events]  # type: ignore[attr-defined]
