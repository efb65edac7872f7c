"""The journal of a turn: its entries as they happen, for any number of readers, from the first one on."""

import asyncio
import logging
from collections.abc import AsyncIterator

from restante.bus.entry import JournalEntry, Sink

logger = logging.getLogger(__name__)


class Journal:
    """A sink for a bus: it keeps the entries of a turn, and passes each on to another sink.

    Make it inside a running event loop. Entries may come from any thread. A sink that raises is logged once and told
    nothing more; the journal goes on.
    """

    def __init__(self, sink: Sink | None = None) -> None:
        self._sink = sink
        self._entries: list[JournalEntry] = []
        self._bells: set[asyncio.Event] = set()
        self._loop = asyncio.get_running_loop()
        self._ended = False

    def __call__(self, entry: JournalEntry) -> None:
        """Take an entry. It never waits for a reader."""
        self._entries.append(entry)
        self._ring()
        try:
            if self._sink is not None:
                self._sink(entry)
        except Exception:
            self._sink = None
            logger.exception("The sink of a turn raised at entry %d; it is told nothing more.", entry.number)

    @property
    def entries(self) -> tuple[JournalEntry, ...]:
        """Every entry so far."""
        return tuple(self._entries)

    def end(self) -> None:
        """The turn is over, and no entry follows: readers that have read all of them end."""
        self._ended = True
        self._ring()

    async def events(self) -> AsyncIterator[JournalEntry]:
        """Every entry from the first one on, however late the reader begins; ends after the last."""
        bell = asyncio.Event()
        self._bells.add(bell)
        try:
            place = 0
            while True:
                bell.clear()
                ended = self._ended
                while place < len(self._entries):
                    place += 1
                    yield self._entries[place - 1]
                if ended:
                    return
                await bell.wait()
        finally:
            self._bells.discard(bell)

    def _ring(self) -> None:
        if not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._ring_all)

    def _ring_all(self) -> None:
        for bell in self._bells:
            bell.set()
