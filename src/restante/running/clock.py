"""Time, as everything that runs here gets it: a parameter, so that a test can move it."""

import asyncio
import time
from typing import Protocol


class Clock(Protocol):
    """The time, and a way to wait for it."""

    def now(self) -> float:
        """Seconds since the epoch."""
        ...

    async def sleep(self, seconds: float) -> None:
        """Wait."""
        ...


class SystemClock:
    """The clock of the machine."""

    def now(self) -> float:
        return time.time()

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)


def now_ms(clock: Clock) -> int:
    """The time as rows hold it: milliseconds since the epoch."""
    return int(clock.now() * 1000)
