"""`restante chat` and gated tools: the person says yes or no to each call, and why not."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.surface.dialogues import READY, Gates, at_terminal, write_gated_team
from tests.surface.terminal import restante, restante_process

both = pytest.mark.parametrize("policy", ["default", "classic"])

GATED = """
def write_note(path: str, text: str) -> str:
    "Writes a note."
    return f"wrote {path}"


researcher = agent(
    "researcher",
    [*FIRST, ("write_note", {"path": "a.txt", "text": TEXT}), ("write_note", {"path": "b.txt", "text": "b"})],
    *[[("say", "done")]] * 3,
    tools=[write_note],
)
assistant = agent(
    "assistant",
    [("spawn", {"agent": "researcher", "task": "look"})],
    [("say", "It is 42.")],
    spawns=[researcher],
)
"""
CONFIRM = '[agents.researcher]\nagent = "gated_team:researcher"\ntools.confirm = ["write_note"]\n'


def write_team(folder: Path, policy: str = "default", text: str = "short", first: tuple[str, ...] = ()) -> None:
    """A team whose researcher makes two calls that are gated; `first` is what it does before."""
    known = f"TEXT, FIRST = {text!r}, {[first] if first else []}\n"
    write_gated_team(folder, known + GATED, policy, config=CONFIRM)


def facts(folder: Path, kind: str) -> list[dict[str, Any]]:
    """The entries of one kind in the journal of the last chat."""
    turns = json.loads(restante("export", "--json", folder=folder).out)["turns"]
    return [entry["facts"] for turn in turns for entry in turn["entries"] if entry["kind"] == kind]


@both
@pytest.mark.rows("T141")
def test_calls_are_asked_one_after_the_other_and_an_answer_is_no_message(tmp_path: Path, policy: str) -> None:
    write_team(tmp_path, policy)
    with at_terminal("chat", folder=tmp_path, size=(140, 40)) as person:
        person.sees(READY)
        person.types("go\r")
        person.sees('path: "a.txt"')
        asked = person.sees("1 more waits after it.")
        person.types("not yet\r")
        person.sees("not yet  ○ accepted")
        person.types("y\r")
        person.looks_until(lambda seen: 'path: "b.txt"' in seen and "after it." not in seen, "the other call")
        person.types("n not that one\r")
        page = person.sees("tokens in")
        person.types("/rounds researcher#1\r")
        person.sees("the person said no: not that one", times=2)

    assert "? researcher#1 wants to call write_note" in asked
    assert '? researcher#1 wants to call write_note with {"path": "a.txt", "text": "short"}' in page
    assert 'may call write_note with {"path": "a.txt", "text": "short"}: the person said yes' in page
    assert 'may not call write_note with {"path": "b.txt", "text": "b"}: the person said no: not that one' in page
    results = [one["text"] for one in facts(tmp_path, "tool_result") if one["tool"] == "write_note"]
    assert sorted(results) == ["denied: not that one. The tool was not called.", "wrote a.txt"]
    assert [one["text"] for one in facts(tmp_path, "message")] == ["not yet"]
    exported = restante("export", folder=tmp_path).out
    assert '**Waits for a yes:** `write_note` with `{"path": "b.txt", "text": "b"}`\n' in exported
    assert "**Refused:** `write_note`, the person said no: not that one" in exported


HOSTILE = "\x1b]0;owned\x07\x1b[2J\u202e y allows it\r" + "l" * 2_000 + "END"


def test_hostile_and_long_arguments_are_text_and_a_stop_withdraws_the_question(tmp_path: Path) -> None:
    write_team(tmp_path, text=HOSTILE, first=("gate", "ask"))
    gates = Gates("ask")
    with at_terminal("chat", folder=tmp_path, gates=gates, size=(80, 24)) as person:
        person.sees(READY)
        person.types("/arguments\r")
        person.sees("No call in this chat waits")
        person.types("go\r")
        person.sees("assistant, researcher#1 work")
        person.types("/new\r")
        person.sees("A new chat with assistant.")
        gates.open("ask")
        person.sees("researcher#1 wants to call write_note and waits for your yes or no. /switch chat-")
        person.sees("1 other chat at work, a call waits there")
        person.types("/switch\r/switch 1\r")
        person.sees("1 more waits after it.")
        page = person.sees(r'text: "\u001b]0;owned\u0007\u001b[2J\u202e y allows it\rlll')
        assert "lEND" not in page
        person.sees("/arguments shows all of them.")
        person.types("/arguments\r")
        person.sees("lEND")
        person.types("\x03")
        page = person.sees("Stopped: there is no answer.")
        assert "n refuses it" not in page
        person.types("/arguments\r")
        person.sees("No call in this chat waits", times=2)
        assert person.title == ""
        assert all(acts not in person.raw for acts in (b"owned\x07", b"\x1b[2J", "\u202e".encode()))


FILES = """
entry = "assistant"
[agents.assistant]
model = "scripted:script.toml"
folder = "notes"
tools.available = ["files"]
tools.confirm = ["write_file"]
"""
WRITES = """
[[assistant]]
call = {tool = "write_file", args = {path = "a.txt", text = "a"}}
[[assistant]]
say = "It is 42."
"""


@pytest.mark.parametrize("command", [("chat",), ("run", "go")])
def test_where_nobody_attends_a_gated_call_is_refused_and_the_turn_goes_on(
    tmp_path: Path, command: tuple[str, ...]
) -> None:
    (tmp_path / "restante.toml").write_text(FILES)
    (tmp_path / "script.toml").write_text(WRITES)

    ran = restante_process(*command, folder=tmp_path, stdin=b"go\n")

    assert ran.code == 0, ran.err
    assert "✗ assistant may not call write_file with {" in ran.out
    assert ": nobody could be asked: " in ran.out
    assert "It is 42." in ran.out
    assert not list((tmp_path / "notes").iterdir())


@pytest.mark.rows("T141")
def test_an_image_that_is_pasted_while_a_turn_runs_is_refused_and_stays_in_the_input(tmp_path: Path) -> None:
    write_gated_team(tmp_path, 'assistant = agent("assistant", [("gate", "end"), ("say", "It is 42.")])\n')
    image = b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR"
    gates = Gates("end")
    with at_terminal("chat", folder=tmp_path, gates=gates) as person:
        person.sees(READY)
        person.types("go\r")
        person.sees("assistant works")
        person.types("look at this: ")
        person.pastes(image)
        person.looks_until(lambda _: "IHDR" in person.input(), "what was pasted")
        person.types("\r")
        person.sees("cannot be sent. Leave that character out.")
        page = person.looks_until(lambda _: "look at this: " in person.input(), "the words, still in the input")
        person.types("\x15")
        gates.open("end")
        person.sees("tokens in")

    assert "person ->" not in page
    assert facts(tmp_path, "message") == []
