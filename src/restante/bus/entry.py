"""What happens in a turn, entry by entry, and what receives the entries."""

from collections import deque
from collections.abc import Callable, Mapping
from threading import RLock
from typing import NamedTuple


class JournalEntry(NamedTuple):
    """One thing that happened, ready for JSON."""

    number: int
    """From 1, without a gap, for the bus and the turn alike."""
    at_s: float
    """Seconds since the bus was made."""
    kind: str
    address: str | None
    """The run that it concerns, where there is one."""
    facts: Mapping[str, object]


Sink = Callable[[JournalEntry], None]
"""Called for each entry as it happens, in order, from any thread. It queues, and never waits."""


class Notes:
    """Numbers what happens and hands it to the sink, in order, outside the lock of the bus.

    So a sink may ask the bus, and even send on it. One that raises is told nothing more: `failure` says why.
    """

    def __init__(self, sink: Sink | None, clock: Callable[[], float]) -> None:
        self.on = sink is not None
        self.failure: Exception | None = None
        self._sink = sink
        self.clock = clock
        self.began = clock()
        """What the clock said when the bus was made."""
        self._number = 0
        self._untold: deque[JournalEntry] = deque()
        self._telling = RLock()

    def now_s(self) -> float:
        """Seconds since the bus was made."""
        return self.clock() - self.began

    def add(self, kind: str, address: str | None, facts: Mapping[str, object]) -> None:
        """Number an entry. Call it under the lock of the bus, so that the order is that of what happened."""
        self._number += 1
        self._untold.append(JournalEntry(self._number, self.now_s(), kind, address, facts))

    def tell(self) -> None:
        """Hand over what was added. Call it outside the lock of the bus, before what was done is answered."""
        if self._sink is None or not self.on:
            return
        with self._telling:
            while self._untold:
                entry = self._untold.popleft()
                try:
                    self._sink(entry)
                except Exception as error:  # noqa: BLE001 - a sink is somebody else's code; its failure is a fact
                    self.failure = error
                    self.on = False
                    return
