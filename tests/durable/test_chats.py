"""Chats as rows: what a deleted one leaves, what a copy has, and the history that goes with each turn."""

import json
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from restante.durable import chat_pages, chats, copies, deletions, histories, says, transcripts, turns
from restante.durable.db.database import Transaction
from restante.durable.db.migrate import migrations
from restante.durable.db.sqlite import open_sqlite
from restante.durable.histories import History
from restante.durable.searches import excerpt
from restante.durable.transcripts import Entry
from restante.durable.turns import Claimed, Ending
from tests.durable.stores import NOON_MS, Store

pytestmark = [pytest.mark.anyio, pytest.mark.timeout(30)]


def _chat(tx: Transaction) -> str:
    row = tx.first("SELECT agent_id FROM agents WHERE name = 'scout'")
    assert row is not None
    return chats.create_chat(tx, row["agent_id"], NOON_MS)


async def _new_chat(store: Store) -> str:
    return await store.database.write(_chat)


async def _claimed(store: Store, chat_id: str, text: str) -> Claimed:
    await store.database.write(lambda tx: says.say(tx, chat_id, text, NOON_MS))
    claimed = await store.database.write(lambda tx: turns.take_next(tx, chat_id, NOON_MS))
    assert claimed is not None
    return claimed


async def _turn(store: Store, chat_id: str, text: str, history: History | None = None) -> str:
    """A turn that has ended; its id."""
    turn_id = (await _claimed(store, chat_id, text)).turn_id

    def change(tx: Transaction) -> None:
        transcripts.append(tx, chat_id, turn_id, [Entry(1, 0.0, "model_text", "scout", {"text": text})])
        turns.end(tx, turn_id, Ending(cause="ended", answer=text), NOON_MS)
        if history is not None:
            histories.write_history(tx, turn_id, history)

    await store.database.write(change)
    return turn_id


async def _history(store: Store, chat_id: str) -> list[str]:
    return json.loads(await store.database.read(lambda tx: histories.read_history(tx, chat_id)))


@pytest.mark.rows("T304")
async def test_a_turn_whose_chat_was_deleted_stores_nothing_any_more(store: Store) -> None:
    chat_id = await _new_chat(store)
    turn_id = (await _claimed(store, chat_id, "go")).turn_id

    def delete_anyhow(tx: Transaction) -> None:
        deletions.delete_turns_after(tx, chat_id, 0)
        tx.run("DELETE FROM chats WHERE chat_id = ?", chat_id)

    await store.database.write(delete_anyhow)
    before = await store.dump()

    def go_on(tx: Transaction) -> bool:
        transcripts.append(tx, chat_id, turn_id, [Entry(1, 0.0, "round", "scout", {})])
        turns.returned(tx, turn_id, chat_id, NOON_MS)
        histories.write_history(tx, turn_id, History(json="[]"))
        return turns.end(tx, turn_id, Ending(cause="ended", answer="late"), NOON_MS)

    assert await store.database.write(go_on) is False
    assert await store.dump() == before


async def test_what_a_turn_added_is_kept_with_it_and_one_that_changed_everything_begins_anew(store: Store) -> None:
    chat_id = await _new_chat(store)
    assert await _history(store, chat_id) == []
    await _turn(store, chat_id, "1", History(json='["a"]'))
    await _turn(store, chat_id, "2", History(json='["b"]'))
    assert await _history(store, chat_id) == ["a", "b"]
    await _turn(store, chat_id, "3", History(json='["a and b", "c"]', whole=True))
    await _turn(store, chat_id, "4")
    await _turn(store, chat_id, "5", History(json='["d"]'))

    assert await _history(store, chat_id) == ["a and b", "c", "d"]
    for number, expected in ((1, ["a"]), (2, ["a", "b"]), (3, ["a and b", "c"]), (4, ["a and b", "c"])):
        copy = await store.database.write(lambda tx, number=number: _copy(tx, chat_id, number))
        assert await _history(store, copy) == expected


def _copy(tx: Transaction, chat_id: str, number: int) -> str:
    sequences = [row["sequence"] for row in tx.all("SELECT sequence FROM turns WHERE chat_id = ? ORDER BY 1", chat_id)]
    return copies.copy_chat(tx, chat_id, sequences[number - 1], NOON_MS)


async def test_words_that_wait_begin_one_turn_each_as_a_message_of_its_own(store: Store) -> None:
    chat_id = await _new_chat(store)
    said = [await store.database.write(lambda tx, text=text: says.say(tx, chat_id, text, NOON_MS)) for text in "ab"]
    claimed = await store.database.write(lambda tx: turns.take_next(tx, chat_id, NOON_MS))

    assert claimed is not None
    assert {one.turn_id for one in said} == {claimed.turn_id}
    assert [(one.text, one.message_id) for one in claimed.words] == [(one.text, one.message_id) for one in said]
    assert await store.database.write(lambda tx: turns.take_next(tx, chat_id, NOON_MS)) is None


async def test_deleting_a_chat_takes_nothing_from_another(store: Store) -> None:
    kept, gone = await _new_chat(store), await _new_chat(store)
    await _turn(store, kept, "kept")
    before = await store.dump()
    await _turn(store, gone, "gone")
    await store.database.write(lambda tx: says.say(tx, gone, "waits", NOON_MS))
    await store.database.write(lambda tx: deletions.delete_chat(tx, gone))
    after = await store.dump()

    for table in ("turns", "words", "journal", "messages"):
        assert after[table] == before[table]
    assert len(after["chats"]) == 1


async def test_a_store_of_the_first_schema_keeps_its_chats_and_what_their_models_read(tmp_path: Path) -> None:
    path = tmp_path / "old.db"
    with closing(sqlite3.connect(path, isolation_level=None)) as old:
        old.executescript(migrations()[0][1])
        old.executescript("""
            INSERT INTO store VALUES (1, 'store-1', 1, 9, 0);
            INSERT INTO agents VALUES ('agent-1', 'scout', 'scout', 1, NULL, 0);
            INSERT INTO chats (chat_id, agent_id, purpose, sequence, history, created_at)
                VALUES ('chat-1', 'agent-1', 'person', 1, '["a", "b"]', 0), ('chat-2', 'agent-1', 'person', 2, NULL, 0);
            INSERT INTO turns (turn_id, chat_id, sequence, state, queued_at) VALUES
                ('turn-1', 'chat-1', 3, 'ended_ok', 0), ('turn-2', 'chat-1', 5, 'ended_ok', 0),
                ('turn-3', 'chat-1', 7, 'ended_failed', 0);
            INSERT INTO words (sequence, message_id, chat_id, turn_id, text, state, began, said_at)
                VALUES (3, 'msg-1', 'chat-1', 'turn-1', 'hello', 'read', 1, 0);
            INSERT INTO journal VALUES (8, 'turn-2', 'chat-1', 1, 0.0, 'round', 'scout', '{}');
        """)

    async with open_sqlite(path, lambda _: None, now_ms=0) as database:
        history = await database.read(lambda tx: histories.read_history(tx, "chat-1"))
        listed = await database.read(lambda tx: chat_pages.list_chats(tx, limit=9))

    assert json.loads(history) == ["a", "b"]
    assert [(each.chat.chat_id, each.chat.title, each.turns) for each in listed.chats] == [
        ("chat-1", "hello", 3),
        ("chat-2", None, 0),
    ]
    assert listed.next_cursor == 2


def test_an_excerpt_is_the_sentence_around_the_place_and_no_longer_than_its_limit() -> None:
    text = "First one. The second, with a needle! Then\na last one"
    for word, sentence in (
        ("First", "First one."),
        ("needle", "The second, with a needle!"),
        ("Then", "Then"),
        ("last", "a last one"),
    ):
        at = text.index(word)
        assert excerpt(text, at, at + len(word)) == sentence
    for text in ("needle" + "x" * 500, "x" * 500 + "needle", "x" * 250 + "needle" + "x" * 250, "needle" * 100):
        at = text.index("needle")
        found = excerpt(text, at, at + 6)
        assert len(found) <= 200
        assert "needle" in found
    assert len(excerpt("x" * 400, 0, 200)) <= 200
