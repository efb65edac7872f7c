"""One writer commits together whatever waits, and an error stays with whoever made it."""

import asyncio
import sqlite3
from pathlib import Path
from typing import cast

import pytest

from restante.durable.db.database import Transaction
from restante.durable.db.sqlite import SqliteTransaction, open_sqlite
from tests.durable.stores import Store

pytestmark = [pytest.mark.anyio, pytest.mark.timeout(30)]


def _made(tx: Transaction, label: str) -> int:
    tx.run("INSERT INTO principals VALUES (?, ?, ?, 0)", f"principal-{label}", label, label)
    return tx.next_sequence()


def _count(tx: Transaction) -> int:
    row = tx.first("SELECT count(*) AS n FROM principals")
    assert row is not None
    return row["n"]


async def test_writes_that_wait_together_are_all_kept(store: Store) -> None:
    sequences = await asyncio.gather(*(store.database.write(lambda tx, n=n: _made(tx, f"p{n}")) for n in range(200)))

    assert await store.database.read(_count) == 200
    assert sequences == sorted(set(sequences))


async def test_writes_that_wait_together_share_commits(store: Store) -> None:
    before = len(store.told)

    await asyncio.gather(*(store.database.write(lambda tx, n=n: _made(tx, f"p{n}")) for n in range(200)))

    assert len(store.told) - before < 100


async def test_an_error_stores_nothing_of_its_own_change_and_everything_of_the_others(store: Store) -> None:
    def fail(tx: Transaction) -> int:
        _made(tx, "never")
        raise LookupError("mine alone")

    writes = [store.database.write(lambda tx, n=n: _made(tx, f"p{n}")) for n in range(20)]
    answers = await asyncio.gather(*writes, store.database.write(fail), return_exceptions=True)

    assert [type(answer) for answer in answers] == [int] * 20 + [LookupError]
    assert await store.database.read(_count) == 20


async def test_sequences_rise_without_a_gap_from_a_change_that_failed(store: Store) -> None:
    def fail(tx: Transaction) -> int:
        tx.next_sequence()
        raise LookupError

    first = await store.database.write(lambda tx: tx.next_sequence())
    with pytest.raises(LookupError):
        await store.database.write(fail)

    assert await store.database.write(lambda tx: tx.next_sequence()) == first + 1


async def test_whom_to_wake_is_told_after_the_commit_and_never_of_a_change_that_failed(store: Store) -> None:
    def fail(tx: Transaction) -> None:
        tx.wake("never")
        raise LookupError

    with pytest.raises(LookupError):
        await store.database.write(fail)
    await store.database.write(lambda tx: tx.wake("inbox:1"))

    topics = {topic for committed in store.told for topic in committed.topics}
    assert "inbox:1" in topics
    assert "never" not in topics


async def test_a_caller_that_goes_away_undoes_nothing(store: Store) -> None:
    writing = asyncio.ensure_future(store.database.write(lambda tx: _made(tx, "kept")))
    await asyncio.sleep(0)
    writing.cancel()
    with pytest.raises(asyncio.CancelledError):
        await writing

    await store.database.write(lambda tx: _made(tx, "later"))
    assert await store.database.read(_count) == 2


async def test_a_change_that_cannot_be_undone_leaves_no_later_one_without_an_answer(tmp_path: Path) -> None:
    def break_it(tx: Transaction) -> None:
        cast("SqliteTransaction", tx)._connection.close()
        raise LookupError

    async with open_sqlite(tmp_path / "s.db", lambda _: None, now_ms=0) as database:
        with pytest.raises(sqlite3.ProgrammingError, match="closed"):
            await database.write(break_it)
        with pytest.raises(sqlite3.ProgrammingError, match="closed"):
            await database.write(lambda tx: _made(tx, "later"))


async def test_a_question_sees_every_commit_before_it_and_changes_nothing(store: Store) -> None:
    await store.database.write(lambda tx: _made(tx, "one"))
    before = await store.dump()

    assert await store.database.read(_count) == 1
    assert await store.dump() == before
