"""What is stored of a turn: committed before anybody acts on it, and the same when it is watched and read again."""

import asyncio
import sqlite3
from collections.abc import Generator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import cast as as_type

import pytest

from restante.bus import BusPolicy, JournalEntry
from restante.durable.db.database import Committed
from restante.durable.db.sqlite import SqliteDatabase
from restante.errors import StoreUnavailable
from restante.running.platform import Platform
from restante.running.stored import read_chat
from restante.surface.leftovers import Leftovers
from restante.testing import fails, says
from tests.bus.policies import both
from tests.running.platforms import until
from tests.running.teams import WORK, ended, playing, watched
from tests.turn.playing import Entries
from tests.turn.stage import Cast, sends, spawns, waits

pytestmark = [pytest.mark.anyio, pytest.mark.timeout(60)]


def messages_on_the_bus(platform: Platform, chat_id: str) -> list[str]:
    """The texts that the running turn's bus has accepted; none where no turn runs."""
    if not platform._engine.live.runs(chat_id):
        return []
    turn, _ = platform._engine.live._turns[chat_id]
    return [message["text"] for message in turn.bus.record()["messages"]]


def words_on_disk(folder: Path) -> list[str]:
    """What another process sees of a person's words."""
    with closing(sqlite3.connect(folder / "store.db")) as store:
        return [text for (text,) in store.execute("SELECT text FROM words ORDER BY sequence")]


@contextmanager
def full(platform: Platform) -> Generator[None]:
    """The store has no room for one more page."""
    connection = as_type("SqliteDatabase", platform._database)._commits._connection
    pages = connection.execute("PRAGMA page_count").fetchone()[0]
    connection.execute(f"PRAGMA max_page_count = {pages}")
    try:
        yield
    finally:
        connection.execute("PRAGMA max_page_count = 1000000000")


@pytest.mark.rows("T346")
@both
async def test_words_are_committed_then_offered_to_the_running_turn_and_then_the_receipt_leaves(
    tmp_path: Path, policy: BusPolicy
) -> None:
    cast = Cast(policy, assistant=(waits("end"), says("done"), says("done")))
    async with playing(tmp_path, cast) as platform:
        chat_id = await platform.create_chat()
        await platform.say(chat_id, "go")
        await until(lambda: cast.prompts("assistant"))
        on_the_bus_at_the_commit: list[list[str]] = []

        def look(_: Committed) -> None:
            if "and this" in words_on_disk(tmp_path):
                on_the_bus_at_the_commit.append(messages_on_the_bus(platform, chat_id))

        platform._signals.add(look)
        said = await platform.say(chat_id, "and this")
        at_the_receipt = messages_on_the_bus(platform, chat_id)
        await cast.open("end")
        await ended(platform, chat_id)

        assert on_the_bus_at_the_commit[0] == []
        assert (said.state, at_the_receipt) == ("offered", ["and this"])


@pytest.mark.rows("T346")
@both
async def test_words_that_the_store_refuses_are_offered_to_nobody_and_have_no_receipt(
    tmp_path: Path, policy: BusPolicy
) -> None:
    cast = Cast(policy, assistant=(waits("end"), says("done")))
    async with playing(tmp_path, cast) as platform:
        chat_id = await platform.create_chat()
        await platform.say(chat_id, "go")
        await until(lambda: cast.prompts("assistant"))
        with full(platform), pytest.raises(StoreUnavailable) as refused:
            await platform.say(chat_id, "y" * 20_000)

        assert refused.value.field == "full"
        assert (words_on_disk(tmp_path), messages_on_the_bus(platform, chat_id)) == (["go"], [])
        await cast.open("end")
        (turn,) = (await ended(platform, chat_id)).turns
        assert turn.answer == "done"
        assert not [entry for entry in turn.entries if entry.kind in ("message", "delivery")]


@pytest.mark.rows("T297")
@both
async def test_mail_to_a_worker_is_at_the_round_where_it_landed_both_live_and_loaded_again(
    tmp_path: Path, policy: BusPolicy
) -> None:
    researcher = (waits("hurry"), says("42"))
    writer = (sends("researcher", "hurry"), waits("written"), says("written"))
    cast = Cast(policy, researcher=researcher, writer=writer, assistant=(spawns("researcher", "writer"), says("done")))
    async with playing(tmp_path, cast) as platform:
        chat_id = await platform.create_chat()
        await platform.say(chat_id, "go")
        async with asyncio.TaskGroup() as group:
            watching = group.create_task(watched(platform, chat_id))
            await until(lambda: len(cast.prompts("writer")) == 2 and cast.prompts("researcher"))
            await cast.open("hurry", "written")
        live, loaded = (Entries(watching.result()), Entries((await platform.chat(chat_id)).turns[0].entries))

    assert live.story("researcher#1") == [
        *("round 0", "calls wait_at", "wait_at: ok", "reads hurry"),
        *("round 1", "says 42", "closed answered", "answers 42"),
    ]
    assert of(loaded, "researcher#1") == of(live, "researcher#1")
    assert loaded == live


@pytest.mark.rows("T298")
@both
async def test_mail_to_the_entry_agent_is_mid_turn_at_the_same_place_live_and_loaded_again(
    tmp_path: Path, policy: BusPolicy
) -> None:
    researcher, assistant = WORK
    async with playing(tmp_path, Cast(policy, researcher=researcher, assistant=assistant)) as platform:
        chat_id = await platform.create_chat()
        await platform.say(chat_id, "go")
        live = Entries(await watched(platform, chat_id))
        loaded = Entries((await platform.chat(chat_id)).turns[0].entries)

    assert live.story("assistant")[:7] == [
        *("round 0", "calls spawn", "spawns researcher#1", "spawn: ok"),
        *("reads found # 42", "reads and 43", "round 1"),
    ]
    assert of(loaded, "assistant") == of(live, "assistant")
    assert loaded == live


def of(entries: Sequence[JournalEntry], address: str) -> list[JournalEntry]:
    """One run's part of a journal."""
    return [entry for entry in entries if entry.address == address]


@pytest.mark.rows("T301")
@both
async def test_what_waited_when_the_person_stopped_the_turn_is_kept_with_it_and_told_in_one_notice(
    tmp_path: Path, policy: BusPolicy
) -> None:
    researcher = (sends("assistant", "one"), sends("assistant", "two"), waits("never"))
    async with playing(tmp_path, Cast(policy, researcher=researcher, assistant=(spawns("researcher"),))) as platform:
        chat_id = await platform.create_chat()
        await platform.say(chat_id, "go")
        async with asyncio.TaskGroup() as group:
            watching = group.create_task(watched(platform, chat_id))
            await until(lambda: len(messages_on_the_bus(platform, chat_id)) == 2)
            await platform.stop(chat_id)
        (turn,) = (await platform.chat(chat_id)).turns

    assert tuple(watching.result()) == turn.entries
    assert turn.state == "stopped"
    assert turn.report is not None
    assert [(one["text"], one["reason"]) for one in turn.report["unmet"]] == [("one", "stopped"), ("two", "stopped")]
    assert [facts[2:] for facts in Entries(turn.entries).fates()] == [("undelivered", "stopped")] * 2
    assert [line.partition(" (")[0] for line in Leftovers(turn).stop_notice().splitlines()] == [
        "Stopped: there is no answer.",
        "Undelivered: researcher#1 -> assistant: one",
        "Undelivered: researcher#1 -> assistant: two",
    ]


@pytest.mark.rows("T302")
@both
async def test_the_stored_record_of_a_turn_that_failed_is_complete(tmp_path: Path, policy: BusPolicy) -> None:
    researcher = (sends("assistant", "found"), says("42"))
    assistant = (spawns("researcher"), waits("fails"), fails("boom"))
    cast = Cast(policy, researcher=researcher, assistant=assistant)
    async with playing(tmp_path, cast) as platform:
        chat_id = await platform.create_chat()
        await platform.say(chat_id, "go")
        await until(lambda: len(cast.prompts("assistant")) == 2)
        before = await _two_rounds(platform, chat_id)
        await cast.open("fails")
        (turn,) = (await ended(platform, chat_id)).turns

    entries = Entries(turn.entries)
    assert entries[: len(before)] == before
    assert (turn.state, turn.error) == ("ended_failed", "ScriptedFailure: boom")
    assert entries.story("assistant")[-3:] == ["round 2", "fails", "closed error"]
    assert entries[-1].kind == "bus_closed"
    assert turn.report == {"unmet": [], "next_turn": []}
    assert ("delivered", None) in [facts[2:] for facts in entries.fates()]


async def _two_rounds(platform: Platform, chat_id: str) -> list[JournalEntry]:
    """The journal as it is stored once the second round of the entry run has begun its tool call."""
    async with asyncio.timeout(20):
        async for entry in platform.watch(chat_id):
            if entry.kind == "tool_call" and entry.facts["tool"] == "wait_at":
                break
    return list((await platform.chat(chat_id)).turns[0].entries)


@pytest.mark.rows("T302")
@both
async def test_the_stored_record_of_a_turn_whose_task_was_cancelled_is_complete_and_waited_for_nothing(
    tmp_path: Path, policy: BusPolicy
) -> None:
    researcher = (sends("assistant", "waits"), waits("never"))
    cast = Cast(policy, researcher=researcher, assistant=(spawns("researcher"),))
    async with playing(tmp_path, cast) as platform:
        chat_id = await platform.create_chat()
        await platform.say(chat_id, "go")
        await until(lambda: len(cast.prompts("researcher")) == 2)
        before = await _two_rounds(platform, chat_id)
        await platform.say(chat_id, "typed")

    chat = await read_chat(tmp_path / "store.db", chat_id)
    turn, following = chat.turns
    entries = Entries(turn.entries)
    assert entries[: len(before)] == before
    assert [entry.number for entry in entries] == list(range(1, len(entries) + 1))
    assert entries.story("researcher#1")[-1] == "closed cancelled"
    assert entries.story("assistant")[-1] == "closed cancelled"
    assert entries[-1].kind == "bus_closed"
    assert len(entries.of("tool_call")) == len(entries.of("tool_result"))
    assert turn.report is not None
    assert [one["text"] for one in turn.report["unmet"]] == ["waits"]
    assert (turn.state, turn.answer) == ("interrupted", None)
    assert (following.state, [one.text for one in following.cause]) == ("queued", ["typed"])
