"""A clock that stands still until a test moves it."""

import asyncio
import heapq
from itertools import count

SETTLE_LIMIT = 100_000


class FakeClock:
    """Time in seconds, from `start`. Give `clock.now` where a clock is asked for and `clock.sleep` where one waits."""

    def __init__(self, start: float = 0.0) -> None:
        self._now = start
        self._sleepers: list[tuple[float, int, asyncio.Future[None]]] = []
        self._order = count()

    def now(self) -> float:
        """The time, in seconds."""
        return self._now

    async def sleep(self, seconds: float) -> None:
        """Wait until the clock has been moved by `seconds`; at once if that is none."""
        if seconds <= 0:
            await asyncio.sleep(0)
            return
        woken = asyncio.get_running_loop().create_future()
        heapq.heappush(self._sleepers, (self._now + seconds, next(self._order), woken))
        await woken

    async def advance(self, seconds: float) -> None:
        """Move the clock. Each sleeper wakes at its moment, in order, and gets as far as it can before the next."""
        until = self._now + seconds
        await self.settle()
        while self._sleepers and self._sleepers[0][0] <= until:
            moment, _, woken = heapq.heappop(self._sleepers)
            if woken.done():
                continue
            self._now = max(self._now, moment)
            woken.set_result(None)
            await self.settle()
        self._now = until

    async def settle(self) -> None:
        """Let everything run that waits for nothing but its turn. What waits for a thread is not waited for."""
        loop = asyncio.get_running_loop()
        for _ in range(SETTLE_LIMIT):
            await asyncio.sleep(0)
            if not getattr(loop, "_ready", ()):
                return
        raise TimeoutError("The event loop never came to rest: something turns in it without waiting.")
