"""Commands of `restante` in processes of their own, started at once by one that has loaded everything."""

import atexit
import json
import os
import select
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Mapping
from functools import cache
from pathlib import Path

SCRIPT = Path(__file__).with_name("loaded.py")
START_SECONDS = 60


class Command:
    """A command that runs."""

    def __init__(self, told: int) -> None:
        self._told = told
        self._lines: list[bytes] = [b""]
        self._code: int | None = None
        self.pid = self._next(START_SECONDS)

    def wait(self, seconds: float) -> int:
        """Wait until it has ended; its exit code, or the negative number of the signal that ended it."""
        if self._code is None:
            self._code = self._next(seconds)
            os.close(self._told)
        return self._code

    def send_signal(self, number: signal.Signals) -> None:
        """Send it a signal, if it runs."""
        if self._code is None:
            os.kill(self.pid, number)

    def kill(self) -> None:
        """End it at once, if it runs."""
        if self._code is None and not self._has_ended():
            os.kill(self.pid, signal.SIGKILL)

    def _has_ended(self) -> bool:
        return bool(len(self._lines) > 1 or select.select([self._told], [], [], 0)[0])

    def _next(self, seconds: float) -> int:
        """The next number that is told of it."""
        end = time.monotonic() + seconds
        while len(self._lines) == 1:
            ready, _, _ = select.select([self._told], [], [], max(end - time.monotonic(), 0))
            assert ready, "It neither started nor ended in time."
            data = os.read(self._told, 100)
            assert data, "Whoever reports on it is gone."
            self._lines = (self._lines[0] + data).split(b"\n")
        return int(self._lines.pop(0))


def start(
    *arguments: str,
    folder: Path,
    streams: tuple[int, int, int],
    environment: Mapping[str, str],
    handles: Mapping[str, int] | None = None,
) -> Command:
    """Start a command with these handles as its standard streams; variables name those that it gets beside them."""
    given = handles or {}
    order = {
        "arguments": arguments,
        "folder": str(folder),
        "environment": dict(environment),
        "handles": {name: place for place, name in enumerate(given, start=4)},
    }
    told, tells = os.pipe()
    socket.send_fds(_orders(), [json.dumps(order).encode()], [tells, *streams, *given.values()])
    os.close(tells)
    return Command(told)


@cache
def _orders() -> socket.socket:
    """Where orders are sent; from the first one on, for as long as the tests run."""
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    handle = theirs.fileno()
    # In a session of its own, so that a Ctrl-C that ends the tests lets it end by itself.
    loaded = subprocess.Popen([sys.executable, SCRIPT, str(handle)], pass_fds=[handle], start_new_session=True)
    theirs.close()

    @atexit.register
    def end() -> None:
        ours.close()
        loaded.wait()

    return ours
