"""One place of the list: a message, when it was accepted, and what is owed of it."""

from typing import TYPE_CHECKING

from restante.bus.fates import FINAL, Fate, Owed, Reading
from restante.bus.match import Match
from restante.bus.message import Message

if TYPE_CHECKING:
    from restante.bus.run import Run

_NONE: list[Reading] = []
"""Stands for the readings of mail that has none: most has none."""


class Mail(Owed):
    """A message on the list, and the first of its obligations: an accepted message has one, and most have no other.

    The list only grows, and its places keep their content.
    """

    __slots__ = ("at_s", "match", "others", "readings")

    def __init__(self, message: Message, at_s: float, match: Match) -> None:
        # What `Owed` sets, without the call: this is made for every message.
        self.message = message
        self.run: Run | None = None
        self.state = "accepted"
        self.reason = None
        self.call = None
        self.at_s = at_s
        self.match = match
        self.others: tuple[Owed, ...] = ()
        """Its further obligations, fixed when it was accepted."""
        self.readings: list[Reading] = _NONE
        """By runs that were not obliged to read it, or that may meet a shared obligation."""

    @property
    def owed(self) -> tuple[Owed, ...]:
        """All its obligations, in the order of opening of the runs."""
        return (self, *self.others)

    @property
    def shared(self) -> Owed | None:
        """The obligation that any reader may meet, where there is one. It stands alone."""
        return self if self.run is None else None

    def begin_reading(self, reading: Reading) -> None:
        """A run that was not obliged has drained it; so it may meet a shared obligation."""
        if self.readings is _NONE:
            self.readings = []
        self.readings.append(reading)
        if (shared := self.shared) and shared.state not in FINAL:
            shared.become("drained")

    def end_reading(self, reading: Reading) -> None:
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
