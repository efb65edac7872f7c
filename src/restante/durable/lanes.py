"""A lane is the queue of one chat: one turn at a time, in order of arrival."""

from restante.durable.db.database import Transaction
from restante.durable.ids import new_id
from restante.durable.topics import lane_topic


def enqueue(tx: Transaction, chat_id: str, sequence: int, now_ms: int) -> str:
    """Put a turn into the lane, in the place that its cause's sequence gives it; its id."""
    turn_id = new_id("turn")
    tx.run(
        "INSERT INTO turns (turn_id, chat_id, sequence, state, queued_at) VALUES (?, ?, ?, 'queued', ?)",
        turn_id,
        chat_id,
        sequence,
        now_ms,
    )
    tx.run("UPDATE chats SET waiting = waiting + 1 WHERE chat_id = ?", chat_id)
    tx.wake(lane_topic(chat_id))
    return turn_id


def find_running(tx: Transaction, chat_id: str) -> str | None:
    """The id of the turn that the chat runs, if it runs one."""
    row = tx.first("SELECT turn_id FROM turns WHERE chat_id = ? AND state = 'running'", chat_id)
    return None if row is None else row["turn_id"]


def find_waiting_for_words(tx: Transaction, chat_id: str) -> str | None:
    """The id of the turn that comes last in the lane, if it waits and a person's words began it."""
    row = tx.first(
        "SELECT t.turn_id, t.state, EXISTS (SELECT 1 FROM words w WHERE w.turn_id = t.turn_id) AS said"
        " FROM turns t WHERE t.chat_id = ? ORDER BY t.sequence DESC LIMIT 1",
        chat_id,
    )
    return row["turn_id"] if row is not None and row["state"] == "queued" and row["said"] else None


def is_idle(tx: Transaction, chat_id: str) -> bool:
    """Whether no turn of the chat runs or waits."""
    row = tx.first("SELECT 1 FROM turns WHERE chat_id = ? AND state IN ('running', 'queued') LIMIT 1", chat_id)
    return row is None


def list_lanes(tx: Transaction) -> list[str]:
    """The chats in which turns wait, the one that waits longest first."""
    rows = tx.all("SELECT chat_id, min(sequence) AS first FROM turns WHERE state = 'queued' GROUP BY chat_id")
    return [row["chat_id"] for row in sorted(rows, key=lambda row: row["first"])]
