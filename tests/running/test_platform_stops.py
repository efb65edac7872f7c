"""A process that is to stop, or whose store fails for a while: nothing that was accepted is lost by it."""

import asyncio
import sqlite3
from collections.abc import AsyncIterator, Generator
from contextlib import contextmanager
from pathlib import Path
from typing import cast

import pytest
from pydantic_ai import Agent

from restante.bus.entry import JournalEntry
from restante.durable.db.sqlite import SqliteDatabase
from restante.errors import ShuttingDown, StoreUnavailable
from restante.running.live import Live
from restante.running.platform import SendRequest, StatesRequest
from restante.testing import FakeClock, ScriptedModel
from restante.testing.scripted import says
from restante.turn import open_turn
from tests.running.platforms import Gate, echo, platform_of, principal, replying, settled, until

pytestmark = [pytest.mark.anyio, pytest.mark.timeout(60)]


@contextmanager
def _full(connection: sqlite3.Connection) -> Generator[None]:
    """The store has no room for one more page."""
    pages = connection.execute("PRAGMA page_count").fetchone()[0]
    connection.execute(f"PRAGMA max_page_count = {pages}")
    try:
        yield
    finally:
        connection.execute("PRAGMA max_page_count = 1000000000")


async def test_after_an_orderly_stop_has_begun_nothing_new_is_accepted(tmp_path: Path) -> None:
    async with platform_of(tmp_path, replying(echo)) as platform:
        ci, chat_id = await principal(platform), await platform.create_chat()
        platform.prepare_to_stop()

        with pytest.raises(ShuttingDown):
            await platform.send(ci, SendRequest(message="x", target="scout"))
        with pytest.raises(ShuttingDown):
            await platform.say(chat_id, "x")


async def test_a_watcher_ends_when_the_process_is_to_stop(tmp_path: Path) -> None:
    gate = Gate()
    async with platform_of(tmp_path, replying(gate)) as platform, asyncio.TaskGroup() as group:
        chat_id = await platform.create_chat()
        await platform.say(chat_id, "begin")
        watching = group.create_task(_watched(platform.watch(chat_id)))
        await until(lambda: gate.waiting and platform.waiting)
        platform.prepare_to_stop()

        assert "run_closed" not in await watching


async def _watched(entries: AsyncIterator[JournalEntry]) -> list[str]:
    return [entry.kind async for entry in entries]


async def test_a_full_store_refuses_sends_and_takes_the_end_of_a_turn_once_there_is_room(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    gate, clock = Gate("z" * 20_000), FakeClock(1_800_000_000)
    async with platform_of(tmp_path, replying(gate), clock=clock) as platform:
        ci = await principal(platform)
        sent = await platform.send(ci, SendRequest(message="x", target="scout"))
        await until(lambda: gate.waiting)
        connection = cast("SqliteDatabase", platform._database)._commits._connection
        with _full(connection):
            with pytest.raises(StoreUnavailable) as refused:
                await platform.send(ci, SendRequest(message="y" * 20_000, target="scout"))
            assert (await platform.states(ci, StatesRequest())).states
            gate.open()
            await until(lambda: "The end of" in caplog.text)
        await clock.advance(2)
        again = await platform.send(ci, SendRequest(message="y" * 20_000, target="scout"))

        assert refused.value.field == "full"
        assert again.state == "queued"
        assert (await settled(platform, ci, sent.message_id)).state == "ended_ok"


async def test_a_chat_without_words_ends_at_once_for_a_watcher(tmp_path: Path) -> None:
    async with platform_of(tmp_path, ScriptedModel(says("x"))) as platform:
        chat_id = await platform.create_chat()

        assert await _watched(platform.watch(chat_id)) == []


async def test_a_turn_that_is_stopped_between_its_claim_and_its_first_step_is_stopped_as_it_begins() -> None:
    live = Live()
    live.expect("chat-1")
    assert live.stop("chat-1")
    assert not live.stop("chat-2")

    async with asyncio.timeout(60), open_turn(Agent(replying(echo)), "begin") as turn:
        live.add("chat-1", turn)
        result = await turn.result()

    live.remove("chat-1")
    assert result.outcome == "stopped"
    assert not live.stop("chat-1")
