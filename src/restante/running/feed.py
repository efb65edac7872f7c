"""What happens in a chat, for people who watch: read from the store, as soon as it is there."""

from collections.abc import AsyncGenerator
from functools import partial

from restante.bus.entry import JournalEntry
from restante.durable import chats, lanes, transcripts
from restante.durable.db.database import Database, Transaction
from restante.durable.topics import chat_topic
from restante.durable.transcripts import StoredEntry
from restante.running.waiters import Waiters

AT_ONCE = 500
"""Entries that are read together."""


class Feed:
    """The journals of a chat's turns, stored and still to come, by one way."""

    def __init__(self, database: Database, waiters: Waiters) -> None:
        self._database = database
        self._waiters = waiters

    async def watch(self, chat_id: str, after: int) -> AsyncGenerator[JournalEntry]:
        """Every entry after a sequence, once and in order; ends when no turn runs or waits.

        Ends, too, when the process is to stop. Raises `NotFound`.
        """
        await self._database.read(lambda tx: chats.get_chat(tx, chat_id))
        with self._waiters.park([chat_topic(chat_id)]) as bell:
            while True:
                entries, idle = await self._database.read(partial(_news, chat_id=chat_id, after=after))
                for entry in entries:
                    yield JournalEntry(*entry.entry)
                    after = entry.sequence
                if entries:
                    continue
                if idle or self._waiters.released:
                    return
                await bell.wait()


def _news(tx: Transaction, chat_id: str, after: int) -> tuple[list[StoredEntry], bool]:
    return transcripts.read_after(tx, chat_id, after, AT_ONCE), lanes.is_idle(tx, chat_id)
