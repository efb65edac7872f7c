"""Whoever waits for something to be committed: parked reads, and those who watch a chat."""

import asyncio
from collections import defaultdict
from collections.abc import Awaitable, Callable, Collection, Generator
from contextlib import contextmanager
from typing import TypeVar

from restante.durable.db.database import Committed
from restante.running.clock import Clock

T = TypeVar("T")


class Bell:
    """What one waiter hears. It may ring for nothing: whoever hears it reads again."""

    def __init__(self) -> None:
        self._event = asyncio.Event()
        self.over = False
        """The time to wait is over."""

    def ring(self) -> None:
        """Wake the waiter, now or when it comes to wait."""
        self._event.set()

    async def wait(self) -> None:
        """Wait for a ring since the last wait."""
        await self._event.wait()
        self._event.clear()


class Waiters:
    """Who waits for which topic. A commit resolves them; a lost signal costs them a fallback check's interval."""

    def __init__(self, group: asyncio.TaskGroup, clock: Clock) -> None:
        self._group = group
        self._clock = clock
        self._bells: defaultdict[str, set[Bell]] = defaultdict(set)
        self.released = False
        """Nobody is to wait any more."""
        self.newest = 0
        """The highest sequence that was signalled."""

    def heard(self, committed: Committed) -> None:
        """A commit wakes whoever waits for its topics."""
        self.newest = max(self.newest, committed.newest or 0)
        for topic in committed.topics:
            for bell in self._bells.get(topic, ()):
                bell.ring()

    def ring_all(self) -> None:
        """Wake everyone: a signal was lost, or the time to wait is over for all."""
        for bells in self._bells.values():
            for bell in bells:
                bell.ring()

    def release(self) -> None:
        """From now on nobody waits: whoever does is answered with what there is."""
        self.released = True
        self.ring_all()

    @property
    def parked(self) -> int:
        """How many wait."""
        return sum(len(bells) for bells in self._bells.values())

    @contextmanager
    def park(self, topics: Collection[str]) -> Generator[Bell]:
        """A bell for these topics. Park before reading, so that nothing falls between the two."""
        bell = Bell()
        for topic in topics:
            self._bells[topic].add(bell)
        try:
            yield bell
        finally:
            for topic in topics:
                self._bells[topic].discard(bell)
                if not self._bells[topic]:
                    del self._bells[topic]

    async def wait_for(
        self, topic: str, read: Callable[[], Awaitable[T]], enough: Callable[[T], bool], seconds: float
    ) -> T:
        """What `read` gives as soon as it is `enough`, or what it gives when the time is over."""
        if seconds <= 0:
            return await read()
        with self.park([topic]) as bell:
            timer = self._group.create_task(self._end(bell, seconds))
            try:
                found = await read()
                while not (enough(found) or bell.over or self.released):
                    await bell.wait()
                    found = await read()
                return found
            finally:
                timer.cancel()

    async def _end(self, bell: Bell, seconds: float) -> None:
        await self._clock.sleep(seconds)
        bell.over = True
        bell.ring()
