"""What a command does with a store by itself, without running anything: list and read chats, make a token."""

import asyncio
import time
from collections.abc import Callable, Collection
from pathlib import Path
from typing import TypeVar

from restante.durable import chat_pages, chats, cuts, deletions, principals, searches
from restante.durable.chat_pages import ChatInList, ChatPage
from restante.durable.chats import Chat
from restante.durable.cuts import Cut
from restante.durable.db.database import Committed, Transaction
from restante.durable.db.lock import find_holder, lock_store
from restante.durable.db.sqlite import open_sqlite, read_beside, write_beside
from restante.durable.principals import NewToken
from restante.durable.searches import HitPage
from restante.errors import BadLabel, InvalidArguments, NotFound
from restante.names import folded
from restante.running.recovery import interrupt_all
from restante.running.transcript import Transcript, read_transcript

T = TypeVar("T")

_ALL = 2**31

OWNER = "owner"
"""The name under which whoever made the store sends to the agents."""


async def read_chat(store: Path, chat_id: str | None) -> Transcript:
    """A chat as it is stored, or the newest one. Raises `NotFound` and `StoreUnavailable`."""
    _check_there(store)
    return await _read(store, lambda tx: read_transcript(tx, chat_id))


async def list_chats(store: Path, limit: int | None) -> ChatPage:
    """The chats of a store, the one in which something happened last first; None: all of them.

    Raises `NotFound` and `StoreUnavailable`, as everything here.
    """
    _check_there(store)
    return await _read(store, lambda tx: chat_pages.list_chats(tx, limit=limit or _ALL))


async def find_chat(store: Path, chat_id: str) -> ChatInList:
    """A chat in short."""
    _check_there(store)
    return await _read(store, lambda tx: chat_pages.get_in_list(tx, chat_id))


async def search_chats(store: Path, text: str, limit: int | None) -> HitPage:
    """The words of persons in which a text occurs. Raises `InvalidArguments`, too."""
    _check_there(store)
    return await _read(store, lambda tx: searches.search(tx, text, limit=limit or _ALL))


async def list_cuts(store: Path, chat_id: str) -> list[Cut]:
    """The places where a chat can be cut."""
    _check_there(store)
    return await _read(store, lambda tx: cuts.list_cuts(tx, chat_id))


async def rename_chat(store: Path, chat_id: str, title: str) -> Chat:
    """Name a chat; how it is now. Raises `InvalidArguments`, too."""
    _check_there(store)
    return await _within(store, lambda tx: chats.rename(tx, chat_id, title))


async def branch_chat(store: Path, chat_id: str, after: str | None) -> ChatInList:
    """Copy a chat up to a turn, named by its id or number, or up to its last one; the copy.

    Raises `InvalidArguments` and `TurnRunning`, too.
    """
    _check_there(store)
    now_ms = _now_ms()

    def change(tx: Transaction) -> ChatInList:
        made = cuts.branch(tx, chat_id, _turn_id(tx, chat_id, after), now_ms)
        return chat_pages.get_in_list(tx, made)

    return await _within(store, change)


async def truncate_chat(store: Path, chat_id: str, after: str) -> int:
    """Drop the turns of a chat after one, named by its id or number; how many. Raises what `branch_chat` does."""
    _check_there(store)
    return await _within(store, lambda tx: cuts.truncate(tx, chat_id, _turn_id(tx, chat_id, after)))


async def delete_chat(store: Path, chat_id: str) -> None:
    """Remove a chat. Raises `InvalidArguments` and `TurnRunning`, too."""
    _check_there(store)
    await _within(store, lambda tx: deletions.delete_chat(tx, chat_id))


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


def _turn_id(tx: Transaction, chat_id: str, turn: str | None) -> str:
    """The id of a turn that was named by it, by its number, or as the last one that has ended."""
    if turn is not None and not (turn.isascii() and turn.isdigit()):
        return turn
    found = cuts.list_cuts(tx, chat_id)
    for cut in reversed(found):
        if turn is None or cut.number == int(turn):
            return cut.turn_id
    numbers = f"1 to {found[-1].number}" if found else "none yet"
    raise InvalidArguments(
        f"No turn {turn or ''} of this chat has ended. Its turns that have: {numbers}.", field="after"
    )


async def _make_token(store: Path, label: str) -> NewToken:
    now_ms = _now_ms()
    return await _within(store, lambda tx: principals.create_token(tx, label, now_ms))


async def _read(store: Path, question: Callable[[Transaction], T]) -> T:
    if find_holder(store) is None:
        return await _alone(store, question)
    return await asyncio.to_thread(read_beside, store, question)


async def _within(store: Path, change: Callable[[Transaction], T]) -> T:
    if find_holder(store) is None:
        return await _alone(store, change)
    # One short transaction of SQLite's own, and nothing that the holder runs changes. A token is a row that it looks
    # for when it is used; of a change in its chats it hears with its next look for lost signals.
    return await asyncio.to_thread(write_beside, store, change)


async def _alone(store: Path, change: Callable[[Transaction], T]) -> T:
    """Whoever held the store is gone: what it left running is interrupted, and shown so from here on."""
    now_ms = _now_ms()

    def whole(tx: Transaction) -> T:
        interrupt_all(tx, now_ms)
        return change(tx)

    with lock_store(store):
        async with open_sqlite(store, _nobody_listens, now_ms=now_ms) as database:
            return await database.write(whole)


def _check_there(store: Path) -> None:
    if not store.exists():
        raise NotFound(f"There is no store {store} yet. `restante run` makes one.")


def _now_ms() -> int:
    return int(time.time() * 1000)


def _nobody_listens(_: Committed) -> None:
    """Nothing runs here that could wake."""
