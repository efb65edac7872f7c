"""An event loop whose tasks take their steps in any order, and pauses of any length: one schedule for each seed."""

import asyncio
from collections.abc import Callable, Coroutine
from random import Random
from typing import Any, TypeVar, cast

T = TypeVar("T")

LONGEST_PAUSE = 12
"""In steps of the loop."""


class ShuffledLoop(asyncio.SelectorEventLoop):
    """What is ready is run in any order, and not in that in which it became ready."""

    def __init__(self, random: Random) -> None:
        super().__init__()
        self._random = random

    def _run_once(self) -> None:
        ready = cast("Any", self)._ready
        self._random.shuffle(ready)
        cast("Any", super())._run_once()


class Schedule:
    """One schedule: `play` runs a program under it, and `pause` waits for as long as it says."""

    def __init__(self, seed: int) -> None:
        self.random = Random(seed)

    async def pause(self, *_: object) -> None:
        """Let others go first, or not. It can be the `sleep` of a model."""
        for _step in range(self.random.randrange(LONGEST_PAUSE)):
            await asyncio.sleep(0)

    def play(self, main: Callable[[], Coroutine[Any, Any, T]]) -> T:
        """Run a program to its end."""
        with asyncio.Runner(loop_factory=lambda: ShuffledLoop(self.random)) as runner:
            return runner.run(main())
