"""What is wrong with a SQLite file, in the words of the product."""

import sqlite3

from restante.errors import StoreUnavailable

RETRY_AFTER_S = 1.0

_FIELDS = {
    sqlite3.SQLITE_BUSY: "locked",
    sqlite3.SQLITE_LOCKED: "locked",
    sqlite3.SQLITE_FULL: "full",
    sqlite3.SQLITE_READONLY: "read_only",
    sqlite3.SQLITE_CORRUPT: "damaged",
    sqlite3.SQLITE_NOTADB: "damaged",
    sqlite3.SQLITE_CANTOPEN: "unreadable",
    sqlite3.SQLITE_IOERR: "unreadable",
    sqlite3.SQLITE_PERM: "unreadable",
}
_UNWRITTEN = {
    sqlite3.SQLITE_IOERR_WRITE,
    sqlite3.SQLITE_IOERR_FSYNC,
    sqlite3.SQLITE_IOERR_DIR_FSYNC,
    sqlite3.SQLITE_IOERR_TRUNCATE,
}
_SENTENCES = {
    "locked": "Another program holds the store's lock. Try again when it has finished.",
    "full": "There is no room left for the store. Reading still works; make room and send again.",
    "read_only": "The store may not be written to. Reading still works; give the server the right to write.",
    "unwritable": "The store cannot be written. Reading still works; check the disk, and how large a file may be.",
    "damaged": "The store is damaged, or it is no store of restante. Nothing was changed; put a copy back.",
    "unreadable": "The store cannot be opened or read. Check that its folder exists and that the disk is in order.",
}


def failure_of(error: sqlite3.Error) -> Exception:
    """`StoreUnavailable` where the store is at fault; any other error is our own mistake and comes back as it is."""
    code = getattr(error, "sqlite_errorcode", None)
    if code is None:
        return error
    # The low byte is the primary code of an extended one.
    field = "unwritable" if code in _UNWRITTEN else _FIELDS.get(code & 0xFF)
    if field is None:
        return error
    retry = RETRY_AFTER_S if field == "locked" else None
    return StoreUnavailable(_SENTENCES[field], field=field, retry_after_seconds=retry)
