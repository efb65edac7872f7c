"""On which line a TOML file says what: `tomllib` gives the values and forgets where they stood."""

import re
import tomllib
from collections.abc import Mapping

KeyPath = tuple[str, ...]

_BLANK = re.compile(r"(?:[ \t\r\n]|\#[^\n]*)*")
_SPACE = re.compile(r"[ \t]*")
_KEY_PART = re.compile(r"""[A-Za-z0-9_-]+|"(?:[^"\\\n]|\\.)*"|'[^'\n]*'""")
_STRING = re.compile(r'"""(?:[^\\]|\\.)*?"{3,5}|\'\'\'.*?\'{3,5}|"(?:[^"\\\n]|\\.)*"|\'[^\'\n]*\'', re.DOTALL)
_BARE = re.compile(r"[^,\]\}\#\n]*")


def lines_of(text: str) -> Mapping[KeyPath, int]:
    """The line, from 1, on which each key and each table first stands. `text` is TOML that `tomllib` has accepted.

    Elements of arrays have no path of their own: what an array of tables holds is found under the array's key. Of
    `[[KEY]]` the first table stands under the key and `#1`, and so on.
    """
    return _Walk(text).lines


class _Walk:
    """One pass over the text. It knows strings and comments, so that a `[` or a `=` inside them is no key."""

    def __init__(self, text: str) -> None:
        self.lines: dict[KeyPath, int] = {}
        self._text = text
        self._place = 0
        table: KeyPath = ()
        numbers: dict[KeyPath, int] = {}
        while self._skip(_BLANK):
            if self._take("["):
                several, line = self._take("["), self._line()
                table = self._key(())
                if several:
                    numbers[table] = numbers.get(table, 0) + 1
                    self.lines[*table, f"#{numbers[table]}"] = line
                self._skip_to_end_of_line()
            else:
                self._pair(table)

    def _pair(self, table: KeyPath) -> None:
        path = self._key(table)
        self._skip(_SPACE)
        self._take("=")
        self._skip(_SPACE)
        self._value(path)

    def _key(self, path: KeyPath) -> KeyPath:
        line = self._line()
        while True:
            self._skip(_SPACE)
            path = (*path, _plain(self._match(_KEY_PART)))
            self.lines.setdefault(path, line)
            self._skip(_SPACE)
            if not self._take("."):
                return path

    def _line(self) -> int:
        return self._text.count("\n", 0, self._place) + 1

    def _value(self, path: KeyPath) -> None:
        if self._take("{"):
            self._group("}", path)
        elif self._take("["):
            self._group("]", path)
        elif not self._match(_STRING):
            self._match(_BARE)

    def _group(self, end: str, path: KeyPath) -> None:
        while self._skip(_BLANK) and not self._take(end):
            if end == "}":
                self._pair(path)
            else:
                self._value(path)
            self._skip(_BLANK)
            self._take(",")

    def _skip(self, pattern: re.Pattern[str]) -> bool:
        self._match(pattern)
        return self._place < len(self._text)

    def _skip_to_end_of_line(self) -> None:
        end = self._text.find("\n", self._place)
        self._place = len(self._text) if end < 0 else end

    def _match(self, pattern: re.Pattern[str]) -> str:
        found = pattern.match(self._text, self._place)
        if found is None:
            return ""
        self._place = found.end()
        return found.group()

    def _take(self, mark: str) -> bool:
        if not self._text.startswith(mark, self._place):
            return False
        self._place += len(mark)
        return True


def _plain(part: str) -> str:
    """A key as it is after unquoting; `tomllib` does it, so that escapes mean the same."""
    return next(iter(tomllib.loads(f"{part} = 0"))) if part.startswith(('"', "'")) else part
