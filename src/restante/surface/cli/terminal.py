"""What the commands share: where they print, how texts come in, and how a failure is said."""

import errno
import os
import sys
from collections.abc import Coroutine, Generator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, NoReturn, TypeVar

from restante.errors import InvalidArguments, InvalidText, RestanteError
from restante.surface.visible import visible, visible_json

T = TypeVar("T")


def prepare() -> None:
    """Make the process ready for what commands print."""
    # Pydantic AI would advertise a service on standard error.
    os.environ.setdefault("PYDANTIC_AI_NO_BANNER", "1")
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:  # closed by whoever started us
            setattr(sys, name, Path(os.devnull).open("w", encoding="utf-8"))  # noqa: SIM115 - for good
        # A terminal that cannot show a character shows its escape.
        getattr(sys, name).reconfigure(errors="backslashreplace")


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
    if sys.stdin is None:  # pyright: ignore[reportUnnecessaryComparison] - so it is where it was closed
        raise InvalidText("Standard input is closed. Nothing was sent.")
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
    known = f" You can name: {', '.join(error.candidates)}." if error.candidates else ""
    say(f"restante: {' '.join(error.message.split())}{known}")
    sys.exit(error.exit_code)


def check_arguments(arguments: Sequence[str]) -> None:
    """Raise `InvalidArguments` for an argument that is not UTF-8: nothing here takes anything else."""
    for place, argument in enumerate(arguments, start=1):
        try:
            argument.encode()
        except UnicodeEncodeError:
            message = f"Argument {place} is not UTF-8. A text in another encoding has to be converted before."
            raise InvalidArguments(message) from None


@contextmanager
def output() -> Generator[None]:
    """Everything that is printed in this block has arrived at its end, or the command says that it has not."""
    try:
        try:
            yield
        finally:
            sys.stdout.flush()
    except OSError as error:
        _give_up_output()
        if error.errno != errno.EPIPE:  # whoever reads only the beginning has got it
            with suppress(OSError):
                say(f"restante: {_BROKEN_OFF.get(error.errno or 0, 'Broken off by the system')}: {error.strerror}.")
        sys.exit(1)


_BROKEN_OFF = dict.fromkeys(
    (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO, errno.EBADF), "The output could not be written"
)


def _give_up_output() -> None:
    """Let what is still in the buffer go nowhere, so that the interpreter does not fail with it at its end."""
    with suppress(OSError):
        number, nowhere = sys.stdout.fileno(), os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, number)
        os.close(nowhere)
