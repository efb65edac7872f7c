"""The process that commands of tests are forked from: it has loaded everything, so that each begins at once.

Run by itself: for each order on the socket that it was given, it starts a command in a new session and process.
"""

import gc
import importlib
import json
import os
import signal
import socket
import sys
from typing import Any, NamedTuple

from restante.surface.cli.main import main

LOADED = (
    "pydantic_ai.models.function",
    "restante.running.agents",
    "restante.running.platform",
    "restante.surface.cli.dialogue_pipe",
    "restante.surface.cli.dialogue_terminal",
    "restante.surface.cli.live",
    "restante.surface.export",
)
STREAMS = 3
"""The handles that come first: standard input, output and error."""
ORDER_LIMIT = 200_000
HANDLES = 16


class Order(NamedTuple):
    """What to start. Of the handles, the first is for what became of it, and three are its standard streams."""

    arguments: list[str]
    folder: str
    environment: dict[str, str]
    handles: list[int]


def take_order(orders: socket.socket) -> Order | None:
    """The next order, in the process that is to carry it out; None in the first one when no order comes any more."""
    while True:
        data, handles, _, _ = socket.recv_fds(orders, ORDER_LIMIT, HANDLES)
        if not data:
            return None
        if os.fork() == 0:
            orders.close()
            _keep(handles)
            given: Any = json.loads(data)
            named: dict[str, int] = given["handles"]
            places = {name: str(handles[place]) for name, place in named.items()}
            return Order(given["arguments"], given["folder"], given["environment"] | places, handles[1:])
        for handle in handles:
            os.close(handle)


def _keep(handles: list[int]) -> None:
    """Go on in a child; the parent tells its id and its exit code, and ends."""
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    child = os.fork()
    if child == 0:
        os.close(handles[0])
        return
    for handle in handles[1:]:
        os.close(handle)
    os.write(handles[0], b"%d\n" % child)
    _, status = os.waitpid(child, 0)
    os.write(handles[0], b"%d\n" % os.waitstatus_to_exitcode(status))
    os._exit(0)


def become(order: Order) -> None:
    """Be like a process that was started for this command."""
    os.setsid()
    for number, handle in enumerate(order.handles[:STREAMS]):
        os.dup2(handle, number)
        os.close(handle)
    sys.stdin = sys.__stdin__ = open(0, encoding="utf-8", closefd=False)  # noqa: SIM115 - for good
    sys.stdout = sys.__stdout__ = open(1, "w", encoding="utf-8", closefd=False)  # noqa: SIM115
    sys.stderr = sys.__stderr__ = open(2, "w", buffering=1, encoding="utf-8", closefd=False)  # noqa: SIM115
    os.chdir(order.folder)
    os.environ.clear()
    os.environ.update(order.environment)
    sys.path[0] = ""
    sys.argv = ["restante", *order.arguments]


if __name__ == "__main__":
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # nobody waits for those that only report
    for module in LOADED:
        importlib.import_module(module)
    gc.freeze()
    to_do = take_order(socket.socket(fileno=int(sys.argv[1])))
    if to_do is not None:
        become(to_do)
        main()
