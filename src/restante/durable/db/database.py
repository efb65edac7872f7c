"""The store as the rules see it: a transaction to ask and to change, and a database that runs functions of one."""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, Protocol, TypeVar

T = TypeVar("T")

Value = str | int | float | bytes | None
"""What a column may hold."""


class Row(Protocol):
    """One row of an answer, by the names of its columns."""

    def __getitem__(self, column: str, /) -> Any: ...


class Transaction(Protocol):
    """What the rules are functions of. SQL here is the part that every engine understands, with `?` for values."""

    @property
    def store_id(self) -> str:
        """The identity of the store, made once."""
        ...

    def run(self, sql: str, *values: Value) -> int:
        """Change something; how many rows changed."""
        ...

    def run_many(self, sql: str, rows: Sequence[Sequence[Value]]) -> None:
        """Make the same change for each of `rows`."""
        ...

    def first(self, sql: str, *values: Value) -> Row | None:
        """The first row of the answer, if it has one."""
        ...

    def all(self, sql: str, *values: Value) -> Sequence[Row]:
        """Every row of the answer."""
        ...

    def next_sequence(self, count: int = 1) -> int:
        """Take `count` numbers that rise in the order of commits over the whole store; the last of them.

        Take them late: from here on the change stands in everyone's way until it is committed.
        """
        ...

    def wake(self, topic: str) -> None:
        """Once this is committed, and only then, whoever waits for `topic` is told."""
        ...


class Committed(NamedTuple):
    """What a commit has to tell."""

    topics: frozenset[str]
    """Whom to wake."""
    newest: int | None
    """The highest sequence that it took, if it took any."""


class Database(Protocol):
    """One store. A change is a function that may run again, so it does nothing but ask and change its transaction."""

    async def write(self, change: Callable[[Transaction], T]) -> T:
        """Run `change` and commit it; what it returned. What it raises stores nothing.

        Raises `StoreUnavailable`. A caller that is cancelled meanwhile undoes nothing.
        """
        ...

    async def read(self, question: Callable[[Transaction], T]) -> T:
        """Run `question` on one unchanging view of everything that was committed before.

        Raises `StoreUnavailable`.
        """
        ...


def count_of(row: Row | None) -> int:
    """The number in the first column, named `n`, of an answer that always has a row."""
    return 0 if row is None else int(row["n"])
