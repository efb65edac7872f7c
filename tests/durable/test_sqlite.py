"""The file: what is refused at the start, and what stays as it was."""

import asyncio
import json
import os
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from restante.durable.db.lock import Holder, find_holder, lock_path, lock_store
from restante.durable.db.migrate import migrations
from restante.durable.db.sqlite import open_sqlite, write_beside
from restante.errors import StoreUnavailable
from tests.durable.stores import NOON_MS, open_store

pytestmark = [pytest.mark.anyio, pytest.mark.timeout(30)]


async def _refusal(path: Path) -> StoreUnavailable:
    with pytest.raises(StoreUnavailable) as refused:
        async with open_store(path):
            pass
    return refused.value


async def test_a_store_is_made_once_and_keeps_its_identity(tmp_path: Path) -> None:
    seen: list[str] = []
    for _ in range(2):
        async with open_store(tmp_path / "s.db") as store:
            seen.append(await store.database.read(lambda tx: tx.store_id))

    assert seen[0] == seen[1]
    assert (tmp_path / "s.db").stat().st_mode & 0o777 == 0o600


async def test_every_commit_is_synced_before_its_answer(tmp_path: Path) -> None:
    async with open_sqlite(tmp_path / "s.db", lambda _: None, now_ms=NOON_MS) as database:
        modes = await database.write(
            lambda tx: [tx.all(f"PRAGMA {name}")[0][name] for name in ("synchronous", "journal_mode", "foreign_keys")]
        )

    assert modes == [2, "wal", 1]


async def test_a_newer_schema_is_refused_and_the_file_untouched(tmp_path: Path) -> None:
    path = tmp_path / "s.db"
    async with open_store(path):
        pass
    with sqlite3.connect(path) as newer:
        newer.execute("UPDATE store SET schema_version = ?", (migrations()[-1][0] + 1,))
    newer.close()
    before = path.read_bytes()

    refused = await _refusal(path)

    assert refused.field == "schema"
    assert path.read_bytes() == before


@pytest.mark.parametrize("content", [b"no store at all, by its header" * 200, b"SQLite format 3\0" + b"\xff" * 8000])
async def test_a_damaged_file_is_refused_and_stays_as_it_is(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "s.db"
    path.write_bytes(content)

    refused = await _refusal(path)

    assert refused.field == "damaged"
    assert path.read_bytes() == content


async def test_another_programs_file_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "s.db"
    with sqlite3.connect(path) as theirs:
        theirs.execute("CREATE TABLE cats (name)")
    theirs.close()

    assert (await _refusal(path)).field == "damaged"


async def test_a_folder_that_is_not_there_is_told_so(tmp_path: Path) -> None:
    assert (await _refusal(tmp_path / "nowhere" / "s.db")).field == "unreadable"


async def test_a_write_lock_of_another_program_is_waited_for_and_then_told(tmp_path: Path) -> None:
    path = tmp_path / "s.db"
    async with open_sqlite(path, lambda _: None, now_ms=NOON_MS, busy_timeout_s=0.05) as database:
        other = sqlite3.connect(path, isolation_level=None)
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(StoreUnavailable) as refused:
            await database.write(lambda tx: tx.next_sequence())
        other.execute("ROLLBACK")
        other.close()

        assert refused.value.field == "locked"
        assert refused.value.retry_after_seconds
        assert await database.write(lambda tx: tx.next_sequence()) == 1


def test_a_held_store_names_who_serves_it(tmp_path: Path) -> None:
    path = tmp_path / "s.db"
    with lock_store(path, "http://127.0.0.1:9") as lock:
        with pytest.raises(StoreUnavailable, match=r"127\.0\.0\.1:9") as refused, lock_store(path):
            pass
        lock.announce("http://127.0.0.1:10")
        holder = find_holder(path)

    assert refused.value.field == "in_use"
    assert holder is not None
    assert holder.address == "http://127.0.0.1:10"
    assert find_holder(path) is None


def test_the_lock_of_a_process_that_was_killed_is_free(tmp_path: Path) -> None:
    path = tmp_path / "s.db"
    script = (
        "import sys; from pathlib import Path; from restante.durable.db.lock import lock_store\n"
        "with lock_store(Path(sys.argv[1]), 'http://x'): print('held', flush=True); sys.stdin.read()"
    )
    with subprocess.Popen(
        [sys.executable, "-c", script, str(path)], stdout=subprocess.PIPE, stdin=subprocess.PIPE, text=True
    ) as holding:
        assert holding.stdout is not None
        assert holding.stdout.readline() == "held\n"
        assert find_holder(path) == Holder("http://x", holding.pid)
        holding.kill()
        holding.wait()

    assert json.loads(lock_path(path).read_text())["address"] == "http://x"
    with lock_store(path):
        pass


HOLDING = """
import sqlite3, sys
from pathlib import Path
from restante.durable.db.lock import lock_store
with lock_store(Path(sys.argv[1]), "http://x"):
    connection = sqlite3.connect(sys.argv[1])
    print("held", flush=True)
    sys.stdin.read()
    connection.close()
"""


@pytest.mark.parametrize("link", [Path.symlink_to, Path.hardlink_to])
def test_a_held_store_is_in_use_under_any_name(tmp_path: Path, link: Callable[[Path, Path], None]) -> None:
    path, alias = tmp_path / "s.db", tmp_path / "elsewhere" / "alias.db"
    alias.parent.mkdir()
    with subprocess.Popen(
        [sys.executable, "-c", HOLDING, str(path)], stdout=subprocess.PIPE, stdin=subprocess.PIPE, text=True
    ) as holding:
        assert holding.stdout is not None
        assert holding.stdout.readline() == "held\n"
        link(alias, path)

        assert find_holder(alias) == Holder("http://x", holding.pid)
        with pytest.raises(StoreUnavailable, match="http://x") as refused, lock_store(alias):
            pass
        holding.kill()

    assert refused.value.field == "in_use"
    assert find_holder(alias) is None


def test_looking_for_the_holder_leaves_its_locks_in_place(tmp_path: Path) -> None:
    path, alias = tmp_path / "s.db", tmp_path / "alias.db"
    with lock_store(path, "http://x"), closing(sqlite3.connect(path, isolation_level=None)) as connection:
        alias.hardlink_to(path)
        connection.execute("CREATE TABLE t (a)")
        connection.execute("BEGIN EXCLUSIVE")
        assert find_holder(alias) == find_holder(path) == Holder("http://x", os.getpid())
        with pytest.raises(StoreUnavailable, match="http://x"), lock_store(alias):
            pass
        script = "import sqlite3, sys; sqlite3.connect(sys.argv[1], timeout=0).execute('INSERT INTO t VALUES (1)')"
        other = subprocess.run([sys.executable, "-c", script, str(path)], capture_output=True, text=True, check=False)

    assert "database is locked" in other.stderr


def test_a_lock_file_that_cannot_be_made_is_told(tmp_path: Path) -> None:
    lock_path(tmp_path / "s.db").mkdir()

    with pytest.raises(StoreUnavailable), lock_store(tmp_path / "s.db"):
        pass


async def test_one_change_can_be_made_beside_whoever_holds_the_store(tmp_path: Path) -> None:
    path = tmp_path / "s.db"
    async with open_store(path) as store:
        beside = await asyncio.to_thread(write_beside, path, lambda tx: tx.next_sequence())
        after = await store.database.write(lambda tx: tx.next_sequence())

    assert (beside, after) == (1, 2)
