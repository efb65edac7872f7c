"""How a tool of a run waits: it is woken by whatever may end the wait, and looks for itself."""

import asyncio
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, TypeVar

from restante.bus.reader import Reader
from restante.turn.clock import Clock

T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """What ends a wait at the latest, and what may end it besides mail."""

    seconds: float
    clock: Clock
    tasks: Iterable[asyncio.Task[Any]] = ()
    """The end of each of these is a reason to look."""


async def wait_until(reader: Reader, look: Callable[[bool], T | None], limits: Limits) -> T:
    """Wait until `look` finds something, and return that.

    It looks at once, after each ring of the reader, and a last time when the seconds are over; then it is told that
    the wait is late, and must find something. It never waits on mail that is there already, if it looks for mail.
    """
    loop = asyncio.get_running_loop()
    bell = asyncio.Event()

    def ring(_: object = None) -> None:
        bell.set()

    # Before the first look: what happens after it rings.
    stop = reader.subscribe(lambda: loop.call_soon_threadsafe(ring))
    for task in limits.tasks:
        task.add_done_callback(ring)
    try:
        async with asyncio.TaskGroup() as group:
            timer = group.create_task(limits.clock.sleep(limits.seconds))
            timer.add_done_callback(ring)
            while (found := look(timer.done())) is None:
                await bell.wait()
                bell.clear()
            timer.cancel()
    finally:
        stop()
        for task in limits.tasks:
            task.remove_done_callback(ring)
    return found
