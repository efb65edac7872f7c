"""`restante chat`: a person writes to one run by name, and to all of a label, while a turn runs."""

import json
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.surface.dialogues import READY, Gates, Person, at_terminal, write_gated_team
from tests.surface.terminal import restante

both = pytest.mark.parametrize("policy", ["default", "classic"])

TEAM = """
researcher = agent("researcher", [("gate", "look"), ("say", "found")], [("say", "found")])
writer = agent("writer", [("say", "written")])
assistant = agent(
    "assistant",
    [(tool, {"agent": name, "task": "work"}) for tool, name in [("spawn", "writer")] + [("spawn", "researcher")] * 2],
    [("gate", "end"), ("say", "It is 42.")],
    spawns=[researcher, writer],
)
"""
"""Two researchers work, and a writer who has ended, while the assistant waits for all."""


@contextmanager
def at_work(folder: Path, policy: str, gates: Gates, team: str = TEAM) -> Generator[Person]:
    """A person in whose chat the team works."""
    write_gated_team(folder, team, policy)
    with at_terminal("chat", folder=folder, gates=gates) as person:
        person.sees(READY)
        person.types("go\r")
        person.sees("assistant, researcher#1, researcher#2 work")
        yield person


def deliveries(folder: Path) -> set[tuple[str, str]]:
    """What the person said and who has read it."""
    found = [entry for entry in entries(folder) if entry["kind"] == "delivery" and entry["facts"]["origin"] == "person"]
    return {(entry["facts"]["text"], entry["address"]) for entry in found}


def entries(folder: Path) -> list[dict[str, Any]]:
    """The journal of the last chat."""
    turns = json.loads(restante("export", "--json", folder=folder).out)["turns"]
    return [entry for turn in turns for entry in turn["entries"]]


EVERYWHERE = {"assistant", "researcher#1", "researcher#2"}


@both
@pytest.mark.rows("T142", "T144", "T067", "B52", "B65")
def test_only_a_sign_at_the_very_start_addresses_and_each_line_shows_whom_it_is_for(
    tmp_path: Path, policy: str
) -> None:
    gates = Gates("look", "end")
    said = ["@researcher#2 drop that file", "@researcher stop", "@everyone hear", " @researcher#2 x"]
    with at_work(tmp_path, policy, gates) as person:
        for line in (*said, "ask @researcher#2", "@@property is odd"):
            person.types(f"{line}\r")
        page = person.sees("@property is odd  ○ accepted")
        for name in ("look", "look", "end"):
            gates.open(name)
        person.sees("tokens in")
        person.types("\x04")
        assert person.leaves() == 0

    assert "person -> researcher#2: drop that file  ○ accepted" in page
    assert "person -> researcher#1, researcher#2: stop  ○ accepted" in page
    everyone = {" @researcher#2 x", "ask @researcher#2", "@property is odd", "hear"}
    read = deliveries(tmp_path)
    assert {address for text, address in read if text == "drop that file"} == {"researcher#2"}
    assert {address for text, address in read if text == "stop"} == {"researcher#1", "researcher#2"}
    assert all({address for text, address in read if text == words} == EVERYWHERE for words in everyone)


@pytest.mark.rows("T143")
def test_words_to_nobody_who_reads_are_refused_with_the_roster_and_stay_in_the_input(tmp_path: Path) -> None:
    gates = Gates("look", "end")
    with at_work(tmp_path, "default", gates) as person:
        for times, line in enumerate(("@writer#1 hello", "@coder hello", "@ hello"), start=1):
            person.types(f"{line}\r")
            person.sees("- researcher#2 (running)", times=times)
            person.sees("double the @", times=times)
            person.looks_until(lambda _, line=line: person.input() == line, "the line, still in the input")
            person.types("\x15")
        person.types("@researcher#1\r")
        page = person.sees("There is nothing to read")
        person.looks_until(lambda _: person.input() == "@researcher#1", "the line, still in the input")
        person.types("\x15@as\t")
        person.looks_until(lambda _: person.input() == "@assistant", "an address, completed")
        for name in ("look", "look", "end"):
            gates.open(name)
        person.sees("tokens in")
        person.types("\x15@researcher#1 late\r")
        page = person.sees("No turn runs in this chat")
        person.looks_until(lambda _: person.input() == "@researcher#1 late", "the line, still in the input")

    assert "No further round will come of writer#1 (finished: answered). Nothing was stored." in page
    assert not [entry for entry in entries(tmp_path) if entry["kind"] == "message"]


UNREAD = """
researcher = agent("researcher", [("gate", "look"), ("fail", "gone")])
assistant = agent(
    "assistant",
    [("spawn", {"agent": "researcher", "task": "work"}), ("spawn", {"agent": "researcher", "task": "work"})],
    [("fail", "gone")],
    [("say", "It is 42.")],
    spawns=[researcher],
)
"""


@both
@pytest.mark.rows("T145")
def test_unread_words_to_a_worker_are_told_and_those_to_the_entry_agent_begin_the_next_turn(
    tmp_path: Path, policy: str
) -> None:
    gates = Gates("look")
    with at_work(tmp_path, policy, gates, UNREAD) as person:
        person.types("@researcher#2 never read\r@assistant to you\r")
        person.sees("person -> assistant: to you  ○ accepted")
        gates.open("look")
        gates.open("look")
        page = person.sees("> to you")

    assert "Undelivered: person -> researcher#2: never read (" in page
    assert "person -> assistant: to you  → becomes the next turn" in page
