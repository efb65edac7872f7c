"""Drives the whole bus in a process where a file, a socket, a thread, a log line or a clock of the system ends it.

A script, run by `test_kernel.py` in a fresh interpreter.
"""

import _thread
import inspect
import sys
import threading
import time
from collections.abc import Iterator
from itertools import count
from typing import NoReturn


def refuse(*_: object) -> NoReturn:
    """Stands for what the bus may not use."""
    raise AssertionError("the bus used a clock of the system, or started a thread")


CLOCKS = ("time", "monotonic", "perf_counter", "sleep", "time_ns", "monotonic_ns", "perf_counter_ns")
for owner, name in (*((time, clock) for clock in CLOCKS), (_thread, "start_new_thread"), (threading.Thread, "start")):
    setattr(owner, name, refuse)
for name in ("logging", "asyncio", "socket"):
    sys.modules[name] = None  # type: ignore[assignment]  # which makes importing it an error
before = set(sys.modules)

from restante.bus import BusPolicy, MessageBus, Reader  # noqa: E402

PACKAGE = {"restante", "restante.errors", "restante.names", "restante.texts"}
new = {name for name in set(sys.modules) - before if name not in PACKAGE and not name.startswith("restante.bus")}
assert not {name for name in new if name.split(".")[0] not in sys.stdlib_module_names}, new


FORBIDDEN = ("open", "os", "socket", "subprocess", "import", "sqlite3", "ctypes")


def watch(event: str, _: object) -> None:
    """Fail on whatever leaves the process or starts something in it."""
    if event.partition(".")[0] in FORBIDDEN:
        raise AssertionError(f"the bus did this: {event}")


sys.addaudithook(watch)


def operations(owner: type) -> Iterator[str]:
    """Every public method."""
    return (name for name, _ in inspect.getmembers(owner, inspect.isfunction) if not name.startswith("_"))


done: set[str] = set()


def do(owner: MessageBus | Reader, operation: str, *args: object, **named: object) -> object:
    """Call an operation, which answers at once."""
    done.add(f"{type(owner).__name__}.{operation}")
    result = getattr(owner, operation)(*args, **named)
    assert not inspect.isawaitable(result), operation
    return result


def drive(policy: BusPolicy) -> None:
    """Call every operation of a bus and of its readers."""
    readings = count(100)
    told: list[float] = []
    bus = MessageBus(policy, clock=lambda: next(readings), sink=lambda entry: told.append(entry.at_s))
    entry, worker = bus.open_entry("assistant"), bus.open("researcher")
    for operation, args in (("open", ("coder",)), ("open_entry", ("assistant",)), ("send_person", ("hello",))):
        do(bus, operation, *args)
    do(bus, "send_external", "desk", "hello", message_id="x-1")
    do(worker, "send", "everyone", "hello")
    do(worker, "send", "nobody", "hello")
    with worker.waiting_for("coder#1"):
        done.add("Reader.waiting_for")
    stop = do(entry, "subscribe", lambda: None)
    do(entry, "question", "researcher#1", "which?")
    question_id = f"m{len(bus._ledger.mails)}"
    for operation in ("asked", "wait_again", "wait_no_more"):
        do(entry, operation, question_id)
    assert callable(stop)
    stop()
    for operation in ("has_mail", "drain", "returned", "sends", "drain_or_close"):
        do(worker, operation)
    for operation in ("drain", "failed", "drain_last"):
        do(entry, operation)
    do(entry, "close", "wrap-up")
    for operation, args in (
        ("roster", ()),
        ("fates", ("m1",)),
        ("unread_person", ()),
        ("person_words", ()),
        ("now_s", ()),
        ("refusal_of_person", ("hello", "nobody")),
        ("record", ()),
    ):
        do(bus, operation, *args)
    do(bus, "note", "round", "assistant", {"call": 0})
    do(bus, "close")
    assert told == sorted(told)
    assert all(0 < at_s < next(readings) for at_s in told)


drive(BusPolicy())
drive(BusPolicy.classic())
expected = {f"{owner.__name__}.{name}" for owner in (MessageBus, Reader) for name in operations(owner)}
assert done == expected, done ^ expected
