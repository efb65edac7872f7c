"""A server is killed at random moments while clients send and retry. No accepted message is lost, none runs twice.

`RESTANTE_KILLS` says how often (10), `RESTANTE_SEED` repeats a run.
"""

import asyncio
import itertools
import os
import random
import secrets
import signal
import socket
import sqlite3
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Any

import pytest

from restante.client import Client
from restante.durable import principals
from restante.durable.db.sqlite import open_sqlite
from tests.kills.server import NAMES

KILLS = int(os.environ.get("RESTANTE_KILLS", "10"))
SEED = int(os.environ.get("RESTANTE_SEED", secrets.randbelow(1_000_000)))
CLIENTS = 8
SENDS = 3
"""What each client sends between two kills, at most."""
JITTER_S = 0.02
LIMIT_S = 60.0

pytestmark = pytest.mark.timeout(60 + 20 * KILLS)


class Servers:
    """One server after another, each in a process of its own, on the same store and port."""

    def __init__(self, folder: Path, port: int, stack: ExitStack) -> None:
        self._errors = folder / "errors.log"
        self._starter = stack.enter_context(
            subprocess.Popen(
                [
                    sys.executable,
                    "-m",
                    "tests.kills.server",
                    str(folder / "store.db"),
                    str(port),
                    str(folder / "runs.log"),
                ],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=stack.enter_context(self._errors.open("w")),
                text=True,
            )
        )
        stack.callback(self._starter.kill)
        self._serving = 0

    def start(self) -> None:
        assert self._starter.stdin is not None
        self._starter.stdin.write("go\n")
        self._starter.stdin.flush()
        line = self._told()
        assert line.isdecimal(), self._errors.read_text()
        self._serving = int(line)

    def end(self, how: signal.Signals) -> None:
        os.kill(self._serving, how)
        assert self._told() == f"ended {-how if how is signal.SIGKILL else 0}"

    def _told(self) -> str:
        assert self._starter.stdout is not None
        return self._starter.stdout.readline().strip()


class Senders:
    """Clients that send, each its own texts, and repeat what was not answered under the same submission id."""

    def __init__(self, url: str, token: str) -> None:
        self._url, self._token = url, token
        self._changed = threading.Condition()
        self._allowed = 0
        self._over = False
        self.receipts: dict[str, dict[str, Any]] = {}
        self.failures: list[str] = []
        self._threads = [threading.Thread(target=self._work, args=(number,)) for number in range(CLIENTS)]

    def start(self) -> None:
        for thread in self._threads:
            thread.start()

    def allow(self, sends: int) -> None:
        """Each client may send so many more."""
        with self._changed:
            self._allowed += sends
            self._changed.notify_all()

    def wait_for(self, count: int) -> None:
        """Wait until so many receipts have come."""
        with self._changed:
            assert self._changed.wait_for(lambda: len(self.receipts) >= count or self.failures, LIMIT_S)
        assert not self.failures

    def finish(self) -> None:
        with self._changed:
            self._over = True
            self._changed.notify_all()
        for thread in self._threads:
            thread.join(LIMIT_S)

    def _work(self, number: int) -> None:
        with Client(self._url, self._token, delays_s=(0.02,) * 1500) as client:
            inbox: str | None = None
            for step in self._steps():
                text = f"client {number} message {step}"
                to = {"target": NAMES[number % len(NAMES)]} if inbox is None or step % 3 == 0 else {"inbox_id": inbox}
                try:
                    receipt = client.send(text, submission_id=text, **to)
                except Exception as error:  # noqa: BLE001  # whatever it is, the test tells it
                    self._note(text, {}, repr(error))
                    return
                inbox = receipt["inbox_id"]
                self._note(text, receipt)

    def _steps(self) -> Iterator[int]:
        for step in itertools.count():
            with self._changed:
                while step >= self._allowed and not self._over:
                    self._changed.wait()
                if step >= self._allowed:
                    return
            yield step

    def _note(self, text: str, receipt: dict[str, Any], failure: str | None = None) -> None:
        with self._changed:
            self.receipts[text] = receipt
            if failure is not None:
                self.failures.append(f"{text}: {failure}")
            self._changed.notify_all()


def _token(store: Path) -> str:
    async def make() -> str:
        async with open_sqlite(store, lambda _: None, now_ms=0) as database:
            return (await database.write(lambda tx: principals.create_token(tx, "ci", 0))).token

    return asyncio.run(make())


def _free_port() -> int:
    with closing(socket.create_server(("127.0.0.1", 0))) as listening:
        return listening.getsockname()[1]


def _wait_until_settled(url: str, token: str) -> None:
    """Ask for what still waits until nothing does."""
    with Client(url, token) as client:
        for state in ("queued", "started", "read"):
            while client.states(state=state)["states"]:
                client.wait(after=2**62, seconds=0.1)


def test_killed_at_random_moments_no_message_is_lost_and_none_runs_twice(tmp_path: Path) -> None:
    sys.stdout.write(f"RESTANTE_SEED={SEED}\n")
    dice = random.Random(SEED)
    port, token = _free_port(), _token(tmp_path / "store.db")
    senders = Senders(f"http://127.0.0.1:{port}", token)
    with ExitStack() as stack:
        servers = Servers(tmp_path, port, stack)
        stack.callback(senders.finish)
        servers.start()
        senders.start()
        for _ in range(KILLS):
            before = len(senders.receipts)
            senders.allow(SENDS)
            senders.wait_for(before + dice.randint(1, CLIENTS * SENDS))
            threading.Event().wait(dice.random() * JITTER_S)
            servers.end(signal.SIGKILL)
            servers.start()
        senders.allow(1)
        senders.wait_for(CLIENTS * (KILLS * SENDS + 1))
        senders.finish()
        _wait_until_settled(f"http://127.0.0.1:{port}", token)
        servers.end(signal.SIGTERM)

    _check(tmp_path, senders.receipts)


def _check(folder: Path, receipts: dict[str, dict[str, Any]]) -> None:
    runs = Counter((folder / "runs.log").read_text().splitlines())
    with closing(sqlite3.connect(folder / "store.db")) as store:
        assert store.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        rows = store.execute("SELECT message_id, text, state, read_at FROM messages ORDER BY sequence").fetchall()
        turns = Counter(state for (state,) in store.execute("SELECT state FROM turns"))
    sent = {text: (message_id, state) for message_id, text, state, _ in rows if not text.startswith("re: ")}
    replies = Counter(text.removeprefix("re: ") for _, text, _, _ in rows if text.startswith("re: "))
    sys.stdout.write(f"{len(receipts)} receipts; turns: {dict(turns)}\n")

    assert {text: receipt["message_id"] for text, receipt in receipts.items()} == {
        text: message_id for text, (message_id, _) in sent.items()
    }
    assert len(sent) + replies.total() == len(rows)
    assert turns.keys() <= {"ended_ok", "interrupted"}
    for text, (_, state) in sent.items():
        assert (state, runs[text], replies[text]) in {
            ("ended_ok", 1, 1),
            ("interrupted", 1, 1),
            ("interrupted", 1, 0),
            ("interrupted", 0, 0),
        }, text
