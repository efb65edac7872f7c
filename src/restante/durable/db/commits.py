"""Group commit: one thread that commits together whatever waits."""

import asyncio
import sqlite3
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from queue import Empty, SimpleQueue
from typing import Any, NamedTuple, Protocol

from restante.durable.db.database import Committed, T, Transaction
from restante.durable.db.failures import failure_of

Listener = Callable[[Committed], None]
"""Hears, in the event loop, of each commit that took a sequence or has somebody to wake."""


class _Tells(Transaction, Protocol):
    def finish(self) -> None: ...
    def committed(self) -> Committed: ...


@dataclass(slots=True, eq=False)
class _Job:
    change: Callable[[Transaction], Any]
    answer: asyncio.Future[Any]


class _Settled(NamedTuple):
    job: _Job
    result: Any
    error: Exception | None


class Commits:
    """The one writer of a store.

    There is no timer: the batch is whatever waits when the last one is done. It runs as one transaction without
    savepoints; if any of it fails, it is rolled back and each change runs alone, so that an error is its caller's own.
    """

    def __init__(
        self, connection: sqlite3.Connection, begin: Callable[[sqlite3.Connection], _Tells], listener: Listener
    ) -> None:
        self._connection = connection
        self._begin = begin
        self._listener = listener
        self._loop = asyncio.get_running_loop()
        self._waiting: SimpleQueue[_Job | None] = SimpleQueue()
        self._thread = threading.Thread(target=self._serve, name="restante-writer")
        self._thread.start()

    def submit(self, change: Callable[[Transaction], T]) -> asyncio.Future[T]:
        """Have `change` committed; its result, or what went wrong, comes with the future."""
        answer: asyncio.Future[T] = self._loop.create_future()
        self._waiting.put(_Job(change, answer))
        return answer

    def close(self) -> None:
        """Commit what waits, then end the thread and close the connection."""
        self._waiting.put(None)
        self._thread.join()
        self._connection.close()

    def _serve(self) -> None:
        closing = False
        while not closing:
            batch: list[_Job] = []
            closing = self._take(batch)
            if batch:
                self._commit(batch)

    def _take(self, batch: list[_Job]) -> bool:
        """Put whatever waits into `batch`, waiting for the first; whether it is time to end."""
        job = self._waiting.get()
        while job is not None:
            batch.append(job)
            try:
                job = self._waiting.get_nowait()
            except Empty:
                return False
        return True

    def _commit(self, batch: Sequence[_Job]) -> None:
        try:
            if self._connection.in_transaction:  # the last one could not be rolled back
                self._connection.rollback()
            self._connection.execute("BEGIN IMMEDIATE")
        except sqlite3.Error as error:
            # Nobody's change is at fault, and trying each alone would only wait again for each.
            self._hand_out([_Settled(job, None, failure_of(error)) for job in batch], None)
            return
        try:
            tx = self._begin(self._connection)
            settled = [_Settled(job, job.change(tx), None) for job in batch]
            tx.finish()
            self._connection.execute("COMMIT")
        except Exception as error:  # noqa: BLE001  # a change is the caller's code; what it raises is its answer
            self._undo(batch, error)
        else:
            self._hand_out(settled, tx.committed())

    def _undo(self, batch: Sequence[_Job], error: Exception) -> None:
        try:
            self._connection.rollback()
        except sqlite3.Error as failure:
            # The writer goes on: whether the next change can begin is found out there.
            self._hand_out([_Settled(job, None, failure_of(failure)) for job in batch], None)
        else:
            self._retry(batch, error)

    def _retry(self, batch: Sequence[_Job], error: Exception) -> None:
        if len(batch) == 1:
            told = failure_of(error) if isinstance(error, sqlite3.Error) else error
            self._hand_out([_Settled(batch[0], None, told)], None)
            return
        for job in batch:
            self._commit([job])

    def _hand_out(self, settled: Sequence[_Settled], committed: Committed | None) -> None:
        self._loop.call_soon_threadsafe(self._tell, settled, committed)

    def _tell(self, settled: Sequence[_Settled], committed: Committed | None) -> None:
        for job, result, error in settled:
            if job.answer.done():  # its caller went away; the commit stands
                continue
            if error is not None:
                job.answer.set_exception(error)
            else:
                job.answer.set_result(result)
        if committed is not None and (committed.topics or committed.newest is not None):
            self._listener(committed)
