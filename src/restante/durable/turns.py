"""A turn is one reply of a chat: claimed from its lane, read, ended, or interrupted by a crash."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from restante.durable import chats, lanes, messages, words
from restante.durable.db.database import Row, Transaction
from restante.durable.messages import Arrived
from restante.durable.states import TURNS, Cause, after, may
from restante.durable.topics import chat_topic, lane_topic
from restante.durable.words import Words

EVERYONE = "everyone"


@dataclass(frozen=True, slots=True, kw_only=True)
class Claimed:
    """A turn that is ours to run, and what began it: one message, or a person's words."""

    turn_id: str
    chat_id: str
    agent_id: str
    agent: str
    messages: tuple[Arrived, ...]
    words: tuple[Words, ...]
    number: int = 1
    """The place of the turn in its chat, from 1."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ending:
    """How a turn ended."""

    cause: Cause
    """`ended`, `failed` or `stopped`."""
    answer: str | None = None
    error: str | None = None
    reason: str | None = None
    """A code, where the state alone does not say why."""
    report: str | None = None
    """What was left undelivered, as JSON."""
    unread: Mapping[str, str] = field(default_factory=dict[str, str])
    """Why a person's words were not delivered, by their ids."""
    read: frozenset[str] = frozenset()
    """The ids of a person's words that an entry run is known to have read."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnRow:
    """A turn as it is stored."""

    turn_id: str
    chat_id: str
    state: str
    queued_at_ms: int
    started_at_ms: int | None
    ended_at_ms: int | None
    answer: str | None
    error: str | None
    report: str | None


def take_next(tx: Transaction, chat_id: str, now_ms: int) -> Claimed | None:
    """Claim the next turn of the lane; None while one runs or when none waits.

    What waits for an agent that is no longer there is told so, and passed over.
    """
    if lanes.find_running(tx, chat_id) is not None:
        return None
    while (row := _first_queued(tx, chat_id)) is not None:
        gone = row["archived_at"] is not None
        _move(tx, row, "removed" if gone else "claimed", now_ms)
        tx.run("UPDATE chats SET waiting = waiting - 1, last_activity_at = ? WHERE chat_id = ?", now_ms, chat_id)
        tx.wake(chat_topic(chat_id))
        if not gone:
            messages.happened(tx, row["turn_id"], "claimed", now_ms)
            words.happened(tx, row["turn_id"], "claimed", now_ms)
            return _claimed(tx, row)
        messages.happened(tx, row["turn_id"], "removed", now_ms, reason="recipient_archived")
        words.happened(tx, row["turn_id"], "removed", now_ms, reason="recipient_archived")
    return None


def list_turns(tx: Transaction, chat_id: str) -> list[TurnRow]:
    """Every turn of the chat, in order."""
    rows = tx.all("SELECT * FROM turns WHERE chat_id = ? ORDER BY sequence", chat_id)
    return [_of(row) for row in rows]


def returned(tx: Transaction, turn_id: str, chat_id: str, now_ms: int) -> None:
    """The first model call returned: what began the turn is read."""
    messages.happened(tx, turn_id, "returned", now_ms)
    words.happened(tx, turn_id, "returned", now_ms)
    tx.run("UPDATE chats SET last_read_at = ?, last_activity_at = ? WHERE chat_id = ?", now_ms, now_ms, chat_id)


def end(tx: Transaction, turn_id: str, ending: Ending, now_ms: int) -> bool:
    """The turn is over. What nobody read of a person's words becomes the next turn, in this same change.

    False, and nothing changed, where the store says already how it ended, or the turn was deleted.
    """
    row = tx.first("SELECT * FROM turns WHERE turn_id = ?", turn_id)
    if row is None:
        return False
    tx.wake(chat_topic(row["chat_id"]))
    tx.wake(lane_topic(row["chat_id"]))
    if not may(TURNS, row["state"], ending.cause):
        return False
    _move(tx, row, ending.cause, now_ms)
    tx.run(
        "UPDATE turns SET answer = ?, error = ?, report = ? WHERE turn_id = ?",
        ending.answer,
        ending.error,
        ending.report,
        turn_id,
    )
    reason = ending.reason or ("stopped" if ending.cause == "stopped" else None)
    messages.happened(tx, turn_id, ending.cause, now_ms, reason=reason)
    for message_id in ending.read:
        words.read(tx, message_id, now_ms)
    words.happened(tx, turn_id, ending.cause, now_ms, reason=reason)
    _carry(tx, row, ending.cause, now_ms, ending.unread)
    chats.was_active(tx, row["chat_id"], now_ms)
    return True


def interrupt_all(tx: Transaction, now_ms: int) -> list[TurnRow]:
    """After a crash: each turn that was running is interrupted, and shown so, and never run again; these turns."""
    rows = tx.all("SELECT * FROM turns WHERE state = 'running' ORDER BY sequence")
    for row in rows:
        _move(tx, row, "restarted", now_ms)
        messages.happened(tx, row["turn_id"], "restarted", now_ms, reason="interrupted")
        words.happened(tx, row["turn_id"], "restarted", now_ms, reason="interrupted")
        _carry(tx, row, "restarted", now_ms, {})
    return [_of(row) for row in rows]


def write_report(tx: Transaction, turn_id: str, report: str) -> None:
    """What an interrupted turn left undelivered, as JSON, once that is known."""
    tx.run("UPDATE turns SET report = ? WHERE turn_id = ?", report, turn_id)


def _carry(tx: Transaction, row: Row, cause: Cause, now_ms: int, reasons: Mapping[str, str]) -> None:
    """Make one next turn of the words that came out of this one unread, in their order.

    What was for workers alone has nobody to wait for: it is not carried.
    """
    unread = words.list_unread(tx, row["turn_id"])
    if cause == "stopped":
        words.leave(tx, unread, "stopped", reason="stopped")
        return
    entry = _entry_label(tx, row["chat_id"])
    left = [one for one in unread if one.addressed in (None, EVERYONE, entry)]
    for one in unread:
        if one not in left:
            words.leave(tx, [one], "unread", reason=reasons.get(one.message_id, "interrupted"))
    if not left:
        return
    next_turn = lanes.enqueue(tx, row["chat_id"], left[0].sequence, now_ms)
    words.carry(tx, left, "restarted" if cause == "restarted" else "left", next_turn)


def _entry_label(tx: Transaction, chat_id: str) -> str | None:
    row = tx.first(
        "SELECT a.name FROM chats c JOIN agents a ON a.agent_id = c.agent_id WHERE c.chat_id = ?",
        chat_id,
    )
    return None if row is None else row["name"]


def _first_queued(tx: Transaction, chat_id: str) -> Row | None:
    return tx.first(
        "SELECT t.*, c.agent_id, a.name AS agent, a.archived_at FROM turns t"
        " JOIN chats c ON c.chat_id = t.chat_id JOIN agents a ON a.agent_id = c.agent_id"
        " WHERE t.chat_id = ? AND t.state = 'queued' ORDER BY t.sequence LIMIT 1",
        chat_id,
    )


def _move(tx: Transaction, row: Row, cause: Cause, now_ms: int) -> None:
    state = after(TURNS, row["state"], cause)
    started, ended = (now_ms, None) if state == "running" else (row["started_at"], now_ms)
    tx.run(
        "UPDATE turns SET state = ?, started_at = ?, ended_at = ? WHERE turn_id = ?",
        state,
        started,
        ended,
        row["turn_id"],
    )


def _claimed(tx: Transaction, row: Row) -> Claimed:
    return Claimed(
        turn_id=row["turn_id"],
        chat_id=row["chat_id"],
        agent_id=row["agent_id"],
        agent=row["agent"],
        messages=tuple(messages.list_arrived(tx, row["turn_id"])),
        words=tuple(words.list_words(tx, row["turn_id"])),
        number=_number(tx, row),
    )


def _number(tx: Transaction, row: Row) -> int:
    before = tx.first(
        "SELECT count(*) AS turns FROM turns WHERE chat_id = ? AND sequence < ?", row["chat_id"], row["sequence"]
    )
    return 1 + (before["turns"] if before else 0)


def _of(row: Row) -> TurnRow:
    return TurnRow(
        turn_id=row["turn_id"],
        chat_id=row["chat_id"],
        state=row["state"],
        queued_at_ms=row["queued_at"],
        started_at_ms=row["started_at"],
        ended_at_ms=row["ended_at"],
        answer=row["answer"],
        error=row["error"],
        report=row["report"],
    )
