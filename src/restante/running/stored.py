"""What a command does with a store by itself, without running anything: list and read chats, make a token."""

import asyncio
import time
from collections.abc import Callable, Collection
from pathlib import Path
from typing import TypeVar

from restante.durable import chat_pages, principals
from restante.durable.chat_pages import ChatPage
from restante.durable.db.database import Committed, Transaction
from restante.durable.db.lock import find_holder, lock_store
from restante.durable.db.sqlite import open_sqlite, write_beside
from restante.durable.principals import NewToken
from restante.errors import BadLabel, NotFound
from restante.names import folded
from restante.running.recovery import interrupt_all
from restante.running.transcript import Transcript, read_transcript

T = TypeVar("T")

OWNER = "owner"
"""The name under which whoever made the store sends to the agents."""


async def read_chat(store: Path, chat_id: str | None) -> Transcript:
    """A chat as it is stored, or the newest one. Raises `NotFound` and `StoreUnavailable`."""
    _check_there(store)
    return await _within(store, lambda tx: read_transcript(tx, chat_id))


async def list_chats(store: Path) -> ChatPage:
    """Every chat of a store, the newest first. Raises `NotFound` and `StoreUnavailable`."""
    _check_there(store)
    return await _within(store, lambda tx: chat_pages.list_chats(tx, limit=2**31))


async def make_token(store: Path, label: str, agents: Collection[str] = ()) -> NewToken:
    """A new token for the principal with this label. Raises `BadLabel` and `StoreUnavailable`.

    `agents` are the names of the configuration: the store learns them only when it is served.
    """
    if folded(label) in map(folded, agents):
        raise BadLabel(f"The label {label!r} is the name of an agent. Choose another label.", field="label")
    if folded(label) == OWNER:
        raise BadLabel(
            f"The label {label!r} is the local owner's, who has a token. Choose another label.", field="label"
        )
    return await _make_token(store, label)


async def make_owner_token(store: Path) -> NewToken:
    """A token for whoever made the store. Raises `StoreUnavailable`."""
    return await _make_token(store, OWNER)


async def _make_token(store: Path, label: str) -> NewToken:
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
        interrupt_all(tx, now_ms)
        return change(tx)

    with lock_store(store):
        async with open_sqlite(store, _nobody_listens, now_ms=now_ms) as database:
            return await database.write(whole)


def _beside(store: Path, change: Callable[[Transaction], T]) -> T:
    """While another process holds the store: one short transaction of SQLite's own, and nothing that it runs changes.

    Reading is always safe. A token is a row that the holder looks for when it is used, so it need not be told.
    """
    return write_beside(store, change)


def _check_there(store: Path) -> None:
    if not store.exists():
        raise NotFound(f"There is no store {store} yet. `restante run` makes one.")


def _now_ms() -> int:
    return int(time.time() * 1000)


def _nobody_listens(_: Committed) -> None:
    """Nothing runs here that could wake."""
