"""What a person takes out of the store: a whole chat, or turns of one."""

from restante.durable import chats, lanes
from restante.durable.db.database import Transaction
from restante.durable.topics import chat_topic
from restante.errors import TurnRunning


def delete_chat(tx: Transaction, chat_id: str) -> None:
    """Remove the chat with its turns, words and journals; whoever watches it wakes, and finds nothing.

    Raises `NotFound`, `InvalidArguments` for a chat that is no person's, and `TurnRunning`.
    """
    chats.get_persons_chat(tx, chat_id)
    check_idle(tx, chat_id)
    delete_turns_after(tx, chat_id, 0)
    tx.run("DELETE FROM chats WHERE chat_id = ?", chat_id)


def delete_turns_after(tx: Transaction, chat_id: str, sequence: int) -> int:
    """Remove the turns whose sequence is higher, with their words and journals; how many there were."""
    later = "turn_id IN (SELECT turn_id FROM turns WHERE chat_id = ? AND sequence > ?)"
    tx.run(f"DELETE FROM journal WHERE {later}", chat_id, sequence)  # noqa: S608  # the text above
    tx.run(f"DELETE FROM words WHERE {later}", chat_id, sequence)  # noqa: S608
    removed = tx.run("DELETE FROM turns WHERE chat_id = ? AND sequence > ?", chat_id, sequence)
    tx.run(
        "UPDATE chats SET waiting = (SELECT COUNT(*) FROM turns WHERE chat_id = ? AND state = 'queued')"
        " WHERE chat_id = ?",
        chat_id,
        chat_id,
    )
    # Another process that has the store open looks again when the sequence has risen.
    tx.next_sequence()
    tx.wake(chat_topic(chat_id))
    return removed


def check_idle(tx: Transaction, chat_id: str) -> None:
    """Raise `TurnRunning` while a turn of the chat runs."""
    if lanes.find_running(tx, chat_id) is not None:
        raise TurnRunning("A turn of this chat runs. Stop it, or wait until it has ended; then do this again.")
