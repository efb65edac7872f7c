"""A search for what a person said, in every chat of a store. What anyone else wrote is not looked at."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from restante.durable import chats
from restante.durable.db.database import Row, Transaction
from restante.durable.pages import LAST_SEQUENCE
from restante.errors import InvalidArguments, Limit

SEARCH_MAX = 200
"""The longest text to look for, in code points."""
EXCERPT_MAX = 200
"""How much of what was said a hit shows, in code points."""
_AT_ONCE = 1_000
_END_OF_SENTENCE = re.compile(r"[.!?…]\s|\n")


@dataclass(frozen=True, slots=True, kw_only=True)
class Hit:
    """Words of a person in which the text occurs."""

    chat_id: str
    title: str | None
    turn_id: str
    turn: int
    """The number of that turn in its chat, from 1."""
    message_id: str
    said_at_ms: int
    excerpt: str
    """The sentence around it, on one line."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HitPage:
    """Some of the hits, the newest first."""

    hits: tuple[Hit, ...]
    next_cursor: int
    """What to give as `after` for the page that follows."""
    has_more: bool


def search(tx: Transaction, text: str, *, after: int = 0, limit: int) -> HitPage:
    """At most `limit` words of persons that hold `text` as it stands, in capitals or not. `after` 0 is the newest.

    Raises `InvalidArguments` for a text that is blank or too long.
    """
    _check(text)
    wanted, lower = re.compile(re.escape(text), re.IGNORECASE), text.lower()
    found: list[tuple[Row, re.Match[str]]] = []
    for row in _words_before(tx, after or LAST_SEQUENCE):
        # The expression says where, and takes ten times as long to say that there is nothing.
        if lower in row["text"].lower() and (place := wanted.search(row["text"])):
            found.append((row, place))
            if len(found) > limit:
                break
    shown = found[:limit]
    return HitPage(
        hits=tuple(_hit(tx, row, place) for row, place in shown),
        next_cursor=shown[-1][0]["sequence"] if shown else after,
        has_more=len(found) > limit,
    )


def _check(text: str) -> None:
    if not text.strip() or len(text) > SEARCH_MAX:
        limit = Limit("search_max", SEARCH_MAX, len(text)) if len(text) > SEARCH_MAX else None
        message = f"Say what to look for, in 1 to {SEARCH_MAX} characters: it is taken as it stands."
        raise InvalidArguments(message, field="q", limit=limit)


def _words_before(tx: Transaction, before: int) -> Iterator[Row]:
    while True:
        rows = tx.all("SELECT * FROM words WHERE sequence < ? ORDER BY sequence DESC LIMIT ?", before, _AT_ONCE)
        yield from rows
        if len(rows) < _AT_ONCE:
            return
        before = rows[-1]["sequence"]


def _hit(tx: Transaction, row: Row, place: re.Match[str]) -> Hit:
    number = tx.first(
        "SELECT COUNT(*) AS n FROM turns WHERE chat_id = ? AND sequence <="
        " (SELECT sequence FROM turns WHERE turn_id = ?)",
        row["chat_id"],
        row["turn_id"],
    )
    return Hit(
        chat_id=row["chat_id"],
        title=chats.get_chat(tx, row["chat_id"]).title,
        turn_id=row["turn_id"],
        turn=0 if number is None else number["n"],
        message_id=row["message_id"],
        said_at_ms=row["said_at"],
        excerpt=excerpt(row["text"], *place.span()),
    )


def excerpt(text: str, start: int, end: int) -> str:
    """The sentence of `text` around a place, on one line; where it is longer than fits, dots stand for the rest."""
    first = max((found.end() for found in _END_OF_SENTENCE.finditer(text, 0, start)), default=0)
    after = _END_OF_SENTENCE.search(text, end)
    last = after.start() + 1 if after else len(text)
    # Room is for the dots, and equally for what stands before and after.
    room = EXCERPT_MAX - 2 - min(end - start, EXCERPT_MAX - 2)
    low = max(first, start - max(room // 2, room - (last - end)))
    high = min(last, low + EXCERPT_MAX - 2, len(text))
    cut = " ".join(text[low:high].split())
    return f"{'…' if low > first else ''}{cut}{'…' if high < last else ''}"
