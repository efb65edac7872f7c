"""The lock file beside a SQLite store: one process at a time, and the address at which it serves."""

import fcntl
import json
import os
import time
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from restante.errors import StoreUnavailable

_TRIES = 5
_BETWEEN_TRIES_S = 0.01


class Holder(NamedTuple):
    """Who holds a store."""

    address: str | None
    """The URL of its server; None for a command that holds the store for a moment."""
    pid: int | None


class StoreLock:
    """The held lock. It is free again when this process ends, however it ends; the file stays."""

    def __init__(self, handle: int) -> None:
        self._handle = handle

    def announce(self, address: str | None) -> None:
        """Write down where this process serves, for other processes to find."""
        text = json.dumps({"address": address, "pid": os.getpid()})
        os.ftruncate(self._handle, 0)
        os.pwrite(self._handle, text.encode(), 0)


@contextmanager
def lock_store(store: Path, address: str | None = None) -> Generator[StoreLock]:
    """Hold the store's lock while the block lasts.

    Raises `StoreUnavailable`: it is `in_use`, and by whom, or the lock file cannot be made.
    """
    handle = _open(lock_path(store))
    try:
        if not _take_soon(handle):
            raise _in_use(store, _read(handle))
        lock = StoreLock(handle)
        lock.announce(address)
        yield lock
    finally:
        os.close(handle)


def find_holder(store: Path) -> Holder | None:
    """Who holds the store at this moment; None if it is free. It takes nothing and makes no file."""
    try:
        handle = os.open(lock_path(store), os.O_RDONLY)
    except OSError:
        return None
    try:
        return None if _take(handle) else _read(handle)
    finally:
        os.close(handle)


def lock_path(store: Path) -> Path:
    """Where the lock file of `store` is."""
    return store.with_name(store.name + ".lock")


def _open(path: Path) -> int:
    try:
        return os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    except OSError as error:
        raise StoreUnavailable(f"The lock file {path} cannot be made: {error.strerror}.", field="unreadable") from error


def _take_soon(handle: int) -> bool:
    """Try a few times: `find_holder` of another process has the lock for a moment, too."""
    for _ in range(_TRIES):
        if _take(handle):
            return True
        time.sleep(_BETWEEN_TRIES_S)
    return False


def _take(handle: int) -> bool:
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _read(handle: int) -> Holder:
    try:
        found = json.loads(os.pread(handle, 4096, 0))
        return Holder(found["address"], found["pid"])
    except (ValueError, KeyError, TypeError):  # the holder has not written it yet
        return Holder(None, None)


def _in_use(store: Path, holder: Holder) -> StoreUnavailable:
    process = f"process {holder.pid}" if holder.pid is not None else "another process"
    who = f"the server at {holder.address}" if holder.address is not None else process
    return StoreUnavailable(f"The store {store} is in use by {who}.", field="in_use")
