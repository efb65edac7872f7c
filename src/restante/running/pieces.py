"""Pieces of what the models of a chat's turns say, for whoever watches at that moment. They are never stored."""

from collections import defaultdict
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import groupby

from restante.bus.entry import JournalEntry


@dataclass(frozen=True, slots=True, kw_only=True)
class Piece:
    """More of a text that a model is saying. The whole text follows in the journal, as `model_text`."""

    turn_id: str
    address: str
    text: str
    """Empty: what follows is a new text, and what was said before it does not count."""
    after: int
    """The number of the journal's newest entry when it came."""


class Heard:
    """What one listener has been told and has not taken yet."""

    def __init__(self) -> None:
        self.ring: Callable[[], None] | None = None
        """Called at each piece, to wake the listener."""
        self._pieces: list[Piece] = []
        self._turn_id: str | None = None
        self._number = 0
        self._whole: dict[str | None, int] = {}
        """The number of the newest entry that holds a whole text, for each address."""

    def tell(self, piece: Piece) -> None:
        """Hear a piece."""
        self._pieces.append(piece)
        if self.ring is not None:
            self.ring()

    def has_read(self, turn_id: str, entry: JournalEntry) -> None:
        """The listener has the journal of this turn up to this entry."""
        if turn_id != self._turn_id:
            self._turn_id, self._whole = turn_id, {}
        self._number = entry.number
        if entry.kind == "model_text":
            self._whole[entry.address] = entry.number

    def has_ended(self, turn_id: str) -> None:
        """Whatever is left of this turn is in its journal."""
        self._pieces = [piece for piece in self._pieces if piece.turn_id != turn_id]

    def take(self) -> Iterator[Piece]:
        """The pieces that follow what was read; consecutive ones of one text as one, and none that is read whole."""
        ready = [piece for piece in self._pieces if piece.turn_id == self._turn_id and piece.after <= self._number]
        self._pieces = [piece for piece in self._pieces if piece not in ready]
        news = (piece for piece in ready if piece.after >= self._whole.get(piece.address, 0))
        for _, group in groupby(news, key=lambda piece: (piece.address, bool(piece.text))):
            yield _joined(list(group))


class Pieces:
    """Who listens to which chat."""

    def __init__(self) -> None:
        self._listeners: defaultdict[str, set[Heard]] = defaultdict(set)

    @contextmanager
    def listen(self, chat_id: str) -> Generator[Heard]:
        """Hear the pieces of a chat's turns within the block."""
        heard = Heard()
        self._listeners[chat_id].add(heard)
        try:
            yield heard
        finally:
            self._listeners[chat_id].discard(heard)
            if not self._listeners[chat_id]:
                del self._listeners[chat_id]

    def are_wanted(self, chat_id: str) -> bool:
        """Whether anybody listens to this chat."""
        return chat_id in self._listeners

    def tell(self, chat_id: str, piece: Piece) -> None:
        """Tell everyone who listens to the chat."""
        for heard in self._listeners.get(chat_id, ()):
            heard.tell(piece)


def _joined(pieces: Sequence[Piece]) -> Piece:
    return replace(pieces[0], text="".join(piece.text for piece in pieces))
