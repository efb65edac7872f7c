"""The turns that run in this process: a person's words join them, and a person can stop them."""

from collections.abc import Mapping

from restante.bus.message import EVERYONE
from restante.bus.receipt import Receipt
from restante.bus.roster import Line
from restante.durable.says import NO_TURN
from restante.durable.words import Words
from restante.errors import BusClosed, InvalidArguments, NotFound, NoTurn, RecipientFinished, RestanteError
from restante.turn import Turn

REFUSALS: Mapping[str, type[RestanteError]] = {
    error.code: error for error in (BusClosed, NotFound, RecipientFinished, InvalidArguments)
}
"""What a refusal of the bus to a person is raised as."""


class Live:
    """Chat -> its running turn. It holds no fact that is not a row as well."""

    def __init__(self) -> None:
        self._turns: dict[str, tuple[Turn, set[str]]] = {}
        self._coming: dict[str, bool] = {}
        """Chats whose turn is claimed and does not run yet, and whether it is to be stopped at once."""

    def expect(self, chat_id: str) -> None:
        """A turn of the chat has been claimed and is about to run."""
        self._coming[chat_id] = False

    def add(self, chat_id: str, turn: Turn) -> None:
        """A turn of the chat runs here."""
        self._turns[chat_id] = (turn, set())
        if self._coming.pop(chat_id, False):
            turn.stop()

    def remove(self, chat_id: str) -> None:
        """It runs no more."""
        self._turns.pop(chat_id, None)
        self._coming.pop(chat_id, None)

    def offer(self, chat_id: str, said: Words) -> Receipt | None:
        """Hand committed words to the turn that runs, once; its receipt. One that is over leaves them for later."""
        turn, offered = self._turns.get(chat_id, (None, set[str]()))
        if turn is None or said.message_id in offered:
            return None
        offered.add(said.message_id)
        return turn.bus.send_person(said.text, to=said.addressed or EVERYONE, token=said.message_id)

    def check(self, chat_id: str, text: str, addressed: str) -> None:
        """Raise what the turn that runs would refuse words to these runs with: `NoTurn` where none runs."""
        turn, _ = self._turns.get(chat_id, (None, set[str]()))
        if turn is None:
            raise NoTurn(NO_TURN)
        if refused := turn.bus.refusal_of_person(text, addressed):
            raise REFUSALS.get(refused.code or "", InvalidArguments)(refused.text)

    def runs(self, chat_id: str) -> bool:
        """Whether a turn of the chat runs here."""
        return chat_id in self._turns

    def roster(self, chat_id: str) -> tuple[Line, ...]:
        """The roster of the turn that runs. Raises `NoTurn`."""
        turn, _ = self._turns.get(chat_id, (None, set[str]()))
        if turn is None:
            raise NoTurn(NO_TURN)
        return turn.bus.roster()

    def stop(self, chat_id: str) -> bool:
        """Stop the turn that runs; whether there was one."""
        turn, _ = self._turns.get(chat_id, (None, set[str]()))
        if turn is not None:
            turn.stop()
        elif chat_id in self._coming:
            self._coming[chat_id] = True
        return turn is not None or chat_id in self._coming
