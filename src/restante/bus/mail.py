"""One place of the list: a message, when it was accepted, and what is owed of it."""

from restante.bus.fates import FINAL, Fate, Owed
from restante.bus.match import Match
from restante.bus.message import Message

_NONE: list[Owed] = []
"""Stands for the readings of mail that has none: most has none."""


class Mail:
    """A message on the list. The list only grows, and its places keep their content."""

    __slots__ = ("at_s", "matched", "message", "not_reached", "owed", "readings")

    def __init__(self, message: Message, at_s: float, match: Match) -> None:
        self.message = message
        self.at_s = at_s
        self.matched, self.not_reached = match
        self.owed: tuple[Owed, ...] = ()
        """Its obligations, fixed when it was accepted."""
        self.readings: list[Owed] = _NONE
        """By runs that were not obliged to read it, or that may meet a shared obligation."""

    @property
    def shared(self) -> Owed | None:
        """The obligation that any reader may meet, where there is one. It stands alone."""
        return self.owed[0] if self.owed and self.owed[0].run is None else None

    def begin_reading(self, reading: Owed) -> None:
        """A run that was not obliged has drained it; so it may meet a shared obligation."""
        if self.readings is _NONE:
            self.readings = []
        self.readings.append(reading)
        if (shared := self.shared) and shared.state not in FINAL:
            shared.become("drained")

    def end_reading(self, reading: Owed) -> None:
        """That run did not come to read it."""
        self.readings.remove(reading)

    def forget_unread(self) -> None:
        """The turn is over: only readings that came about are facts."""
        if self.readings:
            self.readings = [reading for reading in self.readings if reading.state == "delivered"]

    @property
    def carried(self) -> bool:
        """Whether these are words that become the next turn."""
        return any(owed.state == "carried" for owed in self.owed)

    def fates(self) -> tuple[Fate, ...]:
        """Of each obligation, then of each reading that was not owed."""
        return tuple(owed.fate() for owed in (*self.owed, *self.readings))

    def readers(self) -> tuple[str, ...]:
        """The addresses of the runs that did read it, in the order of opening."""
        read = sorted((owed for owed in (*self.owed, *self.readings) if owed.state == "delivered"), key=Owed.place)
        return tuple(owed.address for owed in read if owed.address)
