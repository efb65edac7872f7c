"""A TOML file that knows its lines, and its tables: taken out key by key, refused with the line and what would work."""

import difflib
import tomllib
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import NamedTuple, NoReturn, cast

from restante.errors import BadConfig
from restante.running.toml_lines import KeyPath, lines_of


class Range(NamedTuple):
    """What a number may be, both ends included; `whole` numbers have no fraction."""

    least: float
    most: float
    whole: bool = True

    def __str__(self) -> str:
        return f"{'a whole number' if self.whole else 'a number'} from {self.least:,} to {self.most:,}"


class Table:
    """One table of a file. Each value is judged where it is taken; nothing is converted, cut or guessed."""

    def __init__(self, source: "Source", path: KeyPath, values: Mapping[str, object]) -> None:
        self._source = source
        self._path = path
        self._values = values

    def __contains__(self, key: str) -> bool:
        return key in self._values

    @property
    def keys(self) -> tuple[str, ...]:
        """The keys as they stand in the file."""
        return tuple(self._values)

    @property
    def title(self) -> str:
        """What people call this table."""
        return f"[{'.'.join(self._path)}]" if self._path else "the top of the file"

    def refuse(self, key: str | None, message: str, kind: type[BadConfig] = BadConfig) -> NoReturn:
        """Raise `BadConfig`, or that kind of it, for `key` of this table, or for the table itself."""
        self._source.refuse((*self._path, key) if key is not None else self._path, message, kind)

    def only(self, known: Collection[str], hints: Mapping[str, str] | None = None) -> None:
        """Refuse the first key that is not known, naming the nearest one. `hints` has sentences for some of them."""
        for key in self._values:
            if key in known:
                continue
            if hints and key in hints:
                self.refuse(key, hints[key])
            self.refuse(key, f"{key!r} is no key of {self.title}. The nearest one is {nearest(key, known)!r}.")

    def text(self, key: str) -> str | None:
        """The text under `key`, or None."""
        value = self._values.get(key)
        if value is not None and not isinstance(value, str):
            self._wrong(key, "a text in quotes", value)
        return value

    def choice(self, key: str, allowed: Collection[str]) -> str | None:
        """The text under `key`, or None. It is one of `allowed`."""
        value = self.text(key)
        if value is not None and value not in allowed:
            self._wrong(key, " or ".join(f'"{word}"' for word in allowed), value)
        return value

    def number(self, key: str, range_: Range) -> float | None:
        """The number under `key`, or None. A whole one comes as an int."""
        value = self._values.get(key)
        if value is None:
            return None
        numeric = isinstance(value, int) if range_.whole else isinstance(value, int | float)
        if isinstance(value, bool) or not numeric:
            self._wrong(key, str(range_), value)
        number = cast("int | float", value)
        if not range_.least <= number <= range_.most:
            self._wrong(key, str(range_), value)
        return number

    def switch(self, key: str) -> bool | None:
        """True or false, as it stands under `key`, or None."""
        value = self._values.get(key)
        if value is not None and not isinstance(value, bool):
            self._wrong(key, "true or false, without quotes", value)
        return value

    def texts(self, key: str, *, repeated: bool = False) -> tuple[str, ...]:
        """The texts of the array under `key`, none of them twice unless `repeated`; empty when there is none."""
        value = self._values.get(key, [])
        found = cast("list[object]", value) if isinstance(value, list) else [None]
        if not all(isinstance(each, str) for each in found):
            self._wrong(key, 'an array of texts, like ["one", "two"]', self._values[key])
        names = cast("list[str]", found)
        for place, name in enumerate(names):
            if name in names[:place] and not repeated:
                self.refuse(key, f"{key!r} in {self.title} names {name!r} twice. Once is enough.")
        return tuple(names)

    def table(self, key: str) -> "Table":
        """The table under `key`; an empty one when there is none."""
        value = self._values.get(key, {})
        if not isinstance(value, dict):
            self._wrong(key, f"a table, like [{'.'.join((*self._path, key))}]", value)
        return Table(self._source, (*self._path, key), cast("dict[str, object]", value))

    def value(self, key: str) -> object:
        """What stands under `key`, unjudged, or None."""
        return self._values.get(key)

    def _wrong(self, key: str, wanted: str, value: object) -> NoReturn:
        # Somebody may have put a secret where the name of its variable belongs, so it is not repeated.
        secret = any(name.endswith("_env") or name == "env_from" for name in (*self._path, key))
        shown = "what stands there" if secret else _shown(value)
        self.refuse(key, f"{key!r} in {self.title} must be {wanted}, and not {shown}.")


class Source:
    """The file as it was read: its path, its text, and on which line each key stands."""

    def __init__(self, path: Path, text: str) -> None:
        self._path = path
        self._text = text

    @classmethod
    def read(cls, path: Path) -> "Source":
        """Read `path`. Raises `BadConfig` when there is no such file, or when it is no UTF-8."""
        try:
            return cls(path, path.read_bytes().decode())
        except FileNotFoundError:
            raise BadConfig(f"There is no {path}. `restante init` writes one.", field=str(path)) from None
        except OSError as error:
            raise BadConfig(f"{path} cannot be read: {error.strerror}.", field=str(path)) from error
        except UnicodeDecodeError as error:
            raise BadConfig(f"{path} is not UTF-8 at byte {error.start}. Save it as UTF-8.", field=str(path)) from None

    def table(self) -> Table:
        """The whole file as one table. Raises `BadConfig` when it is no TOML."""
        try:
            return Table(self, (), tomllib.loads(self._text))
        except tomllib.TOMLDecodeError as error:
            raise BadConfig(f"{self._path} is not TOML: {error}.", field=str(self._path)) from None

    def refuse(self, path: KeyPath, message: str, kind: type[BadConfig] = BadConfig) -> NoReturn:
        """Raise `BadConfig`, or that kind of it, with the line of `path`, or of the nearest table around it."""
        raise self.error(path, message, kind)

    def error(self, path: KeyPath, message: str, kind: type[BadConfig] = BadConfig) -> BadConfig:
        """What `refuse` raises."""
        lines = lines_of(self._text)
        held = next((path[:end] for end in range(len(path), 0, -1) if path[:end] in lines), None)
        where = f"{self._path}:{lines[held]}" if held else str(self._path)
        return kind(f"{where}: {message}", field=".".join(path) or None)


def nearest(name: str, known: Collection[str]) -> str:
    """The one of `known` that looks most like `name`, letter case aside."""
    by_folded = {each.casefold(): each for each in known}
    return by_folded[difflib.get_close_matches(name.casefold(), by_folded, n=1, cutoff=0.0)[0]]


def _shown(value: object) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, dict):
        return "a table"
    shown = repr(value)
    return shown if len(shown) <= SHOWN_LIMIT else f"{shown[:SHOWN_LIMIT]}... ({len(shown) - SHOWN_LIMIT} more)"


SHOWN_LIMIT = 60
"""How much of a wrong value an error shows, in characters."""
