"""Real stores for tests of the rules."""

from collections.abc import AsyncGenerator, Iterable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import cast

from restante.durable import agents, principals, sends
from restante.durable.callers import Caller
from restante.durable.db.database import Committed, Transaction
from restante.durable.db.sqlite import SqliteDatabase, open_sqlite
from restante.durable.sends import Receipt, SendRequest, SendRules

NOON_MS = 1_800_000_000_000


@dataclass
class Store:
    """An open store with the agents `scout` and `editor`, and what its commits told."""

    database: SqliteDatabase
    told: list[Committed] = field(default_factory=list[Committed])
    now_ms: int = NOON_MS
    messages_per_hour: int = 1000

    async def principal(self, label: str) -> Caller:
        made = await self.database.write(lambda tx: principals.create_token(tx, label, self.now_ms))
        return await self.database.read(lambda tx: principals.get_caller(tx, made.token))

    async def send(self, caller: Caller, request: SendRequest) -> Receipt:
        rules = SendRules(
            text_max=20_000,
            submission_id_max=128,
            messages_per_hour=self.messages_per_hour,
            now_ms=self.now_ms,
        )
        sends.check_send(request, rules)
        return await self.database.write(lambda tx: sends.accept(tx, caller, request, rules))

    async def dump(self) -> dict[str, list[tuple[object, ...]]]:
        """Every row of every table."""
        return await self.database.read(_dump)


def _dump(tx: Transaction) -> dict[str, list[tuple[object, ...]]]:
    tables = [row["name"] for row in tx.all("SELECT name FROM sqlite_master WHERE type = 'table'")]
    return {table: [tuple(row) for row in _all(tx, table)] for table in tables}


def _all(tx: Transaction, table: str) -> Iterable[Iterable[object]]:
    return cast("Iterable[Iterable[object]]", tx.all(f"SELECT * FROM {table}"))  # noqa: S608  # a name from the store


@asynccontextmanager
async def open_store(path: Path) -> AsyncGenerator[Store]:
    told: list[Committed] = []
    async with open_sqlite(path, told.append, now_ms=NOON_MS) as database:
        await database.write(lambda tx: agents.sync_agents(tx, {"scout": True, "editor": True}, NOON_MS))
        yield Store(database, told)
