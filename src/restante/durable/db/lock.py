"""The lock of a SQLite store: one process at a time, under whatever name, and the address at which it serves.

It is two locks. One is on a lock file beside the store, which holds the address. The other is on the store's own file,
since the store may have further names: it keeps out whoever comes by a hard link. Both are `flock`s, which SQLite's own
locks know nothing of.
"""

import fcntl
import json
import os
import threading
import time
from collections.abc import Generator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import NamedTuple

from restante.errors import StoreUnavailable

_TRIES = 5
_BETWEEN_TRIES_S = 0.01
_ATTRIBUTE = "user.restante.holder"
"""Of the store's file, where the file system has such attributes: the holder, for whoever comes by a hard link."""


class Holder(NamedTuple):
    """Who holds a store."""

    address: str | None
    """The URL of its server; None for a command that holds the store for a moment."""
    pid: int | None


class _Identity(NamedTuple):
    """Which file it is, under whatever name."""

    device: int
    inode: int


# Closing any handle of a file ends all locks that SQLite has on it in the same process. So the file of a store that
# this process holds is opened by nobody here but `lock_store`, which opens it before SQLite does and closes it after.
_held_here: dict[_Identity, Holder] = {}
_opening = threading.Lock()


class StoreLock:
    """The held lock. It is free again when this process ends, however it ends; the file stays."""

    def __init__(self, lock_file: int, store_file: int) -> None:
        self._lock_file = lock_file
        self._store_file = store_file

    def announce(self, address: str | None) -> None:
        """Write down where this process serves, for other processes to find."""
        holder = Holder(address, os.getpid())
        text = json.dumps(holder._asdict()).encode()
        os.ftruncate(self._lock_file, 0)
        os.pwrite(self._lock_file, text, 0)
        _held_here[_identity(os.fstat(self._store_file))] = holder
        with suppress(OSError, AttributeError):  # not every file system and system has attributes
            os.setxattr(self._store_file, _ATTRIBUTE, text)


@contextmanager
def lock_store(store: Path, address: str | None = None) -> Generator[StoreLock]:
    """Hold the store's lock while the block lasts; the file is made if need be. Open it in SQLite only in the block.

    Raises `StoreUnavailable`: it is `in_use`, and by whom, or a file cannot be opened.
    """
    with ExitStack() as stack:
        lock_file = _open(lock_path(store), os.O_RDWR)
        stack.callback(os.close, lock_file)
        if not _take_soon(lock_file):
            raise _in_use(store, _read(lock_file))
        store_file = _hold(store)
        stack.callback(_let_go, store_file)
        lock = StoreLock(lock_file, store_file)
        lock.announce(address)
        yield lock


def find_holder(store: Path) -> Holder | None:
    """Who holds the store at this moment; None if it is free. It takes nothing and makes no file."""
    return _holder_by_name(store) or _holder_by_file(store)


def lock_path(store: Path) -> Path:
    """Where the lock file of `store` is: beside the file itself, wherever a link to it is."""
    return Path(os.path.realpath(store) + ".lock")


def _hold(store: Path) -> int:
    """A handle of the store's file, with the lock on it."""
    with _opening:
        held_here = _find_held_here(store)
        if held_here is not None:
            raise _in_use(store, held_here)
        handle = _open(store, os.O_RDONLY)
        if _take_soon(handle):
            _held_here[_identity(os.fstat(handle))] = Holder(None, os.getpid())
            return handle
        holder = _read_attribute(handle)
        os.close(handle)
    raise _in_use(store, holder)


def _let_go(store_file: int) -> None:
    with _opening:
        _held_here.pop(_identity(os.fstat(store_file)), None)
        os.close(store_file)


def _holder_by_name(store: Path) -> Holder | None:
    try:
        handle = os.open(lock_path(store), os.O_RDONLY)
    except OSError:
        return None
    try:
        return None if _take(handle) else _read(handle)
    finally:
        os.close(handle)


def _holder_by_file(store: Path) -> Holder | None:
    with _opening:
        held_here = _find_held_here(store)
        if held_here is not None:
            return held_here
        try:
            handle = os.open(store, os.O_RDONLY | os.O_NONBLOCK)
        except OSError:
            return None
        try:
            return None if _take(handle) else _read_attribute(handle)
        finally:
            os.close(handle)


def _find_held_here(store: Path) -> Holder | None:
    try:
        return _held_here.get(_identity(store.stat()))
    except OSError:
        return None


def _identity(found: os.stat_result) -> _Identity:
    return _Identity(found.st_dev, found.st_ino)


def _open(path: Path, flags: int) -> int:
    try:
        # Made before SQLite makes it, so that nobody else may ever read it; a pipe in its place is not waited for.
        return os.open(path, flags | os.O_CREAT | os.O_NONBLOCK, 0o600)
    except OSError as error:
        raise StoreUnavailable(f"The file {path} cannot be opened: {error.strerror}.", field="unreadable") from error


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


def _read(lock_file: int) -> Holder:
    return _holder_of(os.pread(lock_file, 4096, 0))


def _read_attribute(store_file: int) -> Holder:
    try:
        return _holder_of(os.getxattr(store_file, _ATTRIBUTE))
    except (OSError, AttributeError):
        return Holder(None, None)


def _holder_of(text: bytes) -> Holder:
    try:
        found = json.loads(text)
        return Holder(found["address"], found["pid"])
    except (ValueError, KeyError, TypeError):  # the holder has not written it yet
        return Holder(None, None)


def _in_use(store: Path, holder: Holder) -> StoreUnavailable:
    process = f"process {holder.pid}" if holder.pid is not None else "another process"
    who = f"the server at {holder.address}" if holder.address is not None else process
    return StoreUnavailable(f"The store {store} is in use by {who}.", field="in_use")
