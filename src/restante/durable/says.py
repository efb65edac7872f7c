"""A say: a person's words are stored, for the turn that runs or as the next one."""

from restante.durable import chats, lanes, words
from restante.durable.db.database import Transaction
from restante.durable.words import Place, Words
from restante.errors import NoTurn

NO_TURN = "No turn runs in this chat, so there are no addresses. Say something to begin one."


def say(tx: Transaction, chat_id: str, text: str, now_ms: int, addressed: str | None = None) -> Words:
    """Store what a person says: `offered` to the turn that runs, else `queued`. Raises `NotFound`.

    Words that wait already begin the same turn: none of them is joined with another. Where they are `addressed` to
    certain runs alone and no turn runs, it raises `NoTurn`.
    """
    chats.get_chat(tx, chat_id)
    running = lanes.find_running(tx, chat_id)
    if addressed is not None and running is None:
        raise NoTurn(NO_TURN)
    sequence = tx.next_sequence()
    turn_id = running or lanes.find_waiting_for_words(tx, chat_id) or lanes.enqueue(tx, chat_id, sequence, now_ms)
    place = Place(chat_id=chat_id, turn_id=turn_id, running=running is not None, sequence=sequence, addressed=addressed)
    said = words.record(tx, place, text, now_ms)
    chats.was_active(tx, chat_id, now_ms)
    return said
