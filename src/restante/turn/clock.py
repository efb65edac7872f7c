"""Time, as everything that waits here gets it: a parameter, so that a test can move it."""

import asyncio
import time
from typing import Protocol


class Clock(Protocol):
    """The time, and a way to wait for it."""

    def now(self) -> float:
        """The time, in seconds: only differences count."""
        ...

    async def sleep(self, seconds: float) -> None:
        """Wait."""
        ...


class MonotonicClock:
    """Seconds that no change of the machine's date moves."""

    def now(self) -> float:
        """Seconds since some moment."""
        return time.monotonic()

    async def sleep(self, seconds: float) -> None:
        """Wait."""
        await asyncio.sleep(seconds)
