"""`restante chat` in a real pseudo-terminal: one types while a turn runs."""

import json
import re
import resource
from pathlib import Path

import pytest

from tests.surface.dialogues import READY, Gates, at_terminal, write_gated_team
from tests.surface.terminal import restante

both = pytest.mark.parametrize("policy", ["default", "classic"])

STREAMED = """
assistant = agent(
    "assistant",
    [("say", "It begins"), ("gate", "go"), ("say", " and ends.")],
    [("say", "You said more.")],
)
"""


@both
@pytest.mark.rows("T190")
def test_what_is_typed_while_an_answer_comes_joins_the_turn_at_once(tmp_path: Path, policy: str) -> None:
    write_gated_team(tmp_path, STREAMED, policy)
    gates = Gates("go")
    with at_terminal("chat", folder=tmp_path, gates=gates) as person:
        person.sees(READY)
        person.types("first\r")
        person.sees("It begins")
        person.types("and this\r")
        page = person.sees("person -> assistant: and this  ○ accepted")
        assert "and ends." not in page
        gates.open("go")
        person.sees("person -> assistant: and this  ✓ delivered")
        page = person.sees("tokens in")
        person.types("\x04")
        assert person.leaves() == 0

    assert page.index("It begins and ends.") < page.index("You said more.")
    (chat,) = json.loads(restante("chats", "--json", folder=tmp_path).out)["chats"]
    assert (chat["turns"], chat["last_state"]) == (1, "ended_ok")


TEAMWORK = """
researcher = agent(
    "researcher",
    [("send_message", {"to": "assistant", "text": "found it"})],
    [("gate", "work"), ("say", "done")],
    [("say", "done")],
)
assistant = agent(
    "assistant",
    [("spawn", {"agent": "researcher", "task": "look"})],
    [("say", "It is 42.")],
    spawns=[researcher],
)
"""


@both
@pytest.mark.rows("T315", "T322")
def test_messages_are_a_line_each_and_stand_at_their_place_among_the_rounds(tmp_path: Path, policy: str) -> None:
    write_gated_team(tmp_path, TEAMWORK, policy)
    gates = Gates("work")
    with at_terminal("chat", folder=tmp_path, gates=gates) as person:
        person.sees(READY)
        person.types("What is it?\r")
        person.sees("researcher#1 -> assistant: found it  ○ accepted")
        person.types("say why\r")
        person.sees(": say why  ○ accepted")
        gates.open("work")
        page = person.sees("tokens in")
        person.types("/rounds assistant\r")
        rounds = person.sees("Ended: answered").partition("> /rounds assistant")[2]

    lines = [line for line in page.splitlines() if line]
    delivered = [line for line in lines if "✓ delivered" in line]
    assert [line.partition(" -> ")[0] for line in delivered] == ["researcher#1", "person"]
    assert "Round" not in page
    marked = [line for line in rounds.splitlines() if line.startswith("Message (mid-turn)")]
    assert marked == ["Message (mid-turn): [message from researcher#1] found it", "Message (mid-turn): say why"]


@pytest.mark.rows("T328")
def test_the_roster_of_the_running_turn_says_who_works_and_how_they_are_addressed(tmp_path: Path) -> None:
    write_gated_team(tmp_path, TEAMWORK)
    gates = Gates("work")
    with at_terminal("chat", folder=tmp_path, gates=gates) as person:
        person.sees(READY)
        person.types("/agents\r")
        person.sees("This chat is still empty")
        person.types("What is it?\r")
        person.sees("found it  ○ accepted")
        person.types("/agents\r")
        page = person.sees("researcher#1 is one of them, researcher all of that name, everyone all that read.")

    assert "- assistant (waiting)" in page
    assert "- researcher#1 (running)" in page


UNREAD = """
researcher = agent("researcher", [("say", "42")])
assistant = agent(
    "assistant",
    [("spawn", {"agent": "researcher", "task": "look"})],
    [
        ("send_message", {"to": "everyone", "text": "taken by nobody"}),
        ("send_message", {"to": "researcher#1", "text": "taken by nobody"}),
    ],
    [("gate", "end"), ("say", "It is 42.")],
    spawns=[researcher],
)
"""
"""By default nobody is left for the first and the second is refused; under classic the first comes back."""


@both
@pytest.mark.rows("T318", "T299")
def test_what_was_not_delivered_is_said_after_the_answer_and_before_the_next_turn(tmp_path: Path, policy: str) -> None:
    write_gated_team(tmp_path, UNREAD, policy)
    gates = Gates("end")
    with at_terminal("chat", folder=tmp_path, gates=gates) as person:
        person.sees(READY)
        for words in ("one", "two"):
            gates.open("end")
            person.types(f"{words}\r")
            page = person.sees("after it was accepted)", times=1 if words == "one" else 2)

    to = "everyone" if policy == "default" else "researcher#1"
    said = f"Undelivered: assistant -> {to}: taken by nobody ("
    assert page.count(said) == 2
    assert page.index("It is 42.") < page.index(said) < page.index("> two") < page.rindex("It is 42.")


@both
@pytest.mark.rows("T319")
def test_a_turn_that_ends_in_a_chat_that_is_not_in_view_leaves_a_notice_that_names_it(
    tmp_path: Path, policy: str
) -> None:
    write_gated_team(tmp_path, UNREAD, policy)
    gates = Gates("end")
    with at_terminal("chat", folder=tmp_path, gates=gates) as person:
        person.sees(READY)
        person.types("one\r")
        person.sees("taken by nobody")
        person.types("/new\r")
        person.sees("A new chat with assistant.")
        gates.open("end")
        page = person.sees("(one) there is an answer, and 1 message was not delivered.")
        (chat,) = json.loads(restante("chats", "--json", folder=tmp_path).out)["chats"]
        name = chat["chat_id"][:13]
        assert f"In {name} (one) there is an answer" in page
        assert "Undelivered:" not in page
        person.types(f"/switch {name}\r")
        shown = person.sees("after it was accepted)")

    assert "It is 42." in shown
    assert "Undelivered: assistant -> " in shown


ONE = 'assistant = agent("assistant", [("say", "Yes.")])\n'


@both
@pytest.mark.rows("T091", "T098")
def test_a_blank_line_does_nothing_and_too_many_words_stay_in_the_input(tmp_path: Path, policy: str) -> None:
    write_gated_team(tmp_path, ONE, policy)
    with at_terminal("chat", folder=tmp_path) as person:
        person.sees(READY)
        person.types("\r  \r")
        person.pastes("w" * 20_000 + "END")
        person.looks_until(lambda _: person.input().endswith("wEND"), "the end of what was pasted")
        person.types("\r")
        person.sees("A text has at most 20,000 characters; this one has 20,003.")
        person.looks_until(lambda _: person.input().endswith("wEND"), "the words, still in the input")
        person.types("\x7f" * 3 + "\r")
        person.sees("Yes.")

    (chat,) = json.loads(restante("chats", "--json", folder=tmp_path).out)["chats"]
    assert chat["turns"] == 1


@pytest.mark.rows("T098", "T346")
@both
def test_words_that_could_not_be_stored_are_in_the_input_again_and_no_run_sees_them(
    tmp_path: Path, policy: str
) -> None:
    write_gated_team(tmp_path, STREAMED, policy, config="[limits]\ntext_max = 300")
    gates = Gates("go")
    with at_terminal("chat", folder=tmp_path, gates=gates) as person:
        person.sees(READY)
        person.types("first\r")
        person.sees("It begins")
        person.types("w" * 301 + "\r")
        person.sees("A text has at most 300 characters; this one has 301.")
        person.types("\x15")
        _, hard = resource.prlimit(person.process.pid, resource.RLIMIT_FSIZE)
        resource.prlimit(person.process.pid, resource.RLIMIT_FSIZE, (0, hard))
        person.types("no room for this\r")
        person.looks_until(lambda _: person.input() == "no room for this", "the words in the input")
        page = person.sees("The store cannot be written.")
        assert "person ->" not in page
        resource.prlimit(person.process.pid, resource.RLIMIT_FSIZE, (hard, hard))
        gates.open("go")
        person.sees("It begins and ends.")
        person.sees("tokens in")
        page = person.page()

    assert "You said more." not in page


HOSTILE = "a\x1b]0;owned\x07\x1b[2J\x08\r\x7f\x9b31m\u202e `touch t` $(touch t)"
SEEN = r"a\x1b]0;owned\x07\x1b[2J\x08\r\x7f\x9b31m\u202e `touch t` $(touch t)"
HOSTILES = f"""
TEXT = {HOSTILE!r}
researcher = agent("researcher", [("send_message", {{"to": "assistant", "text": TEXT}})], [("say", TEXT)])
assistant = agent(
    "assistant",
    [("spawn", {{"agent": "researcher", "task": TEXT}})],
    [
        ("send_message", {{"to": "everyone", "text": TEXT}}),
        ("send_message", {{"to": "researcher#1", "text": TEXT}}),
    ],
    [("say", TEXT)],
    spawns=[researcher],
)
"""


@both
@pytest.mark.rows("T324", "T325", "B167", "B169", "B173")
def test_hostile_text_is_shown_as_text_in_every_view_and_does_nothing(tmp_path: Path, policy: str) -> None:
    write_gated_team(tmp_path, HOSTILES, policy)
    typed = "run `touch t` now $(touch t)"
    with at_terminal("chat", folder=tmp_path, size=(200, 50)) as person:
        person.sees(READY)
        person.types(f"{typed}\r")
        page = person.sees("tokens in")
        person.types("/agents\r/rounds assistant\r/show m1\r")
        person.sees("Ended: answered")
        person.sees(SEEN, times=page.count(SEEN) + 3)
        title, raw = person.title, person.raw
    with at_terminal("export", "--full", folder=tmp_path, size=(200, 50)) as person:
        exported = person.sees("after it was accepted")
        raw += person.raw

    assert f"> {typed}" in page
    assert f"researcher#1 -> assistant: {SEEN}  ✓ delivered" in page
    assert f": {SEEN} (" in page.replace("\n", "")
    # The export breaks lines where the text has a carriage return.
    assert SEEN.partition(r"\r")[0] in exported
    assert SEEN.partition(r"\r")[2] in exported
    assert title == ""
    assert all(acts.encode() not in raw for acts in ("owned\x07", "\x1b[2J", "\x9b", "\u202e"))
    assert not (tmp_path / "t").exists()
    (turn,) = json.loads(restante("export", "--json", folder=tmp_path).out)["turns"]
    delivered = [entry["facts"]["text"] for entry in turn["entries"] if entry["kind"] == "delivery"]
    assert set(delivered) == {HOSTILE}
    assert turn["cause"][0]["text"] == typed


LONG = """
researcher = agent("researcher", [("send_message", {"to": "assistant", "text": "F" + "long " * 60})], [("say", "ok")])
assistant = agent(
    "assistant", [("spawn", {"agent": "researcher", "task": "look"})], [("say", "Yes.")], spawns=[researcher]
)
"""


@both
@pytest.mark.rows("T326", "B170")
def test_a_long_line_begins_with_its_first_character_and_a_command_shows_it_whole(tmp_path: Path, policy: str) -> None:
    write_gated_team(tmp_path, LONG, policy)
    with at_terminal("chat", folder=tmp_path, size=(40, 20)) as person:
        person.sees(READY)
        person.types("go\r")
        page = person.sees("[221 characters more: /show m1]  ✓ delivered")
        person.types("/show m1\r")
        whole = person.sees("F" + "long " * 60)

    assert "assistant: Flong long" in page.replace("\n", " ")
    assert max(len(line) for line in whole.splitlines()) <= 40


def test_the_first_control_c_stops_the_turn_and_the_second_leaves(tmp_path: Path) -> None:
    write_gated_team(tmp_path, STREAMED)
    with at_terminal("chat", folder=tmp_path, gates=Gates("go")) as person:
        person.sees(READY)
        person.types("first\r")
        person.sees("It begins")
        person.types("\x03")
        person.sees("Stopped: there is no answer.")
        person.types("\x03")
        person.sees("Ctrl-C again leaves.")
        person.types("\x03")
        assert person.leaves() == 0


def test_control_d_says_what_still_runs_and_stops_it_before_it_leaves(tmp_path: Path) -> None:
    write_gated_team(tmp_path, STREAMED)
    with at_terminal("chat", folder=tmp_path, gates=Gates("go")) as person:
        person.sees(READY)
        person.types("first\r")
        person.sees("It begins")
        person.types("\x04")
        assert person.leaves() == 0
        page = person.page()

    assert "Still at work: chat-" in page
    assert page.rstrip().endswith("`restante chat --last` goes on with this chat.")
    assert "Stopped: there is no answer." in page
    (chat,) = json.loads(restante("chats", "--json", folder=tmp_path).out)["chats"]
    assert chat["last_state"] == "stopped"


def test_what_was_said_before_comes_back_and_many_lines_can_be_pasted(tmp_path: Path) -> None:
    write_gated_team(tmp_path, ONE)
    with at_terminal("chat", folder=tmp_path, size=(40, 20)) as person:
        person.sees(READY)
        person.pastes("one\ntwo\nthree")
        person.looks_until(lambda _: person.input() == "onetwothree", "three lines in the input")
        person.types("\r")
        person.sees("tokens in")
        person.resizes(60, 25)
        person.types("\x1b[A")
        person.looks_until(lambda _: person.input() == "onetwothree", "the same again")
        person.types("\x03\x04")
        assert person.leaves() == 0

    (chat,) = json.loads(restante("chats", "--json", folder=tmp_path).out)["chats"]
    assert chat["turns"] == 1


def test_a_store_that_is_in_use_is_refused_with_what_works_beside_it(tmp_path: Path) -> None:
    write_gated_team(tmp_path, ONE)
    with at_terminal("chat", folder=tmp_path) as person:
        person.sees(READY)
        ran = restante("chat", folder=tmp_path)

    assert ran.code == 7
    assert "is in use by process" in ran.err
    assert "`restante send`" in ran.err


def test_without_colour_there_is_none(tmp_path: Path) -> None:
    write_gated_team(tmp_path, ONE)
    with at_terminal("chat", folder=tmp_path, NO_COLOR="1") as person:
        person.sees(READY)
        person.types("x\r")
        person.sees("tokens in")
        assert not re.search(rb"\x1b\[[0-9;]*(3[0-7]|38;|9[0-7])[0-9;]*m", person.raw)
