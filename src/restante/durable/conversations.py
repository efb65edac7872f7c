"""A conversation has exactly two sides and an ordered list of messages."""

from dataclasses import dataclass

from restante.durable.db.database import Transaction
from restante.durable.ids import new_id
from restante.errors import Limit, RateLimited

HOUR_MS = 3_600_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Room:
    """What a conversation still takes."""

    place: int
    """The number of its next message, from 1."""
    remaining: int
    """Sends left in the rolling hour, that one not counted."""


def open_conversation(tx: Transaction, now_ms: int) -> str:
    """A new one, with no messages yet; its id."""
    conversation_id = new_id("conv")
    tx.run("INSERT INTO conversations (conversation_id, created_at) VALUES (?, ?)", conversation_id, now_ms)
    return conversation_id


def remaining_in_hour(tx: Transaction, conversation_id: str, limit: int, now_ms: int) -> int:
    """How many more sends the conversation takes at this moment, of both sides together."""
    return max(0, limit - (_last_place(tx, conversation_id) - _place_an_hour_ago(tx, conversation_id, now_ms)))


def take_place(tx: Transaction, conversation_id: str, limit: int, now_ms: int) -> Room:
    """Make room for one more message. Raises `RateLimited`, saying when the next one would be taken."""
    place = _last_place(tx, conversation_id) + 1
    in_hour = place - _place_an_hour_ago(tx, conversation_id, now_ms)
    if in_hour > limit:
        raise _too_many(tx, conversation_id, limit, (place - 1, now_ms))
    tx.run("UPDATE conversations SET messages = ? WHERE conversation_id = ?", place, conversation_id)
    return Room(place=place, remaining=limit - in_hour)


def _last_place(tx: Transaction, conversation_id: str) -> int:
    row = tx.first("SELECT messages FROM conversations WHERE conversation_id = ?", conversation_id)
    return 0 if row is None else row["messages"]


def _place_an_hour_ago(tx: Transaction, conversation_id: str, now_ms: int) -> int:
    # The messages of a conversation are numbered, so that counting those of an hour takes one look, however many.
    row = tx.first(
        "SELECT place FROM messages WHERE conversation_id = ? AND accepted_at <= ?"
        " ORDER BY accepted_at DESC, place DESC LIMIT 1",
        conversation_id,
        now_ms - HOUR_MS,
    )
    return 0 if row is None else row["place"]


def _too_many(tx: Transaction, conversation_id: str, limit: int, last_and_now: tuple[int, int]) -> RateLimited:
    last, now_ms = last_and_now
    row = tx.first(
        "SELECT min(accepted_at) AS at FROM messages WHERE conversation_id = ? AND place > ?",
        conversation_id,
        last - limit,
    )
    oldest = now_ms if row is None or row["at"] is None else row["at"]
    wait = max(0.0, (oldest + HOUR_MS - now_ms) / 1000)
    return RateLimited(
        f"This conversation takes {limit:,} messages an hour, of both sides together. Wait {wait:.0f} s.",
        limit=Limit("messages_per_hour", limit, limit + 1),
        retry_after_seconds=wait,
    )
