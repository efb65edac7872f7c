"""The embedded store: a SQLite file in WAL mode, synced at each commit, with one writer and several readers."""

import asyncio
import os
import sqlite3
from collections.abc import AsyncGenerator, Callable, Generator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager, closing, contextmanager
from pathlib import Path
from queue import SimpleQueue
from typing import cast

from restante.durable.db.commits import Commits, Listener
from restante.durable.db.database import Committed, Row, T, Transaction, Value
from restante.durable.db.failures import failure_of
from restante.durable.db.migrate import check_schema, migrate, migrations, store_id_of
from restante.errors import StoreUnavailable

BUSY_TIMEOUT_S = 5.0
READERS = 4

_PRAGMAS = ("PRAGMA synchronous = FULL", "PRAGMA foreign_keys = ON", "PRAGMA temp_store = MEMORY")


class SqliteTransaction:
    """A transaction of a SQLite connection; `Transaction` says what each method promises."""

    def __init__(self, connection: sqlite3.Connection, store_id: str) -> None:
        self._connection = connection
        self.store_id = store_id
        self._topics: set[str] = set()
        self._newest: int | None = None

    def run(self, sql: str, *values: Value) -> int:
        return self._connection.execute(sql, values).rowcount

    def run_many(self, sql: str, rows: Sequence[Sequence[Value]]) -> None:
        self._connection.executemany(sql, rows)

    def first(self, sql: str, *values: Value) -> Row | None:
        return cast("Row | None", self._connection.execute(sql, values).fetchone())

    def all(self, sql: str, *values: Value) -> Sequence[Row]:
        return self._connection.execute(sql, values).fetchall()

    def next_sequence(self, count: int = 1) -> int:
        # Nobody else writes while this transaction is open, so it counts here and stores the sum once.
        if self._newest is None:
            row = self.first("SELECT sequence FROM store")
            assert row is not None  # noqa: S101  # the migration made the row
            self._newest = int(row["sequence"])
        self._newest += count
        return self._newest

    def wake(self, topic: str) -> None:
        self._topics.add(topic)

    def finish(self) -> None:
        """Store what the whole transaction has counted. It comes right before the commit."""
        if self._newest is not None:
            self.run("UPDATE store SET sequence = ?", self._newest)

    def committed(self) -> Committed:
        """What there is to tell, once this has been committed."""
        return Committed(frozenset(self._topics), self._newest)


class SqliteDatabase:
    """A `Database` on one SQLite file."""

    def __init__(self, connections: Sequence[sqlite3.Connection], listener: Listener) -> None:
        writer, *readers = connections
        self._store_id = store_id_of(writer)
        self._commits = Commits(writer, self._begin, listener)
        self._readers: SimpleQueue[sqlite3.Connection] = SimpleQueue()
        for connection in readers:
            self._readers.put(connection)
        self._pool = ThreadPoolExecutor(len(readers), thread_name_prefix="restante-reader")

    async def write(self, change: Callable[[Transaction], T]) -> T:
        return await self._commits.submit(change)

    async def read(self, question: Callable[[Transaction], T]) -> T:
        return await asyncio.get_running_loop().run_in_executor(self._pool, self._ask, question)

    def close(self) -> None:
        """Commit what still waits, end the threads and close the file."""
        self._commits.close()
        self._pool.shutdown()
        while not self._readers.empty():
            self._readers.get().close()

    def _begin(self, connection: sqlite3.Connection) -> SqliteTransaction:
        return SqliteTransaction(connection, self._store_id)

    def _ask(self, question: Callable[[Transaction], T]) -> T:
        connection = self._readers.get()
        try:
            connection.execute("BEGIN")
            try:
                return question(self._begin(connection))
            finally:
                connection.rollback()
        except sqlite3.Error as error:
            raise failure_of(error) from error
        finally:
            self._readers.put(connection)


@asynccontextmanager
async def open_sqlite(
    path: Path, listener: Listener, *, now_ms: int, busy_timeout_s: float = BUSY_TIMEOUT_S
) -> AsyncGenerator[SqliteDatabase]:
    """The store at `path`, made or brought to our schema if need be. `listener` hears of each commit, in the loop.

    Raises `StoreUnavailable`; the file is then as it was.
    """
    connections = await asyncio.to_thread(_open_all, path, now_ms, busy_timeout_s)
    database = SqliteDatabase(connections, listener)
    try:
        yield database
    finally:
        database.close()


def write_beside(path: Path, change: Callable[[Transaction], T], busy_timeout_s: float = BUSY_TIMEOUT_S) -> T:
    """Make one change while another process holds the store; what it returned. Nobody is woken. It may wait.

    Raises `StoreUnavailable`, also where the store has another schema than ours.
    """
    with _beside(path, busy_timeout_s) as connection:
        connection.execute("BEGIN IMMEDIATE")
        tx = SqliteTransaction(connection, store_id_of(connection))
        done = change(tx)
        tx.finish()
        connection.execute("COMMIT")
        return done


def read_beside(path: Path, question: Callable[[Transaction], T], busy_timeout_s: float = BUSY_TIMEOUT_S) -> T:
    """Run `question` on one unchanging view while another process holds the store, which goes on writing.

    Raises what `write_beside` does.
    """
    with _beside(path, busy_timeout_s) as connection:
        connection.execute("PRAGMA query_only = ON")
        connection.execute("BEGIN")
        return question(SqliteTransaction(connection, store_id_of(connection)))


@contextmanager
def _beside(path: Path, busy_timeout_s: float) -> Generator[sqlite3.Connection]:
    try:
        with closing(_connect(path, busy_timeout_s)) as connection:
            if check_schema(connection) != migrations()[-1][0]:
                raise StoreUnavailable("The store is in use by another version of restante.", field="schema")
            yield connection
    except sqlite3.Error as error:
        raise failure_of(error) from error


def _open_all(path: Path, now_ms: int, busy_timeout_s: float) -> list[sqlite3.Connection]:
    """The writer's connection, then the readers'."""
    connections: list[sqlite3.Connection] = []
    try:
        _make_private(path)
        connections.append(_connect(path, busy_timeout_s))
        check_schema(connections[0])
        connections[0].execute("PRAGMA journal_mode = WAL")
        migrate(connections[0], now_ms)
        for _ in range(READERS):
            connections.append(_connect(path, busy_timeout_s))
            connections[-1].execute("PRAGMA query_only = ON")
    except BaseException as error:
        for connection in connections:
            connection.close()
        if isinstance(error, sqlite3.Error):
            raise failure_of(error) from error
        raise
    return connections


def _connect(path: Path, busy_timeout_s: float) -> sqlite3.Connection:
    connection = sqlite3.connect(path, timeout=busy_timeout_s, isolation_level=None, check_same_thread=False)
    connection.row_factory = sqlite3.Row
    for pragma in _PRAGMAS:
        connection.execute(pragma)
    return connection


def _make_private(path: Path) -> None:
    """Make the file before SQLite does, so that nobody else may ever read it."""
    if path.exists() or not path.parent.is_dir():
        return
    os.close(os.open(path, os.O_CREAT | os.O_WRONLY, 0o600))
