"""A person's words in a chat: a row before their receipt, read by a turn or told why not."""

from collections.abc import Sequence
from dataclasses import dataclass

from restante.durable.db.database import Row, Transaction
from restante.durable.ids import new_id
from restante.durable.states import WORDS_THAT_BEGAN, WORDS_THAT_JOINED, Cause, after, may

QUEUED = "queued"
OFFERED = "offered"


@dataclass(frozen=True, slots=True, kw_only=True)
class Words:
    """One message of a person, as it was said."""

    message_id: str
    sequence: int
    turn_id: str
    """The turn that has them, or whose turn it will be."""
    text: str
    state: str
    began: bool
    """They begin their turn; else they came while it ran."""
    carried: bool
    """They came out of an earlier turn unread."""
    reason: str | None
    addressed: str | None
    """The address or label that they are for alone; None: everyone."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Which turn words go to: one that runs, or one that waits for them."""

    chat_id: str
    turn_id: str
    running: bool
    sequence: int
    addressed: str | None = None
    """Whom the words are for alone in the turn that runs."""


def record(tx: Transaction, place: Place, text: str, now_ms: int) -> Words:
    """Store what was said: `offered` to the turn that runs, else `queued` as the beginning of the next."""
    state = OFFERED if place.running else QUEUED
    message_id = new_id("msg")
    tx.run(
        "INSERT INTO words (sequence, message_id, chat_id, turn_id, text, state, began, said_at, addressed)"
        " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
        place.sequence,
        message_id,
        place.chat_id,
        place.turn_id,
        text,
        state,
        int(not place.running),
        now_ms,
        place.addressed,
    )
    return Words(
        message_id=message_id,
        sequence=place.sequence,
        turn_id=place.turn_id,
        text=text,
        state=state,
        began=not place.running,
        carried=False,
        reason=None,
        addressed=place.addressed,
    )


def list_words(tx: Transaction, turn_id: str) -> list[Words]:
    """All words of a turn, in the order in which they were said."""
    return [_of(row) for row in tx.all("SELECT * FROM words WHERE turn_id = ? ORDER BY sequence", turn_id)]


def list_unread(tx: Transaction, turn_id: str) -> list[Words]:
    """The words that joined the turn while it ran and that no entry run has read, in order."""
    rows = tx.all(
        "SELECT * FROM words WHERE turn_id = ? AND began = 0 AND state IN ('offered', 'started') ORDER BY sequence",
        turn_id,
    )
    return [_of(row) for row in rows]


def happened(tx: Transaction, turn_id: str, cause: Cause, now_ms: int, *, reason: str | None = None) -> None:
    """Move on the words that began the turn, where the cause means something to them."""
    for row in tx.all("SELECT * FROM words WHERE turn_id = ? AND began = 1", turn_id):
        if may(WORDS_THAT_BEGAN, row["state"], cause):
            _set(tx, row["message_id"], after(WORDS_THAT_BEGAN, row["state"], cause), reason)
            if cause == "returned":
                _stamp(tx, row["message_id"], now_ms)


def drained(tx: Transaction, message_id: str) -> None:
    """An entry run took words that joined its turn; nothing is read before its model call returns."""
    _join(tx, message_id, "drained")


def read(tx: Transaction, message_id: str, now_ms: int) -> None:
    """The model call that carried words that joined returned."""
    if _join(tx, message_id, "returned"):
        _stamp(tx, message_id, now_ms)


def refused(tx: Transaction, message_id: str, reason: str) -> None:
    """The turn would not have them any more when they were offered to it."""
    row = tx.first("SELECT state FROM words WHERE message_id = ?", message_id)
    if row is not None and may(WORDS_THAT_JOINED, row["state"], "refused"):
        _set(tx, message_id, after(WORDS_THAT_JOINED, row["state"], "refused"), reason)


def leave(tx: Transaction, left: Sequence[Words], cause: Cause, *, reason: str) -> None:
    """Nobody read these, and nobody will."""
    for one in left:
        _set(tx, one.message_id, after(WORDS_THAT_JOINED, one.state, cause), reason)


def carry(tx: Transaction, left: Sequence[Words], cause: Cause, turn_id: str) -> None:
    """These came out of their turn unread and begin another one, each as its own message."""
    for one in left:
        tx.run(
            "UPDATE words SET state = ?, turn_id = ?, began = 1, carried = 1, addressed = NULL WHERE message_id = ?",
            after(WORDS_THAT_JOINED, one.state, cause),
            turn_id,
            one.message_id,
        )


def _join(tx: Transaction, message_id: str, cause: Cause) -> bool:
    row = tx.first("SELECT state FROM words WHERE message_id = ? AND began = 0", message_id)
    if row is None or not may(WORDS_THAT_JOINED, row["state"], cause):
        return False
    _set(tx, message_id, after(WORDS_THAT_JOINED, row["state"], cause), None)
    return True


def _set(tx: Transaction, message_id: str, state: str, reason: str | None) -> None:
    tx.run("UPDATE words SET state = ?, reason = ? WHERE message_id = ?", state, reason, message_id)


def _stamp(tx: Transaction, message_id: str, now_ms: int) -> None:
    tx.run("UPDATE words SET read_at = ? WHERE message_id = ?", now_ms, message_id)


def _of(row: Row) -> Words:
    return Words(
        message_id=row["message_id"],
        sequence=row["sequence"],
        turn_id=row["turn_id"],
        text=row["text"],
        state=row["state"],
        began=bool(row["began"]),
        carried=bool(row["carried"]),
        reason=row["reason"],
        addressed=row["addressed"],
    )
