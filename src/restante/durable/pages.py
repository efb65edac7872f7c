"""A page: what came to one inbox, or to all of a caller's, after a cursor. Reading takes nothing away."""

from dataclasses import dataclass

from restante.durable import inboxes
from restante.durable.callers import Caller
from restante.durable.cursors import resolve
from restante.durable.db.database import Row, Transaction
from restante.durable.times import rfc3339
from restante.errors import InvalidArguments, Limit


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadRequest:
    """What to read: one inbox, or the whole mail."""

    inbox_id: str | None = None
    after: int = 0
    """The sequence that was read last."""
    limit: int = 30
    """Messages at most."""
    wait_seconds: float = 0.0
    """How long to wait for a first one."""
    store_id: str | None = None
    """The store that `after` is from."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Element:
    """One message, as whoever it came to sees it."""

    message_id: str
    conversation_id: str
    inbox_id: str
    sequence: int
    to: str
    sender: str
    sender_kind: str
    sender_id: str
    message: str
    sent_at_ms: int
    reply_address: str
    in_reply_to: str | None
    state: str

    def shape(self) -> dict[str, object]:
        """Ready for JSON."""
        return {
            "message_id": self.message_id,
            "conversation_id": self.conversation_id,
            "inbox_id": self.inbox_id,
            "sequence": self.sequence,
            "to": self.to,
            "sender": self.sender,
            "sender_kind": self.sender_kind,
            "sender_id": self.sender_id,
            "message": self.message,
            "removed_reason": None,
            "sent_at": rfc3339(self.sent_at_ms),
            "reply_address": self.reply_address,
            "in_reply_to": self.in_reply_to,
            "state": self.state,
            "acknowledged": False,
            "acknowledged_at": None,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """Messages in order of sequence, and where to go on."""

    messages: tuple[Element, ...]
    next_cursor: int
    has_more: bool
    inbox_id: str | None
    conversation_id: str | None
    store_id: str
    cursor_reset_reason: str | None

    def shape(self) -> dict[str, object]:
        """Ready for JSON."""
        return {
            "messages": [element.shape() for element in self.messages],
            "next_cursor": self.next_cursor,
            "has_more": self.has_more,
            "inbox_id": self.inbox_id,
            "conversation_id": self.conversation_id,
            "store_id": self.store_id,
            "cursor_reset": self.cursor_reset_reason is not None,
            "cursor_reset_reason": self.cursor_reset_reason,
        }


LAST_SEQUENCE = 2**63 - 1


def check_paging(after: int, limit: int, limit_max: int) -> None:
    """Raise `InvalidArguments` for a cursor or a number of elements that no page has."""
    check_range("after", after, (0, LAST_SEQUENCE))
    check_range("limit", limit, (1, limit_max))


def check_range(name: str, value: float, range_: tuple[float, float]) -> None:
    """Raise `InvalidArguments`, naming the range, for a value outside of it. Nothing is clamped."""
    low, high = range_
    if not low <= value <= high:
        raise InvalidArguments(f"{name} goes from {low:,} to {high:,}.", field=name, limit=Limit(name, high, value))


def read_page(tx: Transaction, caller: Caller, request: ReadRequest) -> Page:
    """What came after the cursor. Raises `NotFound` for an inbox that is not the caller's."""
    inbox = None if request.inbox_id is None else inboxes.get_inbox(tx, caller, request.inbox_id)
    cursor = resolve(tx, request.after, request.store_id)
    column, key = ("m.recipient_id", caller.id) if inbox is None else ("m.to_inbox", inbox.inbox_id)
    rows = tx.all(_SELECT.format(column=column), key, cursor.after, request.limit + 1)
    elements = tuple(_of(row) for row in rows[: request.limit])
    return Page(
        messages=elements,
        next_cursor=elements[-1].sequence if elements else cursor.after,
        has_more=len(rows) > request.limit,
        inbox_id=None if inbox is None else inbox.inbox_id,
        conversation_id=None if inbox is None else inbox.conversation_id,
        store_id=cursor.store_id,
        cursor_reset_reason=cursor.reset_reason,
    )


_SELECT = (
    "SELECT m.*, COALESCE(sa.name, sp.label) AS sender, f.owner_kind AS sender_kind,"
    " COALESCE(ra.name, rp.label) AS recipient FROM messages m"
    " JOIN inboxes f ON f.inbox_id = m.from_inbox"
    " LEFT JOIN agents sa ON sa.agent_id = m.sender_id"
    " LEFT JOIN principals sp ON sp.principal_id = m.sender_id"
    " LEFT JOIN agents ra ON ra.agent_id = m.recipient_id"
    " LEFT JOIN principals rp ON rp.principal_id = m.recipient_id"
    " WHERE {column} = ? AND m.sequence > ? ORDER BY m.sequence LIMIT ?"
)


def _of(row: Row) -> Element:
    return Element(
        message_id=row["message_id"],
        conversation_id=row["conversation_id"],
        inbox_id=row["to_inbox"],
        sequence=row["sequence"],
        to=row["recipient"],
        sender=row["sender"],
        sender_kind=row["sender_kind"],
        sender_id=row["sender_id"],
        message=row["text"],
        sent_at_ms=row["accepted_at"],
        reply_address=row["from_inbox"],
        in_reply_to=row["in_reply_to"],
        state=row["state"],
    )
