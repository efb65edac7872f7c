"""How far `restante read` has come, kept from one reading to the next: reading itself changes nothing at the server."""

import hashlib
import json
import os
import re
import tempfile
from pathlib import Path
from typing import Any, NamedTuple

from restante.surface.cli.places import FOLDER_NAME

_LAST_SEQUENCE = 2**63 - 1
_STORE_ID = re.compile(r"[A-Za-z0-9_-]{1,100}")


class Cursor(NamedTuple):
    """The sequence that was shown last, and the store that it is from."""

    after: int
    store_id: str | None


START = Cursor(0, None)


class KeptCursor:
    """The cursor of one token in one inbox, or in the whole mail, in a file that nobody else can read.

    It is beside the owner's token where there is a `.restante` for the store, else in the user's folder for such state.
    """

    def __init__(self, store: Path, token: str, inbox: str | None) -> None:
        # A token is secret and says all by itself whose mail it is; of it the name of the file keeps a digest.
        key = hashlib.sha256(f"{token}\0{inbox or ''}".encode(errors="surrogatepass")).hexdigest()
        self._path = state_folder(store) / "cursors" / f"{key[:32]}.json"

    def read(self) -> Cursor:
        """Where to go on. A file that is lost or damaged means: from the start."""
        try:
            kept: Any = json.loads(self._path.read_bytes())
            after, store_id = kept["after"], kept["store_id"]
        except (OSError, ValueError, KeyError, TypeError, RecursionError):
            return START
        sound = type(after) is int and 0 <= after <= _LAST_SEQUENCE and isinstance(store_id, str)
        return Cursor(after, store_id) if sound and _STORE_ID.fullmatch(store_id) else START

    def write(self, cursor: Cursor) -> None:
        """Keep it, whole or not at all. Raises `OSError`."""
        self._path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(prefix=".", dir=self._path.parent)  # for its owner alone
        try:
            with os.fdopen(handle, "w", encoding="utf-8") as file:
                json.dump(cursor._asdict(), file)
            Path(name).replace(self._path)
        except BaseException:
            Path(name).unlink(missing_ok=True)
            raise


def state_folder(store: Path) -> Path:
    """Where what belongs to whoever uses this store is kept: beside it, or in the user's folder for such state."""
    if store.parent.name == FOLDER_NAME and store.parent.is_dir():
        return store.parent
    given = Path(os.environ.get("XDG_STATE_HOME", ""))
    # Without a home `~` stays as it is: then nothing can be kept, which `write` says.
    state = given if given.is_absolute() else Path(os.path.expanduser("~/.local/state"))  # noqa: PTH111 - never raises
    return state / "restante"
