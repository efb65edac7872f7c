"""A copy of a chat up to one of its turns: the same words, journals and history under new ids."""

from restante.durable.db.database import Row, Transaction
from restante.durable.ids import new_id


def copy_chat(tx: Transaction, chat_id: str, up_to: int, now_ms: int) -> str:
    """A new chat with the turns whose sequence is not higher; its id."""
    made, sequence = new_id("chat"), tx.next_sequence()
    tx.run(
        "INSERT INTO chats (chat_id, agent_id, purpose, sequence, activity, title, last_activity_at, created_at)"
        " SELECT ?, agent_id, purpose, ?, ?, title, ?, ? FROM chats WHERE chat_id = ?",
        made,
        sequence,
        sequence,
        now_ms,
        now_ms,
        chat_id,
    )
    for turn in tx.all("SELECT * FROM turns WHERE chat_id = ? AND sequence <= ? ORDER BY sequence", chat_id, up_to):
        _copy_turn(tx, turn, made)
    return made


def _copy_turn(tx: Transaction, turn: Row, chat_id: str) -> None:
    made = new_id("turn")
    tx.run(
        "INSERT INTO turns (turn_id, chat_id, sequence, state, queued_at, started_at, ended_at, answer, error, report,"
        " history, history_is_whole) SELECT ?, ?, ?, state, queued_at, started_at, ended_at, answer, error, report,"
        " history, history_is_whole FROM turns WHERE turn_id = ?",
        made,
        chat_id,
        tx.next_sequence(),
        turn["turn_id"],
    )
    for words in tx.all("SELECT sequence FROM words WHERE turn_id = ? ORDER BY sequence", turn["turn_id"]):
        tx.run(
            "INSERT INTO words (sequence, message_id, chat_id, turn_id, text, state, began, carried, reason, said_at,"
            " read_at) SELECT ?, ?, ?, ?, text, state, began, carried, reason, said_at, read_at"
            " FROM words WHERE sequence = ?",
            tx.next_sequence(),
            new_id("msg"),
            chat_id,
            made,
            words["sequence"],
        )
    _copy_journal(tx, turn["turn_id"], made, chat_id)


def _copy_journal(tx: Transaction, turn_id: str, made: str, chat_id: str) -> None:
    rows = tx.all("SELECT * FROM journal WHERE turn_id = ? ORDER BY number", turn_id)
    first = tx.next_sequence(len(rows)) - len(rows) + 1
    tx.run_many(
        "INSERT INTO journal (sequence, turn_id, chat_id, number, at_s, kind, address, facts)"
        " VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
        [
            (sequence, made, chat_id, row["number"], row["at_s"], row["kind"], row["address"], row["facts"])
            for sequence, row in enumerate(rows, start=first)
        ],
    )
