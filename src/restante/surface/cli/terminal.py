"""What the commands share: where they print, how texts come in, and how a failure is said."""

import sys
from collections.abc import Coroutine
from typing import Any, NoReturn, TypeVar

from restante.errors import InvalidText, RestanteError
from restante.surface.visible import visible, visible_json

T = TypeVar("T")


def run_async(work: Coroutine[Any, Any, T]) -> T:
    """Run what a command does in an event loop of its own."""
    import asyncio  # noqa: PLC0415 - a third of the time that `restante --help` takes without it

    return asyncio.run(work)


def words_of(argument: str) -> str:
    """The text that an argument stands for: `-` is standard input, whole and unchanged.

    Raises `InvalidText`, naming the byte, when that is no UTF-8.
    """
    if argument != "-":
        return argument
    try:
        return sys.stdin.buffer.read().decode()
    except UnicodeDecodeError as error:
        raise InvalidText(f"Standard input is not UTF-8 at byte {error.start}. Nothing was sent.") from None


def show(text: str) -> None:
    """Print a text on standard output; it cannot act on a terminal."""
    sys.stdout.write(f"{visible(text)}\n")


def show_json(value: object) -> None:
    """Print a value as JSON on standard output."""
    sys.stdout.write(f"{visible_json(value)}\n")


def say(text: str) -> None:
    """Print a line on standard error."""
    sys.stdout.flush()
    sys.stderr.write(f"{visible(text)}\n")


def fail(error: RestanteError) -> NoReturn:
    """Say what went wrong in one line, and end with the exit code of its kind."""
    say(f"restante: {' '.join(error.message.split())}")
    sys.exit(error.exit_code)
