"""Ctrl-C, and a system that tells commands to end: the turn is stopped, and what was not delivered is told."""

import json
import os
import signal
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.surface.commands import Command, start
from tests.surface.dialogues import PATIENCE_SECONDS, READY, Gates, at_terminal, write_gated_team
from tests.surface.terminal import restante, write_team

SLOW = """\
import asyncio, sys
from pydantic_ai import Agent
from pydantic_ai.messages import ModelResponse, ToolCallPart
from pydantic_ai.models.function import FunctionModel
from restante.turn import messaging_tools

async def think(messages, info):
    if len(messages) > 1:
        print("thinks", file=sys.stderr, flush=True)
        await asyncio.Event().wait()
    return ModelResponse(parts=[ToolCallPart("send_message", {"to": "everyone", "text": "wait for me"})])

slow = Agent(FunctionModel(think), toolsets=[messaging_tools()])
"""
either = pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM], ids=lambda number: number.name)


def write_slow_team(folder: Path) -> None:
    """An agent that says on standard error when it thinks, and never ends."""
    (folder / "slow_of_test.py").write_text(SLOW)
    (folder / "restante.toml").write_text('entry = "slow"\n[agents.slow]\nagent = "slow_of_test:slow"\n')


class Piped:
    """A command whose standard streams are pipes: what is written to it, and what it says on one of the others."""

    def __init__(self, command: Command, given: int, told: int) -> None:
        self.command = command
        self._given = given
        self._told = os.fdopen(told, "r", encoding="utf-8")

    def write(self, text: str) -> None:
        """Write to its standard input."""
        os.write(self._given, text.encode())

    def line(self) -> str:
        """The next line that it says."""
        return self._told.readline()

    def close(self) -> None:
        """End it, whatever it does."""
        self.command.kill()
        os.close(self._given)
        self._told.close()


@contextmanager
def piped(*arguments: str, folder: Path, heard: int) -> Generator[Piped]:
    """A command that runs; what it says on the stream with this number is heard, what on the other is in a file."""
    (theirs, given), (told, tells) = os.pipe(), os.pipe()
    with (folder / "said").open("w") as file:
        said = {heard: tells, 3 - heard: file.fileno()}
        command = start(*arguments, folder=folder, streams=(theirs, said[1], said[2]), environment=os.environ)
    os.close(theirs)
    os.close(tells)
    running = Piped(command, given, told)
    try:
        yield running
    finally:
        running.close()


@either
def test_a_signal_stops_the_turn_and_tells_what_was_not_delivered(tmp_path: Path, number: signal.Signals) -> None:
    write_slow_team(tmp_path)
    with piped("run", "x", "--json", folder=tmp_path, heard=2) as running:
        assert running.line() == "thinks\n"
        running.command.send_signal(number)
        code = running.command.wait(PATIENCE_SECONDS)

    turn = json.loads((tmp_path / "said").read_text())
    assert (turn["state"], turn["answer"], code) == ("stopped", None, 4)
    assert [(one["text"], one["reason"]) for one in turn["report"]["unmet"]] == [("wait for me", "stopped")]


def test_a_dialogue_by_lines_that_is_told_to_end_stops_its_turn_and_says_no_further_line(tmp_path: Path) -> None:
    write_slow_team(tmp_path)
    with piped("chat", folder=tmp_path, heard=2) as running:
        running.write("one\ntwo\n")
        assert running.line() == "thinks\n"
        running.command.send_signal(signal.SIGTERM)
        assert running.line() == "Stopped: there is no answer.\n"
        assert running.command.wait(PATIENCE_SECONDS) == 1

    (chat,) = json.loads(restante("chats", "--json", folder=tmp_path).out)["chats"]
    assert (chat["turns"], chat["last_state"]) == (1, "stopped")


def test_a_dialogue_by_lines_that_waits_for_one_ends_when_it_is_told_to(tmp_path: Path) -> None:
    write_team(tmp_path, "[[assistant]]\nsay = 'Yes.'\n")
    with piped("chat", folder=tmp_path, heard=2) as running:
        running.write("one\n/usage\n")
        running.line()  # so that the turn has ended
        running.command.send_signal(signal.SIGTERM)
        assert running.command.wait(PATIENCE_SECONDS) == 128 + signal.SIGTERM

    (chat,) = json.loads(restante("chats", "--json", folder=tmp_path).out)["chats"]
    assert (chat["turns"], chat["last_state"]) == (1, "ended_ok")


def test_a_dialogue_on_a_terminal_that_is_told_to_end_stops_its_turn_and_shows_the_report(tmp_path: Path) -> None:
    write_gated_team(tmp_path, 'assistant = agent("assistant", [("say", "It begins"), ("gate", "go")])\n')
    with at_terminal("chat", folder=tmp_path, gates=Gates("go")) as person:
        person.sees(READY)
        person.types("first\r")
        person.sees("It begins")
        person.process.send_signal(signal.SIGTERM)
        assert person.leaves() == 0
        page = person.page()

    assert page.index("Still at work: chat-") < page.index("Stopped: there is no answer.")
