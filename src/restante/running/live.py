"""The turns that run in this process: a person's words join them, and a person can stop them."""

from restante.bus.roster import Line
from restante.durable.words import Words
from restante.errors import NoTurn
from restante.turn import Turn


class Live:
    """Chat -> its running turn. It holds no fact that is not a row as well."""

    def __init__(self) -> None:
        self._turns: dict[str, tuple[Turn, set[str]]] = {}

    def add(self, chat_id: str, turn: Turn) -> None:
        """A turn of the chat runs here."""
        self._turns[chat_id] = (turn, set())

    def remove(self, chat_id: str) -> None:
        """It runs no more."""
        self._turns.pop(chat_id, None)

    def offer(self, chat_id: str, said: Words) -> None:
        """Hand committed words to the turn that runs, once. One that is over leaves them to the next turn."""
        turn, offered = self._turns.get(chat_id, (None, set[str]()))
        if turn is not None and said.message_id not in offered:
            offered.add(said.message_id)
            turn.bus.send_person(said.text, token=said.message_id)

    def runs(self, chat_id: str) -> bool:
        """Whether a turn of the chat runs here."""
        return chat_id in self._turns

    def roster(self, chat_id: str) -> tuple[Line, ...]:
        """The roster of the turn that runs. Raises `NoTurn`."""
        turn, _ = self._turns.get(chat_id, (None, set[str]()))
        if turn is None:
            raise NoTurn("No turn runs in this chat, so there are no addresses. Say something to begin one.")
        return turn.bus.roster()

    def stop(self, chat_id: str) -> bool:
        """Stop the turn that runs; whether there was one."""
        turn, _ = self._turns.get(chat_id, (None, set[str]()))
        if turn is None:
            return False
        turn.stop()
        return True
