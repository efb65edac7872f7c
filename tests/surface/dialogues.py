"""A person at a terminal: `restante` in a pseudo-terminal, with an emulator that shows what the person would see."""

import fcntl
import os
import pty
import re
import select
import signal
import struct
import termios
import time
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pyte

from tests.surface.commands import Command, start

PATIENCE_SECONDS = 30
READY = "/help lists the commands"


class Person:
    """What a person at this terminal sees and does."""

    def __init__(self, process: Command, master: int, size: tuple[int, int]) -> None:
        self.process = process
        self.raw = b""
        self._master = master
        self._screen = pyte.HistoryScreen(*size, history=5_000)
        self._stream = pyte.ByteStream(self._screen)

    def types(self, keys: str) -> None:
        """Press keys; `\\r` is Enter, `\\x03` Ctrl-C, `\\x04` Ctrl-D."""
        os.write(self._master, keys.encode())

    def pastes(self, pasted: str | bytes) -> None:
        """Paste something, as terminals hand it over."""
        data = b"\x1b[200~" + (pasted.encode() if isinstance(pasted, str) else pasted) + b"\x1b[201~"
        while data:
            # The process reads in the meantime what did not fit into the line's buffer.
            data = data[os.write(self._master, data[:1_000]) :]
            self._look(0)

    def resizes(self, columns: int, lines: int) -> None:
        """Make the window another size."""
        fcntl.ioctl(self._master, termios.TIOCSWINSZ, struct.pack("HHHH", lines, columns, 0, 0))
        self._screen.resize(lines, columns)
        self.process.send_signal(signal.SIGWINCH)

    def sees(self, text: str, *, times: int = 1) -> str:
        """Wait until a text is on the screen or above it, wherever lines are broken; all that is there."""
        return self.looks_until(lambda seen: _unbroken(seen).count(_unbroken(text)) >= times, text)

    def looks_until(self, condition: Callable[[str], bool], what: str = "it") -> str:
        """Wait until what is seen is so; all that is there."""
        end = time.monotonic() + PATIENCE_SECONDS
        while not condition(seen := self.page()):
            left = end - time.monotonic()
            assert left > 0, f"{what!r} was never seen in:\n{seen}"
            assert self._look(left) or condition(self.page()), f"{what!r} was never seen, and it ended:\n{self.page()}"
        return seen

    def leaves(self) -> int:
        """Wait until the command has ended; its exit code."""
        end = time.monotonic() + PATIENCE_SECONDS
        while self._look(max(end - time.monotonic(), 0)):
            assert time.monotonic() < end, f"It never ended:\n{self.page()}"
        return self.process.wait(PATIENCE_SECONDS)

    def page(self) -> str:
        """Every line from the first one on, that of the screen and those above it."""
        top: Any = self._screen.history.top
        above = ["".join(line[column].data for column in range(self._screen.columns)) for line in top]
        return "\n".join(line.rstrip() for line in [*above, *self._screen.display])

    def screen(self) -> list[str]:
        """The lines of the screen alone."""
        return [line.rstrip() for line in self._screen.display]

    def input(self) -> str:
        """What stands in the input, as far as it is on the screen: its lines are the last ones."""
        lines = [line.rstrip() for line in self._screen.display]
        while lines and not lines[-1]:
            lines.pop()
        start = len(lines) - 1
        while start > 0 and lines[start].startswith("  "):
            start -= 1
        start += not lines[start].startswith(">")
        return "".join(line[2:] for line in lines[start:])

    @property
    def title(self) -> str:
        """The title of the window."""
        return self._screen.title

    def _look(self, seconds: float) -> bool:
        """Take what was written; False when nothing will be written any more."""
        ready, _, _ = select.select([self._master], [], [], seconds)
        if not ready:
            return True
        try:
            data = os.read(self._master, 65_536)
        except OSError:
            return False
        self.raw += data
        self._stream.feed(data)
        return bool(data)


class Gates:
    """Places where the models of a team wait, each until it is opened once more."""

    def __init__(self, *names: str) -> None:
        self._pipes = {name: os.pipe() for name in names}

    def open(self, name: str) -> None:
        """Let one wait pass."""
        os.write(self._pipes[name][1], b"x")

    @property
    def handles(self) -> Mapping[str, int]:
        """The variables that tell a team where to wait."""
        return {f"GATE_{name}": read for name, (read, _) in self._pipes.items()}

    def close(self) -> None:
        for pair in self._pipes.values():
            for handle in pair:
                os.close(handle)


@contextmanager
def at_terminal(
    *arguments: str,
    folder: Path,
    gates: Gates | None = None,
    size: tuple[int, int] = (100, 30),
    **environment: str,
) -> Generator[Person]:
    """A person who runs a command in a terminal with so many columns and lines."""
    master, slave = pty.openpty()
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", size[1], size[0], 0, 0))
    given = gates or Gates()
    known = {key: value for key, value in os.environ.items() if key not in ("NO_COLOR", "COLUMNS", "LINES")}
    process = start(
        *arguments,
        folder=folder,
        streams=(slave, slave, slave),
        environment=known | {"TERM": "xterm-256color", **environment},
        handles=given.handles,
    )
    os.close(slave)
    try:
        yield Person(process, master, size)
    finally:
        process.kill()
        process.wait(PATIENCE_SECONDS)
        os.close(master)
        with suppress(OSError):
            given.close()


TEAM = '''\
"""A team that does what a script says, and waits at gates that a test opens."""

import asyncio
import json
import os

from pydantic_ai import Agent
from pydantic_ai.messages import ModelResponse
from pydantic_ai.models.function import DeltaToolCall, FunctionModel

from restante.turn import asking_tools, messaging_tools, spawn_tools


WAITING = {}


async def wait_at(name):
    loop, handle, waiting = asyncio.get_running_loop(), int(os.environ[f"GATE_{name}"]), WAITING.setdefault(name, [])
    opened = asyncio.Event()
    waiting.append(opened)
    loop.add_reader(handle, let_pass, handle, waiting)
    try:
        await opened.wait()
    finally:
        waiting.remove(opened)
        if not waiting:
            loop.remove_reader(handle)


def let_pass(handle, waiting):
    first = next((opened for opened in waiting if not opened.is_set()), None)
    if first is not None:
        os.read(handle, 1)
        first.set()


def scripted(*steps):
    async def stream(messages, info):
        done = sum(isinstance(message, ModelResponse) for message in messages)
        for index, (kind, *what) in enumerate(steps[done % len(steps)]):
            if kind == "gate":
                await wait_at(what[0])
            elif kind == "say":
                yield what[0]
            elif kind == "fail":
                raise RuntimeError(what[0])
            else:
                yield {index: DeltaToolCall(kind, json.dumps(what[0]), tool_call_id=f"call-{done}-{index}")}

    return FunctionModel(stream_function=stream)


def agent(name, *steps, spawns=(), tools=()):
    sets = [messaging_tools(), asking_tools(), *([spawn_tools({one.name: one for one in spawns})] if spawns else [])]
    return Agent(scripted(*steps), name=name, toolsets=sets, tools=tools)


'''


def write_gated_team(folder: Path, agents: str, policy: str = "default", config: str = "") -> None:
    """A team in Python whose entry agent is `assistant`; `agents` makes it with `agent`, as it stands above."""
    (folder / "gated_team.py").write_text(TEAM + agents)
    table = '[agents.assistant]\nagent = "gated_team:assistant"\n'
    (folder / "restante.toml").write_text(f'policy = "{policy}"\nentry = "assistant"\n{config}\n{table}')


def _unbroken(text: str) -> str:
    return re.sub(r"\s+", "", text)
