"""What is known of whoever a message is for: a hint, no promise."""

from dataclasses import dataclass

from restante.durable.agents import HostedAgent, list_agents
from restante.durable.db.database import Transaction
from restante.durable.inboxes import Inbox
from restante.durable.times import rfc3339_or_none


@dataclass(frozen=True, slots=True, kw_only=True)
class Recipient:
    """A recipient, as receipts and lists show it."""

    kind: str
    hosted: bool
    id: str
    name: str
    state: str
    queue_depth: int
    """Messages that wait: in the lane of a hosted agent, or in the inbox of a reader."""
    oldest_queued_seconds: float | None = None
    last_read_at_ms: int | None = None
    last_activity_at_ms: int | None = None

    def shape(self) -> dict[str, object]:
        """Ready for JSON."""
        return {
            "kind": self.kind,
            "hosted": self.hosted,
            "id": self.id,
            "name": self.name,
            "state": self.state,
            "queue_depth": self.queue_depth,
            "oldest_queued_seconds": self.oldest_queued_seconds,
            "last_read_at": rfc3339_or_none(self.last_read_at_ms),
            "last_activity_at": rfc3339_or_none(self.last_activity_at_ms),
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """An agent that one may write to."""

    recipient: Recipient
    messaging: bool

    def shape(self) -> dict[str, object]:
        """Ready for JSON."""
        return {**self.recipient.shape(), "messaging": self.messaging}


def recipient_of(tx: Transaction, inbox: Inbox, agent: HostedAgent | None, now_ms: int) -> Recipient:
    """Whoever owns that side, at this moment; `agent` is who that is, where it is one."""
    if agent is not None:
        return _hosted(tx, agent, now_ms)
    row = tx.first("SELECT stored FROM inboxes WHERE inbox_id = ?", inbox.inbox_id)
    return Recipient(
        kind="principal",
        hosted=False,
        id=inbox.owner_id,
        name=inbox.name,
        state="external",
        queue_depth=0 if row is None else row["stored"],
    )


def list_targets(tx: Transaction, now_ms: int) -> list[Target]:
    """Every active agent, by name."""
    return [Target(recipient=_hosted(tx, agent, now_ms), messaging=agent.messaging) for agent in list_agents(tx)]


def _hosted(tx: Transaction, agent: HostedAgent, now_ms: int) -> Recipient:
    row = tx.first(
        "SELECT c.waiting, c.last_read_at, c.last_activity_at,"
        " (SELECT t.queued_at FROM turns t WHERE t.chat_id = c.chat_id AND t.state = 'queued'"
        "  ORDER BY t.sequence LIMIT 1) AS oldest,"
        " (SELECT 1 FROM turns t WHERE t.chat_id = c.chat_id AND t.state = 'running') AS busy"
        " FROM chats c WHERE c.agent_id = ? AND c.purpose = 'messages'",
        agent.agent_id,
    )
    oldest = None if row is None else row["oldest"]
    return Recipient(
        kind="agent",
        hosted=True,
        id=agent.agent_id,
        name=agent.name,
        state="busy" if row is not None and row["busy"] else "idle",
        queue_depth=0 if row is None else row["waiting"],
        oldest_queued_seconds=None if oldest is None else max(0, now_ms - oldest) / 1000,
        last_read_at_ms=None if row is None else row["last_read_at"],
        last_activity_at_ms=None if row is None else row["last_activity_at"],
    )
