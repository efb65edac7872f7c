"""Who wants to be rung when mail comes for a run, or when a run that it waits for has ended."""

from collections import deque
from collections.abc import Callable, Iterable

from restante.bus.run import Run

Ring = Callable[[], object]
"""Called outside the lock, from any thread. It hurries somebody, decides nothing, and never waits."""


class Rings:
    """The subscriptions of a turn. What is to be rung is noted under the lock of the bus and rung outside it."""

    def __init__(self) -> None:
        self.failure: Exception | None = None
        """What a ring raised last. It is not rung again; its run goes on without it."""
        self.due: deque[tuple[Run, Ring]] = deque()
        self._of_run: dict[Run, list[Ring]] = {}

    def add(self, run: Run, ring: Ring) -> None:
        """Ring for this run from now on."""
        self._of_run.setdefault(run, []).append(ring)

    def remove(self, run: Run, ring: Ring) -> None:
        """Ring no more. If it does not, nothing changes."""
        rings = self._of_run.get(run, [])
        if ring in rings:
            rings.remove(ring)
        if not rings:
            self._of_run.pop(run, None)

    def wake(self, runs: Iterable[Run]) -> None:
        """Something has happened that concerns these runs. Call it under the lock of the bus."""
        if self._of_run:
            self.due.extend((run, ring) for run in runs for ring in self._of_run.get(run, ()))

    def ring(self) -> None:
        """Ring whatever is due. Call it outside the lock of the bus."""
        while self.due:
            try:
                run, ring = self.due.popleft()
            except IndexError:  # another thread has rung the last one
                return
            try:
                ring()
            except Exception as error:  # noqa: BLE001 - a ring is somebody else's code; its failure is a fact
                self.failure = error
                self.remove(run, ring)
