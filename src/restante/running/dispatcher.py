"""The dispatcher takes queued turns and runs them: different chats at the same time, one chat's one by one."""

import asyncio
import logging

from restante.durable import lanes, turns
from restante.durable.db.database import Committed
from restante.durable.topics import LANE
from restante.durable.turns import Claimed
from restante.errors import StoreUnavailable
from restante.running.clock import now_ms
from restante.running.player import Engine, Player
from restante.running.recorder import RETRY_S

logger = logging.getLogger(__name__)


class Dispatcher:
    """Runs the lanes of every chat. Each turn is a task of its own."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._due: dict[str, None] = {}
        """Chats in which a turn may wait, in order of arrival."""
        self._busy: set[str] = set()
        """Chats that are being looked at, or run a turn."""
        self._bell = asyncio.Event()

    def heard(self, committed: Committed) -> None:
        """A commit put a turn into a lane, or freed one."""
        for topic in committed.topics:
            if topic.startswith(LANE):
                self._wake(topic.removeprefix(LANE))

    async def look_again(self) -> None:
        """Look for lanes in the store: at the start, and when a signal may have been lost."""
        for chat_id in await self._engine.database.read(lanes.list_lanes):
            self._wake(chat_id)

    async def run(self) -> None:
        """Start what waits, whenever something may, until this is cancelled."""
        while True:
            await self._bell.wait()
            self._bell.clear()
            for chat_id in list(self._due):
                if len(self._busy) >= self._engine.config.limits.parallel_turns:
                    break
                if chat_id not in self._busy:
                    del self._due[chat_id]
                    self._busy.add(chat_id)
                    self._engine.group.create_task(self._step(chat_id))

    def _wake(self, chat_id: str) -> None:
        self._due[chat_id] = None
        self._bell.set()

    async def _step(self, chat_id: str) -> None:
        """Run the next turn of a lane, if one waits."""
        try:
            claimed = await self._claim(chat_id)
            if claimed is not None:
                await Player(self._engine, claimed).play()
        except StoreUnavailable as error:
            logger.warning("The lane of %s waits: %s", chat_id, error.message)
            await self._engine.clock.sleep(RETRY_S)
            self._due[chat_id] = None
        finally:
            self._busy.discard(chat_id)
            self._bell.set()

    async def _claim(self, chat_id: str) -> Claimed | None:
        at = now_ms(self._engine.clock)
        return await self._engine.database.write(lambda tx: turns.take_next(tx, chat_id, at))
