"""What became of a caller's own sends."""

from dataclasses import dataclass

from restante.durable import inboxes
from restante.durable.callers import Caller
from restante.durable.cursors import resolve
from restante.durable.db.database import Row, Transaction, Value
from restante.durable.times import rfc3339, rfc3339_or_none
from restante.errors import NotFound

REASONS = {
    "interrupted": (
        "The server stopped while the turn ran, and the turn is not run again by itself; "
        "send it again with a new submission_id."
    ),
    "recipient_archived": "The agent was archived before its turn came.",
    "stopped": "The turn was stopped.",
    "turn_limit": "The turn took longer than the platform lets one take, and was stopped.",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class StatesRequest:
    """Which of one's own sends; the filters are joined by and."""

    message_id: str | None = None
    submission_id: str | None = None
    inbox_id: str | None = None
    state: str | None = None
    after: int = 0
    limit: int = 30
    store_id: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SendState:
    """One send, and how far it has come."""

    message_id: str
    submission_id: str | None
    inbox_id: str
    target: str
    sequence: int
    state: str
    reason: str | None
    attempts: int
    accepted_at_ms: int
    queued_at_ms: int | None
    started_at_ms: int | None
    read_at_ms: int | None
    ended_at_ms: int | None
    queued_seconds: float | None
    waiting_for: str | None

    def shape(self) -> dict[str, object]:
        """Ready for JSON."""
        return {
            "message_id": self.message_id,
            "submission_id": self.submission_id,
            "inbox_id": self.inbox_id,
            "target": self.target,
            "sequence": self.sequence,
            "state": self.state,
            "reason": self.reason,
            "reason_text": None if self.reason is None else REASONS.get(self.reason),
            "waiting_for": self.waiting_for,
            "queued_seconds": self.queued_seconds,
            "attempts": self.attempts,
            "accepted_at": rfc3339(self.accepted_at_ms),
            "queued_at": rfc3339_or_none(self.queued_at_ms),
            "started_at": rfc3339_or_none(self.started_at_ms),
            "read_at": rfc3339_or_none(self.read_at_ms),
            "ended_at": rfc3339_or_none(self.ended_at_ms),
            "acknowledged_at": None,
            "turn_id": None,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class States:
    """Own sends in order of sequence, and where to go on."""

    states: tuple[SendState, ...]
    next_cursor: int
    has_more: bool
    store_id: str
    cursor_reset_reason: str | None

    def shape(self) -> dict[str, object]:
        """Ready for JSON."""
        return {
            "states": [state.shape() for state in self.states],
            "next_cursor": self.next_cursor,
            "has_more": self.has_more,
            "store_id": self.store_id,
            "cursor_reset": self.cursor_reset_reason is not None,
            "cursor_reset_reason": self.cursor_reset_reason,
        }


def read_states(tx: Transaction, caller: Caller, request: StatesRequest, now_ms: int) -> States:
    """The caller's own sends. Raises `NotFound` for a message, a submission or an inbox that is not the caller's."""
    if request.inbox_id is not None:
        inboxes.get_inbox(tx, caller, request.inbox_id)
    if request.message_id is not None:
        _check_own(tx, caller, "message_id", request.message_id)
    if request.submission_id is not None:
        _check_own(tx, caller, "submission_id", request.submission_id)
    cursor = resolve(tx, request.after, request.store_id)
    where, values = _filters(request)
    rows = tx.all(
        f"{_SELECT} WHERE m.sender_id = ? AND m.sequence > ?{where} ORDER BY m.sequence LIMIT ?",
        caller.id,
        cursor.after,
        *values,
        request.limit + 1,
    )
    found = tuple(_of(row, now_ms) for row in rows[: request.limit])
    return States(
        states=found,
        next_cursor=found[-1].sequence if found else cursor.after,
        has_more=len(rows) > request.limit,
        store_id=cursor.store_id,
        cursor_reset_reason=cursor.reset_reason,
    )


_SELECT = (
    "SELECT m.*, COALESCE(a.name, p.label) AS target,"
    " (SELECT 1 FROM turns t JOIN turns q ON q.chat_id = t.chat_id"
    "  WHERE q.turn_id = m.turn_id AND t.state = 'running') AS busy FROM messages m"
    " LEFT JOIN agents a ON a.agent_id = m.recipient_id LEFT JOIN principals p ON p.principal_id = m.recipient_id"
)


_OWN = {
    "message_id": "SELECT 1 FROM messages WHERE message_id = ? AND sender_id = ?",
    "submission_id": "SELECT 1 FROM messages WHERE submission_id = ? AND sender_id = ?",
}


def _check_own(tx: Transaction, caller: Caller, column: str, value: str) -> None:
    if tx.first(_OWN[column], value, caller.id) is None:
        raise NotFound(f"You have sent no message with that {column}.", field=column)


def _filters(request: StatesRequest) -> tuple[str, list[Value]]:
    given = {
        "m.message_id": request.message_id,
        "m.submission_id": request.submission_id,
        "m.from_inbox": request.inbox_id,
        "m.state": request.state,
    }
    asked = {column: value for column, value in given.items() if value is not None}
    return "".join(f" AND {column} = ?" for column in asked), list(asked.values())


def _of(row: Row, now_ms: int) -> SendState:
    waiting = row["state"] == "queued"
    until = row["started_at"] or row["ended_at"] or now_ms
    queued_at = row["queued_at"]
    return SendState(
        message_id=row["message_id"],
        submission_id=row["submission_id"],
        inbox_id=row["from_inbox"],
        target=row["target"],
        sequence=row["sequence"],
        state=row["state"],
        reason=row["reason"],
        attempts=int(row["started_at"] is not None),
        accepted_at_ms=row["accepted_at"],
        queued_at_ms=queued_at,
        started_at_ms=row["started_at"],
        read_at_ms=row["read_at"],
        ended_at_ms=row["ended_at"],
        queued_seconds=None if queued_at is None else max(0, until - queued_at) / 1000,
        waiting_for="busy" if waiting and row["busy"] else None,
    )
