"""One place of the list: a message, when it was accepted, and what is owed of it."""

from restante.bus.fates import Fate, Owed
from restante.bus.message import Message
from restante.bus.receipt import Receipt
from restante.bus.run import Run


class Mail:
    """A message on the list. The list only grows, and its places keep their content."""

    __slots__ = ("at_s", "message", "owed", "readings", "receipt")

    def __init__(self, message: Message, at_s: float) -> None:
        self.message = message
        self.at_s = at_s
        self.owed: list[Owed] = []
        self.readings: list[Owed] = []
        self.receipt: Receipt

    @property
    def shared(self) -> Owed | None:
        """The obligation that any reader may meet, where there is one. It stands alone."""
        return self.owed[0] if self.owed and self.owed[0].run is None else None

    @property
    def carried(self) -> bool:
        """Whether these are words that become the next turn."""
        return any(owed.state == "carried" for owed in self.owed)

    def fates(self) -> tuple[Fate, ...]:
        """Of each obligation, then of each reading that was not owed."""
        return tuple(owed.fate() for owed in (*self.owed, *self.readings))

    def readers(self) -> tuple[str, ...]:
        """The addresses of the runs that did read it, in the order of opening."""
        read = [owed.run for owed in (*self.owed, *self.readings) if owed.run and owed.state == "delivered"]
        return tuple(run.address for run in sorted(read, key=Run.place))
