"""A dialogue by lines, where nobody sits at a terminal: each line is what the person says, after the answer before."""

import asyncio
import os
import signal
import sys
from collections.abc import AsyncIterator
from threading import Thread

from rich.console import Console, RenderableType

from restante.errors import InvalidText, TextBlank
from restante.running.platform import Platform
from restante.running.tasks import owning_group
from restante.surface.addressing import read_addressed
from restante.surface.cli import dialogue_commands as commands
from restante.surface.cli.dialogue_talk import Dialogue
from restante.texts import WHITE_SPACE, check_text

AT_ONCE = 65_536
"""Bytes that are read together."""
_BYTES_PER_CHARACTER = 4
_BY_SIGNAL = 128
"""What shells add to the number of the signal that has ended a command."""


class Lines:
    """What a dialogue shows, in order: turns on standard output, everything else on standard error."""

    streams = attends = False

    def __init__(self) -> None:
        self._out = Console(highlight=False)
        self._err = Console(highlight=False, stderr=True)

    def show(self, shown: RenderableType) -> None:
        """Print what belongs to a turn."""
        self._out.print(shown, soft_wrap=True)

    def tell(self, shown: RenderableType) -> None:
        """Print anything else."""
        sys.stdout.flush()
        self._err.print(shown, soft_wrap=True)

    def echo(self, said: RenderableType) -> None:
        """Whoever wrote the lines knows them."""

    def refresh(self) -> None:
        """Nothing that was printed can change."""
        sys.stdout.flush()


async def talk_by_lines(platform: Platform, chat_id: str | None) -> bool:
    """Say each line of standard input once the turn before has ended; whether every turn was answered.

    Raises what says and commands refuse, naming no line: what was said before it stays said.
    """
    async with owning_group() as group:
        dialogue = Dialogue(platform, Lines(), group)
        signals = _Signals(dialogue, group)
        await dialogue.go_to(chat_id)
        async for line in _lines(platform.config.limits.text_max):
            asked = commands.find_command(line)
            if asked is not None and asked.name in commands.LEAVING:
                break
            if asked is not None:
                await commands.run_command(dialogue, asked)
            elif _is_something(line, platform.config.limits.text_max):
                turn_id = (await dialogue.say(line)).turn_id
                await dialogue.wait_for_end(turn_id)
            if signals.ended:
                break
        return dialogue.unanswered == 0


class _Signals:
    """The first Ctrl-C stops the turn that runs; without one, it ends the command. SIGTERM does both."""

    def __init__(self, dialogue: Dialogue, group: asyncio.TaskGroup) -> None:
        self.ended = False
        """No further line is to be said."""
        self._dialogue = dialogue
        self._group = group
        for number in (signal.SIGINT, signal.SIGTERM):
            asyncio.get_running_loop().add_signal_handler(number, self._take, number)

    def _take(self, number: signal.Signals) -> None:
        asyncio.get_running_loop().remove_signal_handler(number)
        self.ended = self.ended or number == signal.SIGTERM
        if self._dialogue.works:
            self._group.create_task(self._dialogue.stop())
        elif number == signal.SIGTERM:
            raise SystemExit(_BY_SIGNAL + number)
        else:
            raise KeyboardInterrupt


def _is_something(line: str, limit: int) -> bool:
    try:
        check_text(read_addressed(line).text, limit)
    except TextBlank:
        if line.strip(WHITE_SPACE):
            raise
        return False
    return True


async def _lines(limit: int) -> AsyncIterator[str]:
    """The lines of standard input, as they come. Raises `InvalidText` for one that is not UTF-8 or far too long."""
    rest, number, ended = b"", 0, False
    while not ended:
        more = await _read()
        ended, rest = not more, rest + more
        *whole, rest = rest.split(b"\n")
        for line in [*whole, *([rest] if ended and rest else [])]:
            number += 1
            yield _decoded(line, number)
        if len(rest) > (limit + 1) * _BYTES_PER_CHARACTER:
            raise InvalidText(f"Line {number + 1} of standard input is longer than {limit:,} characters.")


def _decoded(line: bytes, number: int) -> str:
    try:
        return line.removesuffix(b"\r").decode()
    except UnicodeDecodeError as error:
        message = f"Line {number} of standard input is not UTF-8 at its byte {error.start}. It was not sent."
        raise InvalidText(message) from None


async def _read() -> bytes:
    """The next bytes of standard input, or none at its end. A thread that waits for them keeps nobody from leaving."""
    loop, read = asyncio.get_running_loop(), asyncio.get_running_loop().create_future()

    def wait() -> None:
        data = os.read(sys.stdin.fileno(), AT_ONCE)
        if not loop.is_closed():
            loop.call_soon_threadsafe(lambda: read.cancelled() or read.set_result(data))

    Thread(target=wait, daemon=True).start()
    return await read
