"""What a model has read and said in a chat, kept with the turn that added it, so that a chat can be cut after any."""

import json
from dataclasses import dataclass

from restante.durable.db.database import Transaction


@dataclass(frozen=True, slots=True, kw_only=True)
class History:
    """What one turn made of it: a list in JSON, of a kind that the runner knows."""

    json: str
    whole: bool = False
    """It stands for everything before, too: the turn has changed that, as one that sums up does."""


def write_history(tx: Transaction, turn_id: str, history: History) -> None:
    """Keep what the turn added."""
    tx.run(
        "UPDATE turns SET history = ?, history_is_whole = ? WHERE turn_id = ?",
        history.json,
        int(history.whole),
        turn_id,
    )


def read_history(tx: Transaction, chat_id: str) -> str:
    """The list up to the last turn of the chat, in JSON."""
    since = tx.first(
        "SELECT MAX(sequence) AS at FROM turns WHERE chat_id = ? AND history IS NOT NULL AND history_is_whole = 1",
        chat_id,
    )
    rows = tx.all(
        "SELECT history FROM turns WHERE chat_id = ? AND history IS NOT NULL AND sequence >= ? ORDER BY sequence",
        chat_id,
        0 if since is None or since["at"] is None else since["at"],
    )
    if len(rows) == 1:
        return rows[0]["history"]
    return json.dumps([message for row in rows for message in json.loads(row["history"])])
