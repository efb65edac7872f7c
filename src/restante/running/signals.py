"""Signals: what a commit has to tell reaches everyone who listens in this process."""

from collections.abc import Callable

from restante.durable.db.database import Committed


class Signals:
    """Passes each commit on. The store is opened before anybody listens, so it gets this to tell."""

    def __init__(self) -> None:
        self._listeners: list[Callable[[Committed], None]] = []

    def add(self, listener: Callable[[Committed], None]) -> None:
        """From now on `listener` hears of each commit."""
        self._listeners.append(listener)

    def tell(self, committed: Committed) -> None:
        """A commit was made."""
        for listener in self._listeners:
            listener(committed)
