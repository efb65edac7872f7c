"""The journal of each turn, stored as it happens, and read back in order."""

import json
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from restante.durable.db.database import Row, Transaction
from restante.durable.topics import chat_topic


class Entry(NamedTuple):
    """One thing that happened in a turn."""

    number: int
    """From 1 within its turn."""
    at_s: float
    """Seconds since the turn opened."""
    kind: str
    address: str | None
    facts: Mapping[str, object]


class StoredEntry(NamedTuple):
    """An entry with its place in the store."""

    sequence: int
    turn_id: str
    entry: Entry


def append(tx: Transaction, chat_id: str, turn_id: str, entries: Sequence[Entry]) -> None:
    """Store what happened, each once however often it is given; whoever watches the chat wakes at the commit.

    Nothing is stored of a turn that was deleted.
    """
    if not entries or tx.first("SELECT 1 FROM turns WHERE turn_id = ?", turn_id) is None:
        return
    first = tx.next_sequence(len(entries)) - len(entries) + 1
    tx.run_many(
        "INSERT INTO journal (sequence, turn_id, chat_id, number, at_s, kind, address, facts)"
        " VALUES (?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (turn_id, number) DO NOTHING",
        [
            (sequence, turn_id, chat_id, each.number, each.at_s, each.kind, each.address, json.dumps(each.facts))
            for sequence, each in enumerate(entries, start=first)
        ],
    )
    tx.wake(chat_topic(chat_id))


def read_after(tx: Transaction, chat_id: str, after: int, limit: int) -> list[StoredEntry]:
    """At most `limit` entries of a chat that come after a sequence, in order."""
    rows = tx.all(
        "SELECT * FROM journal WHERE chat_id = ? AND sequence > ? ORDER BY sequence LIMIT ?", chat_id, after, limit
    )
    return [_of(row) for row in rows]


def read_turn(tx: Transaction, turn_id: str) -> list[Entry]:
    """Every entry of one turn, in order."""
    rows = tx.all("SELECT * FROM journal WHERE turn_id = ? ORDER BY number", turn_id)
    return [_of(row).entry for row in rows]


def _of(row: Row) -> StoredEntry:
    facts: dict[str, Any] = json.loads(row["facts"])
    entry = Entry(row["number"], row["at_s"], row["kind"], row["address"], facts)
    return StoredEntry(row["sequence"], row["turn_id"], entry)
