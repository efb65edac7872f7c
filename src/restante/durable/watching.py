"""What whoever watches a chat reads: its turns after a place, and where a place is."""

from typing import NamedTuple

from restante.durable import turns
from restante.durable.db.database import Transaction, Value
from restante.durable.turns import TurnRow


class TurnInOrder(NamedTuple):
    """A turn with its place among those of its chat."""

    sequence: int
    turn: TurnRow


def list_turns(tx: Transaction, chat_id: str, after: int) -> list[TurnInOrder]:
    """The turns of a chat that come after one with this sequence, in order."""
    rows = tx.all("SELECT * FROM turns WHERE chat_id = ? AND sequence > ? ORDER BY sequence", chat_id, after)
    return [TurnInOrder(row["sequence"], turns._of(row)) for row in rows]


def newest_ended(tx: Transaction, chat_id: str, *, but: int = 0) -> int:
    """The sequence of the newest turn that has ended, the last `but` ones left out, or 0."""
    return _newest(tx, _ENDED, chat_id, but)


def newest_whole(tx: Transaction, chat_id: str, entry: int) -> int:
    """The sequence of the newest turn that has ended with the entry of this sequence, or before, or 0."""
    return _newest(tx, _WHOLE, chat_id, entry) if entry else 0


def newest_entry(tx: Transaction, chat_id: str, turn: int) -> int:
    """The sequence of the last entry in the turns up to the one with this sequence, or 0."""
    return _newest(tx, _ENTRY, chat_id, turn)


_ENDED = (
    "SELECT t.sequence AS newest FROM turns t WHERE t.chat_id = ? AND t.state NOT IN ('queued', 'running')"
    " ORDER BY t.sequence DESC LIMIT 1 OFFSET ?"
)
_WHOLE = (
    "SELECT MAX(t.sequence) AS newest FROM turns t WHERE t.chat_id = ? AND t.state NOT IN ('queued', 'running')"
    " AND NOT EXISTS (SELECT 1 FROM journal j WHERE j.turn_id = t.turn_id AND j.sequence > ?)"
)
_ENTRY = (
    "SELECT MAX(j.sequence) AS newest FROM journal j JOIN turns t ON t.turn_id = j.turn_id"
    " WHERE t.chat_id = ? AND t.sequence <= ?"
)


def _newest(tx: Transaction, query: str, *values: Value) -> int:
    row = tx.first(query, *values)
    return (row["newest"] if row is not None else None) or 0
