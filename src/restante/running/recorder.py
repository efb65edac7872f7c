"""The recorder of one turn: what happens in it becomes rows as it happens."""

import asyncio
import logging
from collections.abc import Callable, Sequence

from restante.bus.entry import JournalEntry
from restante.bus.message import EVERYONE
from restante.bus.rendering import Delivery
from restante.durable import transcripts, turns, words
from restante.durable.db.database import Database, Transaction
from restante.durable.transcripts import Entry
from restante.durable.turns import Claimed
from restante.errors import StoreUnavailable
from restante.running.clock import Clock, now_ms

RETRY_S = 1.0
_OF_A_RETURNED_CALL = frozenset({"model_text", "tool_call", "answer"})

logger = logging.getLogger(__name__)


class Recorder:
    """A sink and an observer of the turn. As a sink it queues and never waits; `keep` stores what was queued."""

    def __init__(self, database: Database, clock: Clock, claimed: Claimed) -> None:
        self._database = database
        self._clock = clock
        self._turn = claimed
        self._queued: list[JournalEntry] = []
        self._loop = asyncio.get_running_loop()
        self._bell = asyncio.Event()
        self._writing = asyncio.Lock()
        self._entry_address: str | None = None
        self._returned = False
        """Whether it is stored that the first model call returned."""
        self.newest = 0
        """The number of the newest entry."""
        self.read: set[str] = set()
        """The ids of a person's words that an entry run has read after joining the turn."""

    def __call__(self, entry: JournalEntry) -> None:
        """Take an entry of the journal, from any thread."""
        if entry.kind == "run_opened" and entry.facts.get("entry"):
            self._entry_address = entry.address
        self.newest = entry.number
        self._queued.append(entry)
        self._loop.call_soon_threadsafe(self._bell.set)

    async def keep(self) -> None:
        """Store what happens until this is cancelled."""
        while True:
            await self._bell.wait()
            self._bell.clear()
            try:
                await self.flush()
            except StoreUnavailable as error:
                logger.warning("The journal of %s waits: %s", self._turn.turn_id, error.message)
                await self._clock.sleep(RETRY_S)
                self._bell.set()

    async def flush(self, also: Callable[[Transaction], None] | None = None) -> None:
        """Store what has happened so far, and make one more change with it."""
        async with self._writing:
            entries = list(self._queued)
            if not entries and also is None:
                return
            returned = not self._returned and any(self._shows_return(entry) for entry in entries)
            await self._database.write(lambda tx: self._store(tx, entries, also, returned=returned))
            self._returned = self._returned or returned
            del self._queued[: len(entries)]

    async def claimed(self, address: str, deliveries: tuple[Delivery, ...]) -> None:
        """Whoever is to read them took words of the person: they are started before the call that carries them."""
        taken = self._joined(address, deliveries)
        await self.flush(lambda tx: _each(taken, lambda message_id: words.drained(tx, message_id)))

    async def returned(self, address: str, deliveries: tuple[Delivery, ...]) -> None:
        """That call returned: they are read before the next round."""
        taken = self._joined(address, deliveries)
        self.read.update(taken)
        at = now_ms(self._clock)
        await self.flush(lambda tx: _each(taken, lambda message_id: words.read(tx, message_id, at)))

    async def failed(self, address: str, deliveries: tuple[Delivery, ...]) -> None:
        """It did not: they stay started, and the end of the turn carries them."""
        del address, deliveries
        await self.flush()

    def _joined(self, address: str, deliveries: Sequence[Delivery]) -> list[str]:
        """The person's words that count as read by this run: to everyone they are the entry agent's to read."""
        return [
            one.message.token
            for one in deliveries
            if one.message.token is not None
            and (address == self._entry_address or one.message.to not in (EVERYONE, self._entry_address))
        ]

    def _store(
        self,
        tx: Transaction,
        entries: Sequence[JournalEntry],
        also: Callable[[Transaction], None] | None,
        *,
        returned: bool,
    ) -> None:
        turn = self._turn
        transcripts.append(tx, turn.chat_id, turn.turn_id, [Entry(*entry) for entry in entries])
        if returned:
            turns.returned(tx, turn.turn_id, turn.chat_id, now_ms(self._clock))
        if also is not None:
            also(tx)

    def _shows_return(self, entry: JournalEntry) -> bool:
        """Whether this can only have happened after the first model call of the entry run returned."""
        if entry.address != self._entry_address:
            return False
        return entry.kind in _OF_A_RETURNED_CALL or (entry.kind == "round" and entry.facts.get("call") != 0)


def _each(message_ids: Sequence[str], change: Callable[[str], None]) -> None:
    for message_id in message_ids:
        change(message_id)
