"""What a command does with a store by itself, without running anything: read a chat, make a token."""

import asyncio
import sqlite3
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import TypeVar

from restante.durable import principals, turns
from restante.durable.db.database import Committed, Transaction
from restante.durable.db.failures import failure_of
from restante.durable.db.lock import find_holder, lock_store
from restante.durable.db.migrate import check_schema, migrations
from restante.durable.db.sqlite import BUSY_TIMEOUT_S, SqliteTransaction, open_sqlite
from restante.durable.principals import NewToken
from restante.errors import NotFound, StoreUnavailable
from restante.running.transcript import Transcript, read_transcript

T = TypeVar("T")


async def read_chat(store: Path, chat_id: str | None) -> Transcript:
    """A chat as it is stored, or the newest one. Raises `NotFound` and `StoreUnavailable`."""
    _check_there(store)
    return await _within(store, lambda tx: read_transcript(tx, chat_id))


async def make_token(store: Path, label: str) -> NewToken:
    """A new token for the principal with this label. Raises `BadLabel` and `StoreUnavailable`."""
    now_ms = _now_ms()
    return await _within(store, lambda tx: principals.create_token(tx, label, now_ms))


async def _within(store: Path, change: Callable[[Transaction], T]) -> T:
    if find_holder(store) is None:
        return await _alone(store, change)
    return await asyncio.to_thread(_beside, store, change)


async def _alone(store: Path, change: Callable[[Transaction], T]) -> T:
    """Whoever held the store is gone: what it left running is interrupted, and shown so from here on."""
    now_ms = _now_ms()

    def whole(tx: Transaction) -> T:
        turns.interrupt_all(tx, now_ms)
        return change(tx)

    with lock_store(store):
        async with open_sqlite(store, _nobody_listens, now_ms=now_ms) as database:
            return await database.write(whole)


def _beside(store: Path, change: Callable[[Transaction], T]) -> T:
    """While another process holds the store: one short transaction of SQLite's own, and nothing that it runs changes.

    Reading is always safe. A token is a row that the holder looks for when it is used, so it need not be told.
    """
    try:
        with closing(sqlite3.connect(store, timeout=BUSY_TIMEOUT_S, isolation_level=None)) as connection:
            if check_schema(connection) != migrations()[-1][0]:
                raise StoreUnavailable("The store is in use by another version of restante.", field="schema")
            connection.row_factory = sqlite3.Row
            connection.execute("PRAGMA synchronous = FULL")
            connection.execute("BEGIN IMMEDIATE")
            done = change(SqliteTransaction(connection))
            connection.execute("COMMIT")
            return done
    except sqlite3.Error as error:
        raise failure_of(error) from error


def _check_there(store: Path) -> None:
    if not store.exists():
        raise NotFound(f"There is no store {store} yet. `restante run` makes one.")


def _now_ms() -> int:
    return int(time.time() * 1000)


def _nobody_listens(_: Committed) -> None:
    """Nothing runs here that could wake."""
