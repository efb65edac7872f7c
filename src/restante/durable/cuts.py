"""Where a chat can be cut: after a whole turn that has ended, and nowhere else."""

from dataclasses import dataclass

from restante.durable import chats, copies, deletions
from restante.durable.db.database import Row, Transaction
from restante.errors import InvalidArguments

_ENDED = ("ended_ok", "ended_failed", "stopped", "interrupted")
_SHOWN = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class Cut:
    """A place where a chat can be cut: after this turn."""

    turn_id: str
    number: int
    """Its number in the chat, from 1."""
    sequence: int
    state: str
    """How the turn ended."""
    words: str | None
    """How the person's first words in it begin, on one line."""


def list_cuts(tx: Transaction, chat_id: str) -> list[Cut]:
    """Every such place of the chat, in order; none is at a message or within a turn. Raises `NotFound`."""
    chats.get_chat(tx, chat_id)
    rows = tx.all(_TURNS, chat_id)
    return [_of(row, number) for number, row in enumerate(rows, start=1) if row["state"] in _ENDED]


def branch(tx: Transaction, chat_id: str, turn_id: str, now_ms: int) -> str:
    """A new chat with whole copies of all turns up to and with that one; its id.

    Raises `NotFound`, `TurnRunning`, and `InvalidArguments` where the chat cannot be cut.
    """
    cut = _get_cut(tx, chat_id, turn_id)
    return copies.copy_chat(tx, chat_id, cut.sequence, now_ms)


def truncate(tx: Transaction, chat_id: str, turn_id: str) -> int:
    """Drop every turn after that one, those that wait as well; how many there were. Raises what `branch` does."""
    cut = _get_cut(tx, chat_id, turn_id)
    return deletions.delete_turns_after(tx, chat_id, cut.sequence)


def _get_cut(tx: Transaction, chat_id: str, turn_id: str) -> Cut:
    chats.get_persons_chat(tx, chat_id)
    deletions.check_idle(tx, chat_id)
    cuts = list_cuts(tx, chat_id)
    for cut in cuts:
        if cut.turn_id == turn_id:
            return cut
    if not cuts:
        raise InvalidArguments("No turn of this chat has ended yet: there is nowhere to cut it.", field="turn_id")
    newest = [cut.turn_id for cut in cuts[-_SHOWN:]]
    message = f"A chat is cut after one of its turns that have ended, and not at a message. The last: {newest[-1]}."
    raise InvalidArguments(message, field="turn_id", candidates=newest)


_TURNS = (
    "SELECT t.turn_id, t.sequence, t.state, (SELECT w.text FROM words w WHERE w.turn_id = t.turn_id"
    " ORDER BY w.sequence LIMIT 1) AS words FROM turns t WHERE t.chat_id = ? ORDER BY t.sequence"
)


def _of(row: Row, number: int) -> Cut:
    return Cut(
        turn_id=row["turn_id"],
        number=number,
        sequence=row["sequence"],
        state=row["state"],
        words=chats.beginning_of(row["words"]),
    )
