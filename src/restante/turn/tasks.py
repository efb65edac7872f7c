"""The tasks in which the library runs an agent."""

import asyncio
from typing import Any


class Tasks:
    """The tasks of one run, as far as its mailbox is called in them.

    The library leaves some of them waiting for ever if the run is cancelled just when they have begun.
    """

    def __init__(self) -> None:
        self._tasks: set[asyncio.Task[Any]] = set()

    def joined_by_this(self) -> None:
        """The task that calls belongs to the run."""
        task = asyncio.current_task()
        if task is not None and task not in self._tasks:
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

    async def end(self) -> None:
        """The run is over: cancel those that are not done, and wait for them."""
        left = self._tasks - {asyncio.current_task()}
        for task in left:
            task.cancel()
        if left:
            await asyncio.gather(*left, return_exceptions=True)
