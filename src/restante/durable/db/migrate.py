"""Bringing a store to the schema that this version knows: numbered files, one transaction."""

import sqlite3
from collections.abc import Iterator
from importlib.resources import files

from restante.durable.ids import new_id
from restante.errors import StoreUnavailable

_FOLDER = files("restante.durable.db") / "migrations"


def migrations() -> list[tuple[int, str]]:
    """Each migration's number and SQL, in order; the number is the schema version that it leads to."""
    named = sorted((each.name, each.read_text(encoding="utf-8")) for each in _FOLDER.iterdir() if _is_sql(each.name))
    return [(int(name.split("_")[0]), sql) for name, sql in named]


def check_schema(connection: sqlite3.Connection) -> int:
    """The schema version of the store, 0 for an empty file. Changes nothing.

    Raises `StoreUnavailable` for a schema from the future and for a file that is another program's.
    """
    tables = {row[0] for row in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
    if not tables:
        return 0
    if "store" not in tables:
        raise StoreUnavailable("This SQLite file is no store of restante. Name another file.", field="damaged")
    found = int(connection.execute("SELECT schema_version FROM store").fetchone()[0])
    newest = migrations()[-1][0]
    if found > newest:
        raise StoreUnavailable(
            f"The store has schema {found}; this version knows {newest} and has not touched it. "
            "Use the version that made it, or a newer one.",
            field="schema",
        )
    return found


def migrate(connection: sqlite3.Connection, now_ms: int) -> None:
    """Run what is missing, wholly or not at all. A new store gets its identity here, once."""
    connection.execute("BEGIN IMMEDIATE")
    try:
        found = check_schema(connection)
        for number, sql in migrations():
            if number > found:
                for statement in _statements(sql):
                    connection.execute(statement)
                if number == 1:
                    row = (new_id("store"), number, now_ms)
                    connection.execute("INSERT INTO store VALUES (1, ?, ?, 0, ?)", row)
                connection.execute("UPDATE store SET schema_version = ?", (number,))
        connection.execute("COMMIT")
    except BaseException:
        connection.rollback()
        raise


def store_id_of(connection: sqlite3.Connection) -> str:
    """The identity of a store that has been migrated."""
    return str(connection.execute("SELECT store_id FROM store").fetchone()[0])


def _is_sql(name: str) -> bool:
    return name.endswith(".sql")


def _statements(sql: str) -> Iterator[str]:
    statement = ""
    for line in sql.splitlines(keepends=True):
        statement += line
        if sqlite3.complete_statement(statement):
            yield statement
            statement = ""
