"""A message is a text from one side of a conversation to the other, with a sequence and a state."""

from dataclasses import dataclass

from restante.durable import lanes
from restante.durable.db.database import Row, Transaction
from restante.durable.ids import new_id
from restante.durable.inboxes import Sides
from restante.durable.states import MESSAGES, Cause, after, may
from restante.durable.topics import inbox_topic, mail_topic

STATES = frozenset({"accepted", "stored"} | {state for pair in MESSAGES.items() for state in (pair[0][0], pair[1])})
"""Every state that a message can have."""

_STAMPED = {
    "started": "UPDATE messages SET state = ?, reason = ?, started_at = ? WHERE sequence = ?",
    "read": "UPDATE messages SET state = ?, reason = ?, read_at = ? WHERE sequence = ?",
}
_ENDED = "UPDATE messages SET state = ?, reason = ?, ended_at = ? WHERE sequence = ?"


@dataclass(frozen=True, slots=True, kw_only=True)
class NewMessage:
    """What is about to be stored."""

    sides: Sides
    """As the sender sees them."""
    text: str
    in_reply_to: str | None
    submission_id: str | None
    place: int
    """Its number within the conversation."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Stored:
    """What was stored."""

    message_id: str
    sequence: int
    state: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Arrived:
    """A message as the turn that answers it gets it."""

    message_id: str
    sequence: int
    sender: str
    text: str
    in_reply_to: str | None
    reply_address: str


def record(tx: Transaction, new: NewMessage, now_ms: int) -> Stored:
    """Store it, `queued` in a lane or `stored` for a reader. Whoever waits for it wakes at the commit."""
    mine, peer = new.sides.mine, new.sides.peer
    message_id, sequence = new_id("msg"), tx.next_sequence()
    turn_id = None if peer.chat_id is None else lanes.enqueue(tx, peer.chat_id, sequence, now_ms)
    state = "stored" if turn_id is None else "queued"
    tx.run(
        "INSERT INTO messages (sequence, message_id, conversation_id, place, from_inbox, to_inbox, sender_id,"
        " recipient_id, text, in_reply_to, submission_id, state, turn_id, accepted_at, queued_at)"
        " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        sequence,
        message_id,
        mine.conversation_id,
        new.place,
        mine.inbox_id,
        peer.inbox_id,
        mine.owner_id,
        peer.owner_id,
        new.text,
        new.in_reply_to,
        new.submission_id,
        state,
        turn_id,
        now_ms,
        None if turn_id is None else now_ms,
    )
    if turn_id is None:
        tx.run("UPDATE inboxes SET stored = stored + 1 WHERE inbox_id = ?", peer.inbox_id)
    tx.wake(inbox_topic(peer.inbox_id))
    tx.wake(mail_topic(peer.owner_id))
    return Stored(message_id=message_id, sequence=sequence, state=state)


def happened(tx: Transaction, turn_id: str, cause: Cause, now_ms: int, *, reason: str | None = None) -> None:
    """Move on the messages that began the turn, where the cause means something to them."""
    for row in tx.all("SELECT sequence, state FROM messages WHERE turn_id = ?", turn_id):
        if may(MESSAGES, row["state"], cause):
            state = after(MESSAGES, row["state"], cause)
            tx.run(_STAMPED.get(state, _ENDED), state, reason, now_ms, row["sequence"])


def is_of_conversation(tx: Transaction, message_id: str, conversation_id: str | None) -> bool:
    """Whether the message belongs to that conversation."""
    row = tx.first(
        "SELECT 1 FROM messages WHERE message_id = ? AND conversation_id = ?",
        message_id,
        conversation_id,
    )
    return row is not None


def list_arrived(tx: Transaction, turn_id: str) -> list[Arrived]:
    """The messages that began a turn, in order."""
    rows = tx.all(
        "SELECT m.*, COALESCE(a.name, p.label) AS sender FROM messages m"
        " LEFT JOIN agents a ON a.agent_id = m.sender_id LEFT JOIN principals p ON p.principal_id = m.sender_id"
        " WHERE m.turn_id = ? ORDER BY m.sequence",
        turn_id,
    )
    return [_arrived(row) for row in rows]


def _arrived(row: Row) -> Arrived:
    return Arrived(
        message_id=row["message_id"],
        sequence=row["sequence"],
        sender=row["sender"],
        text=row["text"],
        in_reply_to=row["in_reply_to"],
        reply_address=row["from_inbox"],
    )
