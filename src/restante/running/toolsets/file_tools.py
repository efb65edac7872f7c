"""The file tools: texts in the agent's own folder."""

from collections.abc import Generator
from contextlib import contextmanager
from typing import Any

from pydantic_ai import FunctionToolset, ToolFailed

from restante.errors import InvalidArguments, NotFound
from restante.running.toolsets.folder import Entry, Folder

PAGE = 20_000
"""Characters of a file that one call gives."""
ENTRIES = 500
"""Entries of a folder that one call gives."""

LIST_FILES = (
    "List what is in your folder, or in a folder inside it. Long lists come in pages: the last line says how to go on."
)
READ_FILE = (
    "Read a text file in your folder. A long one comes in pages of characters: the first line says which part this is, "
    "and with which `offset` to go on."
)
WRITE_FILE = (
    "Write a text file in your folder, whole. It replaces what was there. Folders in the path are made. Paths are "
    "relative to your folder, like `notes/plan.md`."
)


def file_tools(folder: Folder) -> FunctionToolset[Any]:
    """Exactly `list_files`, `read_file` and `write_file`, in this folder and nowhere else."""
    tools = _Tools(folder)
    toolset = FunctionToolset[Any](id="restante.files")
    toolset.add_function(tools.list_files, description=LIST_FILES)
    toolset.add_function(tools.read_file, description=READ_FILE)
    toolset.add_function(tools.write_file, description=WRITE_FILE)
    return toolset


class _Tools:
    """Plain functions, which the library calls in threads. What is refused is a result that is marked as an error."""

    def __init__(self, folder: Folder) -> None:
        self._folder = folder

    def list_files(self, path: str = "", offset: int = 0) -> str:
        with _refusals():
            entries = self._folder.list_entries(path)
            shown = entries[_start(offset, len(entries)) : offset + ENTRIES]
        left = len(entries) - offset - len(shown)
        lines = [_line(entry) for entry in shown]
        return "\n".join(lines + _more(left, offset + ENTRIES)) or "Nothing is in here."

    def read_file(self, path: str, offset: int = 0) -> str:
        with _refusals():
            text = _text(self._folder.read(path), path)
            page = text[_start(offset, len(text)) : offset + PAGE]
        end = offset + len(page)
        part = "the whole" if page == text else f"characters {offset:,} to {end:,}"
        go_on = f" Go on with offset={end}." if end < len(text) else ""
        return f"({path!r}: {part} of {len(text):,} characters.{go_on})\n{page}"

    def write_file(self, path: str, text: str) -> str:
        with _refusals():
            new = self._folder.write(path, _bytes(text))
        return f"{'Wrote' if new else 'Replaced'} {path!r}: {len(text):,} characters."


@contextmanager
def _refusals() -> Generator[None]:
    try:
        yield
    except (InvalidArguments, NotFound) as refused:
        raise ToolFailed(f"{refused.code}: {refused.message}") from refused


def _start(offset: int, total: int) -> int:
    if not 0 <= offset <= total:
        raise InvalidArguments(f"offset is {offset}; it goes from 0 to {total}.")
    return offset


def _more(left: int, offset: int) -> list[str]:
    return [f"({left:,} more: go on with offset={offset}.)"] if left > 0 else []


def _line(entry: Entry) -> str:
    # A name may hold line breaks and escape codes, and must not look like another entry.
    name = entry.name if entry.name.isprintable() else repr(entry.name)
    if entry.kind == "a folder":
        return f"{name}/"
    return f"{name}: {entry.size:,} bytes" if entry.kind == "file" else f"{name}: {entry.kind}"


def _text(content: bytes, path: str) -> str:
    try:
        text = content.decode()
    except UnicodeDecodeError as error:
        message = f"{path!r} is no text in UTF-8: byte {error.start:,} is wrong. Only texts can be read."
        raise InvalidArguments(message) from error
    if "\0" in text:
        raise InvalidArguments(f"{path!r} is binary: it holds U+0000. Only texts can be read.")
    return text


def _bytes(text: str) -> bytes:
    try:
        return text.encode()
    except UnicodeEncodeError as error:
        message = f"The text holds half a character (a lone surrogate) at {error.start:,}, which no file can hold."
        raise InvalidArguments(message) from error
