"""The terminal while one types: what is final scrolls up, and what may still change stands above the input."""

import asyncio
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Protocol

from prompt_toolkit.application import Application
from prompt_toolkit.buffer import Buffer
from prompt_toolkit.completion import CompleteEvent, Completer, Completion
from prompt_toolkit.document import Document
from prompt_toolkit.filters import Condition, has_focus
from prompt_toolkit.formatted_text import ANSI, AnyFormattedText
from prompt_toolkit.history import FileHistory, History, InMemoryHistory
from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent
from prompt_toolkit.key_binding.bindings.completion import display_completions_like_readline
from prompt_toolkit.keys import Keys
from prompt_toolkit.layout import BufferControl, ConditionalContainer, Dimension, FormattedTextControl, HSplit, Window
from prompt_toolkit.layout.layout import Layout
from prompt_toolkit.output import Output
from prompt_toolkit.output.defaults import create_output
from prompt_toolkit.widgets import SearchToolbar
from rich.console import Console, RenderableType
from rich.text import Text
from typing_extensions import override

PROMPT = "> "
_INDENT = "  "
_INPUT_SHARE = 2
"""The input takes at most this part of the screen's height."""


class Behind(Protocol):
    """What stands behind the screen."""

    def changing(self, width: int, height: int) -> Sequence[Text]:
        """The lines that may still change."""
        ...

    def status(self) -> str:
        """What goes on, in one line; empty when nothing does."""
        ...

    def enter(self, text: str) -> bool:
        """The person pressed Enter; False leaves the text in the input."""
        ...

    def interrupt(self, *, typed: bool) -> bool:
        """Ctrl-C, with something in the input or not; True empties the input."""
        ...

    def leave(self) -> None:
        """Ctrl-D in an empty input."""
        ...

    def completions(self, text: str) -> Iterator[str]:
        """What could stand in place of all that was typed."""
        ...


class Screen:
    """A terminal in which a person types while agents work."""

    def __init__(self, history: Path | None) -> None:
        self._console = Console(highlight=False)
        self._unprinted: list[str] = []
        self._behind: Behind | None = None
        self._buffer = Buffer(
            multiline=True, history=_history(history), completer=_Completer(self), complete_while_typing=False
        )
        self._app = self._application()

    async def run(self, behind: Behind, greeting: RenderableType) -> None:
        """Take input until `close` is called."""
        self._behind = behind

        def greet() -> None:
            # As soon as the terminal echoes nothing by itself any more.
            asyncio.get_running_loop().call_soon(self.show, greeting)

        await self._app.run_async(pre_run=greet, set_exception_handler=False)
        self._print()

    def close(self) -> None:
        """End `run`."""
        if self._app.is_running and not self._app.is_done:
            self._app.exit()

    def show(self, shown: RenderableType) -> None:
        """Print something above the input, for good."""
        width = max(self._app.output.get_size().columns, 1)
        with self._console.capture() as capture:
            self._console.print(shown, width=width)
        if not self._unprinted and self._app.is_running:
            asyncio.get_running_loop().call_soon(self._print)
        self._unprinted.append(capture.get())
        if not self._app.is_running:
            self._print()

    def refresh(self) -> None:
        """What may still change has changed."""
        self._app.invalidate()

    def give_back(self, text: str) -> None:
        """Put a text back into the input, before what was typed since."""
        typed = self._buffer.text
        self._buffer.document = Document(f"{text}\n{typed}" if typed else text)

    def _print(self) -> None:
        if self._app.is_running and self._app.is_done:
            return  # it is about to erase its lines; what is left is printed after that
        printed, self._unprinted = "".join(self._unprinted), []
        output, here = self._app.output, self._app.is_running
        if here:
            self._app.renderer.erase()
        output.write_raw(printed)
        output.flush()
        if here:
            self._app._redraw()

    def _application(self) -> Application[None]:
        search = SearchToolbar()
        control = BufferControl(self._buffer, search_buffer_control=search.control)
        rows = [
            _optional(self._changing, lambda: bool(self._lines())),
            _optional(self._status, lambda: bool(self._behind and self._behind.status())),
            Window(control, get_line_prefix=_prefix, wrap_lines=True, height=self._height, dont_extend_height=True),
            search,
        ]
        return Application(
            layout=Layout(HSplit(rows), focused_element=control),
            key_bindings=self._keys(),
            output=_output(),
            erase_when_done=True,
            paste_mode=False,
        )

    def _keys(self) -> KeyBindings:
        keys, typing = KeyBindings(), has_focus(self._buffer)
        keys.add("enter", filter=typing)(self._on_enter)
        keys.add("escape", "enter", filter=typing)(self._on_newline)
        keys.add("c-c")(self._on_interrupt)
        keys.add(Keys.SIGINT)(self._on_interrupt)
        keys.add("c-d", filter=typing & Condition(lambda: not self._buffer.text))(self._on_leave)
        keys.add("tab", filter=typing)(display_completions_like_readline)
        return keys

    def _on_enter(self, _: KeyPressEvent) -> None:
        if self._behind and self._behind.enter(self._buffer.text):
            self._buffer.reset(append_to_history=bool(self._buffer.text.strip()))

    def _on_newline(self, _: KeyPressEvent) -> None:
        self._buffer.newline(copy_margin=False)

    def _on_interrupt(self, _: KeyPressEvent) -> None:
        if self._behind and self._behind.interrupt(typed=bool(self._buffer.text)):
            self._buffer.reset()

    def _on_leave(self, _: KeyPressEvent) -> None:
        if self._behind:
            self._behind.leave()

    def _height(self) -> Dimension:
        return Dimension(min=1, max=max(self._app.output.get_size().rows // _INPUT_SHARE, 1))

    def _lines(self) -> Sequence[Text]:
        size = self._app.output.get_size()
        typed = min(self._buffer.text.count("\n") + 2 + len(self._buffer.text) // size.columns, size.rows // 2)
        return self._behind.changing(size.columns, size.rows - typed - 1) if self._behind else ()

    def _changing(self) -> AnyFormattedText:
        width = self._app.output.get_size().columns
        with self._console.capture() as capture:
            self._console.print(*self._lines(), sep="\n", end="", width=width, no_wrap=True, crop=True)
        return ANSI(capture.get())

    def _status(self) -> AnyFormattedText:
        width = self._app.output.get_size().columns
        text = Text(self._behind.status() if self._behind else "", "dim")
        text.truncate(width, overflow="ellipsis")
        with self._console.capture() as capture:
            self._console.print(text, end="", width=width)
        return ANSI(capture.get())

    def completions(self, text: str) -> Iterator[str]:
        """What could stand in place of all that was typed."""
        return self._behind.completions(text) if self._behind else iter(())


class _Completer(Completer):
    """Completes the beginning of a command and what it takes."""

    def __init__(self, screen: Screen) -> None:
        self._screen = screen

    def get_completions(self, document: Document, complete_event: CompleteEvent) -> Iterator[Completion]:
        del complete_event
        typed = document.text_before_cursor
        start = typed.rfind(" ") + 1
        for whole in self._screen.completions(typed):
            if whole.startswith(typed):
                yield Completion(whole[start:], start_position=start - len(typed))


class _KeptHistory(FileHistory):
    """What was entered before, kept in a file as far as that can be written."""

    @override
    def store_string(self, string: str) -> None:
        with suppress(OSError):
            super().store_string(string)


def _optional(text: Callable[[], AnyFormattedText], wanted: Callable[[], bool]) -> ConditionalContainer:
    return ConditionalContainer(Window(FormattedTextControl(text), dont_extend_height=True), Condition(wanted))


def _prefix(line: int, wrap: int) -> AnyFormattedText:
    return [("bold", PROMPT if line == wrap == 0 else _INDENT)]


def _output() -> Output:
    output = create_output(sys.stdout)
    # We never need to know where on the screen we are, and some terminals answer late or never.
    output.enable_cpr = False  # pyright: ignore[reportAttributeAccessIssue] - those of Windows have none
    return output


def _history(path: Path | None) -> History:
    if path is None:
        return InMemoryHistory()
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        path.touch(mode=0o600)
    except OSError:  # a history that cannot be kept is none to fail for
        return InMemoryHistory()
    return _KeptHistory(path)
