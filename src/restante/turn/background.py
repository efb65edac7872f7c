"""Background workers of a turn: who started them, what came of them, and how they end with the turn."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from restante.turn.clock import Clock
from restante.turn.notes import describe

Work = Callable[[], Awaitable[object]]
"""Runs the worker and gives its output."""


@dataclass(kw_only=True)
class Worker:
    """A run that its parent does not wait for."""

    address: str
    parent: str
    task: asyncio.Task[None]
    answered: bool = False
    output: object = None
    """What it answered, if it has."""
    error: str | None = None
    """Why it failed; None unless it did."""
    result_id: str | None = None
    """The id under which its result was handed over; None while it was not."""

    @property
    def live(self) -> bool:
        """Whether it goes on."""
        return not self.task.done()


class Background:
    """The background workers of one turn. Each task belongs to the turn's group; nothing of it outlives the turn."""

    def __init__(self, group: asyncio.TaskGroup) -> None:
        self._group = group
        self._workers: dict[str, Worker] = {}
        self._parents: dict[str, str] = {}
        """Who has spawned whom, those that are waited for included."""

    def spawned(self, address: str, parent: str) -> None:
        """A run with this address has been opened by another, in the background or not."""
        self._parents[address] = parent

    def start(self, address: str, parent: str, work: Work, ended: Callable[[], None]) -> None:
        """Start a worker, whose reader is open already. It makes its first step when the caller next waits.

        `ended` is called when it is over, also if it never came to its first step.
        """
        task = self._group.create_task(self._play(address, work))
        task.add_done_callback(lambda _: ended())
        self._workers[address] = Worker(address=address, parent=parent, task=task)

    async def _play(self, address: str, work: Work) -> None:
        try:
            output = await work()
        except Exception as error:  # noqa: BLE001 - the worker failed, which is a result for who awaits it
            self._workers[address].error = describe(error)
        else:
            self._workers[address].output = output
            self._workers[address].answered = True

    def live(self) -> list[Worker]:
        """Those that go on, in the order in which they started."""
        return [worker for worker in self._workers.values() if worker.live]

    def of(self, parent: str) -> list[Worker]:
        """Those that this run has started, ended or not."""
        return [worker for worker in self._workers.values() if worker.parent == parent]

    async def cancel(self, worker: Worker) -> None:
        """Cancel a worker and what it has started, and wait until they have ended."""
        await _none_left(lambda: [one for one in self.live() if self._is_within(one.address, worker.address)])

    def _is_within(self, address: str | None, ancestor: str) -> bool:
        while address is not None and address != ancestor:
            address = self._parents.get(address)
        return address is not None

    def stop(self) -> None:
        """Cancel all of them, without waiting."""
        for worker in self.live():
            worker.task.cancel()

    async def stopped(self) -> None:
        """Cancel all of them, and wait until they have ended."""
        await _none_left(self.live)

    async def end(self, grace_s: float, clock: Clock) -> None:
        """Wait until all have ended; when the seconds are over, cancel those that have not."""
        if not self.live():
            return
        async with asyncio.TaskGroup() as group:
            timer = group.create_task(clock.sleep(grace_s))
            # One that goes on may start others.
            while (tasks := [worker.task for worker in self.live()]) and not timer.done():
                await asyncio.wait([timer, *tasks], return_when=asyncio.FIRST_COMPLETED)
            timer.cancel()
        await self.stopped()


async def _none_left(live: Callable[[], list[Worker]]) -> None:
    # One that is about to end may have started another just before.
    while tasks := [worker.task for worker in live()]:
        for task in tasks:
            task.cancel()
        await asyncio.wait(tasks)
