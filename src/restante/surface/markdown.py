"""How a text is put into Markdown so that it stays what it is: none of them can end its block or look like another."""

import json
import re
from collections.abc import Iterable, Mapping
from typing import cast

from restante.texts import WHITE_SPACE

Block = list[str]
"""The lines of one block. A line holds no line break of Markdown's own (LF, CR, CRLF)."""

_MEANS_SOMETHING = re.compile(r"[`*~<>\[\]\\&$|]|(?<!\w)_|_(?!\w)")
_BREAK = re.compile(r"\r\n|\r|\n")
_TICKS = re.compile(r"`+")


class Shown:
    """How much of a text is shown: all of it, or its first `limit` code points and the number of the missing ones."""

    def __init__(self, limit: int | None) -> None:
        self._limit = limit

    def text(self, text: str) -> tuple[str, int]:
        """What is shown of `text`, and how many code points are not."""
        if self._limit is None or len(text) <= self._limit:
            return text, 0
        return text[: self._limit], len(text) - self._limit

    def marked(self, text: str) -> str:
        """What is shown of `text`, with a note in it where something is missing."""
        shown, missing = self.text(text)
        return shown + more(missing) if missing else shown

    def json(self, value: object) -> str:
        """A value as valid JSON, with the texts in it shown as far as this shows texts."""
        return json.dumps(self._inside(value), ensure_ascii=False, indent=2)

    def _inside(self, value: object) -> object:
        if isinstance(value, str):
            return self.marked(value)
        if isinstance(value, Mapping):
            return {key: self._inside(inner) for key, inner in cast("Mapping[str, object]", value).items()}
        if isinstance(value, list | tuple):
            return [self._inside(inner) for inner in cast("list[object]", value)]
        return value


def more(missing: int) -> str:
    """The words for what is not shown."""
    return f" [{missing:,} characters more]"


def lead(words: str, text: str, shown: Shown, after: str = "") -> Block:
    """`words`, then the text: on the same line if nothing in it means anything to Markdown, else in a fence below."""
    part, missing = shown.text(text)
    end = f"{more(missing) if missing else ''}{after}"
    if is_plain(part):
        return [f"{words} {part}{end}"]
    return [words, "", *fence(part), *(["", end.strip()] if end else [])]


def is_plain(text: str) -> bool:
    """Whether a text shows as it is, on one line, wherever in a line it stands but at the start."""
    return text.isprintable() and text == text.strip(WHITE_SPACE) and not _MEANS_SOMETHING.search(text)


def fence(text: str, language: str = "text") -> Block:
    """A code block that no line of the text can end."""
    longest = max((len(ticks) for ticks in _TICKS.findall(text)), default=0)
    ticks = "`" * max(3, longest + 1)
    return [f"{ticks}{language}", *_BREAK.split(text), ticks]


def code(text: str) -> str:
    """A short text as code within a line. Its line breaks become spaces."""
    longest = max((len(ticks) for ticks in _TICKS.findall(text)), default=0)
    ticks, space = "`" * (longest + 1), " " if longest or text != text.strip() else ""
    return f"{ticks}{space}{_BREAK.sub(' ', text)}{space}{ticks}"


def quote(block: Iterable[str]) -> Block:
    """The block as a quotation."""
    return [f"> {line}" if line else ">" for line in block]


def apart(blocks: Iterable[Block]) -> Block:
    """The blocks below one another, an empty line between two."""
    lines: Block = []
    for block in blocks:
        if block:
            lines += ["", *block] if lines else block
    return lines
