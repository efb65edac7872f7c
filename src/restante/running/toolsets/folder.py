"""A folder that nothing leads out of: files are opened step by step from it, and no symbolic link is followed."""

import errno
import os
import secrets
import stat
from collections.abc import Generator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import NamedTuple

from restante.errors import InvalidArguments, NotFound

FILE_MAX = 5_000_000
"""Bytes of a file that is read or written."""
PART = ".restante-part-"
"""What the name of a file begins with while it is being written."""

_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
# Whoever opens a pipe without O_NONBLOCK waits for the other end.
_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_NEW_FILE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC

_KINDS = {
    stat.S_IFDIR: "a folder",
    stat.S_IFLNK: "a symbolic link, and those are not followed",
    stat.S_IFIFO: "a pipe",
    stat.S_IFSOCK: "a socket",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
}


class Entry(NamedTuple):
    """What a folder holds."""

    name: str
    kind: str
    """`file`, or in words what else it is."""
    size: int
    """Bytes, of a file."""


class Folder:
    """Access to what is below `root`, whoever changes it meanwhile. Paths are relative, with `/` between names.

    Every method raises `InvalidArguments` and `NotFound`. None follows a symbolic link below `root`, opens a device, or
    waits for a pipe.
    """

    def __init__(self, root: Path) -> None:
        self._root = root

    def list_entries(self, path: str) -> list[Entry]:
        """What the folder at `path` holds, by name; an empty path is `root` itself."""
        with self._folder(_names(path), path) as folder, _told(path):
            names = sorted(os.listdir(folder))  # noqa: PTH208 - of a descriptor, which no path can stand for
            found = (_entry(folder, name) for name in names if not name.startswith(PART))
            return [entry for entry in found if entry is not None]

    def read(self, path: str) -> bytes:
        """The whole file, which has at most `FILE_MAX` bytes."""
        *above, name = _file_names(path)
        with self._folder(above, path) as folder, _told(path):
            _check_kind(os.stat(name, dir_fd=folder, follow_symlinks=False), path)
            opened = os.open(name, _FILE, dir_fd=folder)
            with os.fdopen(opened, "rb") as file:
                # What was opened may be another file than the one that was looked at.
                _check_kind(os.fstat(opened), path)
                content = file.read(FILE_MAX + 1)
        if len(content) > FILE_MAX:
            raise InvalidArguments(f"{path!r} has more than {FILE_MAX:,} bytes: too many to read.")
        return content

    def write(self, path: str, content: bytes) -> bool:
        """Put a file there, whole or not at all, and say whether it is new. Folders on the way are made."""
        if len(content) > FILE_MAX:
            message = f"{len(content):,} bytes are too many for {path!r}: at most {FILE_MAX:,} are written."
            raise InvalidArguments(message)
        *above, name = _file_names(path)
        with self._folder(above, path, make=True) as folder, _told(path):
            earlier = _find(folder, name)
            if earlier is not None:
                _check_kind(earlier, path)
            _replace(folder, name, content, None if earlier is None else stat.S_IMODE(earlier.st_mode) & 0o777)
        return earlier is None

    @contextmanager
    def _folder(self, names: Sequence[str], path: str, *, make: bool = False) -> Generator[int]:
        """A descriptor of the folder that `names` lead to."""
        try:
            folder = os.open(self._root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        except OSError as error:
            raise NotFound(f"The folder of this agent cannot be opened: {error.strerror}.") from error
        try:
            for name in names:
                with _told(path):
                    below = _step(folder, name, make=make)
                os.close(folder)
                folder = below
            yield folder
        finally:
            os.close(folder)


def _names(path: str) -> list[str]:
    """The names on the way. Raises `InvalidArguments` for a way that leads out, or that no file system knows."""
    if path.startswith("/"):
        raise InvalidArguments(f"{path!r} is absolute. Paths are relative to your folder.")
    if "\0" in path or _is_no_name(path):
        raise InvalidArguments(f"{path!r} holds U+0000 or half a character, which no file name can.")
    names = [name for name in path.split("/") if name not in ("", ".")]
    if ".." in names:
        raise InvalidArguments(f"{path!r} leads upwards. Only what is in your folder is there.")
    return names


def _is_no_name(path: str) -> bool:
    try:
        os.fsencode(path)
    except UnicodeEncodeError:
        return True
    return False


def _file_names(path: str) -> list[str]:
    names = _names(path)
    if not names or path.endswith("/"):
        raise InvalidArguments(f"{path!r} names no file. Give a path like 'notes.md'.")
    if names[-1].startswith(PART):
        raise InvalidArguments(f"Names that begin with {PART!r} are kept for files that are written.")
    return names


def _step(folder: int, name: str, *, make: bool) -> int:
    if make:
        with suppress(FileExistsError):
            os.mkdir(name, dir_fd=folder)
    return os.open(name, _FOLDER, dir_fd=folder)


def _find(folder: int, name: str) -> os.stat_result | None:
    try:
        return os.stat(name, dir_fd=folder, follow_symlinks=False)
    except FileNotFoundError:
        return None


def _entry(folder: int, name: str) -> Entry | None:
    found = _find(folder, name)
    if found is None:
        return None  # it has just gone
    return Entry(name, _KINDS.get(stat.S_IFMT(found.st_mode), "file"), found.st_size)


def _check_kind(found: os.stat_result, path: str) -> None:
    kind = stat.S_IFMT(found.st_mode)
    if kind != stat.S_IFREG:
        what = _KINDS.get(kind, "something else")
        raise InvalidArguments(f"{path!r} is no file: it is {what}.")


def _replace(folder: int, name: str, content: bytes, mode: int | None) -> None:
    """Write beside the file, and put it in its place when all of it is on the disk."""
    part = f"{PART}{secrets.token_hex(8)}"
    opened = os.open(part, _NEW_FILE, 0o666, dir_fd=folder)
    try:
        with os.fdopen(opened, "wb") as file:
            if mode is not None:
                os.fchmod(opened, mode)
            file.write(content)
            file.flush()
            os.fsync(opened)
        os.replace(part, name, src_dir_fd=folder, dst_dir_fd=folder)
    except BaseException:
        with suppress(OSError):
            os.unlink(part, dir_fd=folder)
        raise
    os.fsync(folder)


@contextmanager
def _told(path: str) -> Generator[None]:
    """What the file system refuses, in words."""
    try:
        yield
    except FileNotFoundError as error:
        raise NotFound(f"There is no {path!r}. list_files shows what there is.") from error
    except NotADirectoryError as error:
        message = f"{path!r} leads over something that is no folder, or over a symbolic link."
        raise InvalidArguments(message) from error
    except OSError as error:
        why = "is a symbolic link, and those are not followed" if error.errno == errno.ELOOP else error.strerror
        raise InvalidArguments(f"{path!r}: {why}.") from error
