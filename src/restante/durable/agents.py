"""A hosted agent as the store knows it: an id that stays, and the name under which others write to it."""

from collections.abc import Mapping
from dataclasses import dataclass

from restante.durable.db.database import Row, Transaction
from restante.durable.ids import new_id
from restante.errors import NotFound
from restante.names import folded

CANDIDATES = 20
"""How many names a refusal lists."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HostedAgent:
    """One whose turns run here."""

    agent_id: str
    name: str
    messaging: bool
    """Whether others may write to it."""
    archived: bool


def sync_agents(tx: Transaction, messaging: Mapping[str, bool], now_ms: int) -> None:
    """Make the store know exactly these agents, by name, as active; the others become archived."""
    tx.run("UPDATE agents SET archived_at = ? WHERE archived_at IS NULL", now_ms)
    for name, switched_on in messaging.items():
        changed = tx.run(
            "UPDATE agents SET name = ?, messaging = ?, archived_at = NULL WHERE folded = ?",
            name,
            int(switched_on),
            folded(name),
        )
        if not changed:
            tx.run(
                "INSERT INTO agents VALUES (?, ?, ?, ?, NULL, ?)",
                new_id("agent"),
                name,
                folded(name),
                int(switched_on),
                now_ms,
            )


def get_agent(tx: Transaction, agent_id: str) -> HostedAgent:
    """The agent with this id. Raises `NotFound`."""
    row = tx.first("SELECT * FROM agents WHERE agent_id = ?", agent_id)
    if row is None:
        raise _unknown(tx)
    return _of(row)


def get_target(tx: Transaction, target: str) -> HostedAgent:
    """The agent that `target` names: an id or an exact name, either with `agent:` before it if one likes.

    Raises `NotFound` with the names that there are. Nothing is trimmed or guessed.
    """
    plain = target.removeprefix("agent:")
    row = tx.first("SELECT * FROM agents WHERE name = ? OR agent_id = ?", plain, plain)
    if row is None:
        raise _unknown(tx)
    return _of(row)


def list_agents(tx: Transaction) -> list[HostedAgent]:
    """The active ones, by name."""
    return [_of(row) for row in tx.all("SELECT * FROM agents WHERE archived_at IS NULL ORDER BY name")]


def _unknown(tx: Transaction) -> NotFound:
    names = [agent.name for agent in list_agents(tx)[:CANDIDATES]]
    return NotFound("No agent that you may write to has that id or exact name.", candidates=names)


def _of(row: Row) -> HostedAgent:
    return HostedAgent(
        agent_id=row["agent_id"],
        name=row["name"],
        messaging=bool(row["messaging"]),
        archived=row["archived_at"] is not None,
    )
