"""`restante run` and `restante export`, as processes, with scripted models on the real platform and store."""

import json
import os
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

import pytest

from tests.surface.terminal import COMMAND, restante, write_team

SCENE = """\
[[assistant]]
call = {tool = "spawn", args = {agent = "researcher", task = "look"}}
[[assistant]]
call = {tool = "send_message", args = {to = "everyone", text = "thanks \\u001b]0;owned\\u0007 all"}}
[[assistant]]
say = "It is 42."
[[researcher]]
call = {tool = "send_message", args = {to = "assistant", text = "found 42"}}
[[researcher]]
say = "42"
"""
THANKS = "assistant -> everyone: thanks \\x1b]0;owned\\x07 all"


def test_a_turn_shows_each_message_with_its_fate_then_the_answer_then_what_was_not_delivered(tmp_path: Path) -> None:
    write_team(tmp_path, SCENE)

    ran = restante("run", "What is it?", folder=tmp_path)

    assert ran.out.splitlines() == [
        "+ researcher#1 starts: look",
        "researcher#1 -> assistant: found 42  ✓ delivered",
        f"{THANKS}  ✗ undelivered: nobody came to read it before the turn ended",
        "It is 42.",
    ]
    left, last = ran.err.splitlines()
    assert left == f"Undelivered: {THANKS} (no matching reader took it; 0 s after it was accepted)"
    assert last.startswith("The whole chat: restante export chat-")
    assert ran.code == 0

    exported = restante("export", last.split()[-1], "--full", folder=tmp_path)

    assert exported.code == 0
    assert "**Person:** What is it?" in exported.out
    assert "**Sub-agent (researcher#1):** look" in exported.out
    assert "> **Undelivered:** assistant -> everyone:" in exported.out
    assert "thanks \x1b]0;owned\x07 all" in exported.out

    written = restante("export", "--full", "-o", "chat.md", folder=tmp_path)

    assert (written.code, written.out) == (0, "")
    assert (tmp_path / "chat.md").read_text() == exported.out


REPORTED = """\
[[assistant]]
call = {tool = "spawn", args = {agent = "researcher", task = "look"}}
[[researcher]]
say = "42"
[[assistant]]
call = [
  {tool = "send_message", args = {to = "everyone", text = "taken by nobody"}},
  {tool = "send_message", args = {to = "researcher#1", text = "taken by nobody"}},
]
"""
"""By default nobody is left for the first and the second is refused; under classic the first comes back."""


@pytest.mark.rows("T299", "T303")
@pytest.mark.parametrize("policy", ["default", "classic"])
@pytest.mark.parametrize("ends", ['[[assistant]]\nsay = "It is 42."\n', ""], ids=["answered", "failed"])
def test_a_chat_that_is_loaded_again_shows_how_the_turn_ended_and_then_what_was_not_delivered(
    tmp_path: Path, policy: str, ends: str
) -> None:
    write_team(tmp_path, REPORTED + ends, config=f'policy = "{policy}"')
    codes = [restante("run", prompt, folder=tmp_path).code for prompt in ("one", "two")]

    export = restante("export", folder=tmp_path).out

    assert codes == ([0, 0] if ends else [1, 1])
    assert "**Person:** two" in export
    end = "**Answer:** It is 42." if ends else "**Failed:**"
    to = "everyone" if policy == "default" else "researcher#1"
    assert export.index(end) < export.index(f"> **Undelivered:** assistant -> {to}: taken by nobody (")
    assert export.count("**Failed:**") == (0 if ends else 1)


def test_the_prompt_comes_from_standard_input_whole_and_the_turn_comes_as_json(tmp_path: Path) -> None:
    write_team(tmp_path, '[[assistant]]\nwhen = "$(id) `x`\\n\\n"\nsay = "ja \\u202e"\n')

    ran = restante("run", "-", "--json", folder=tmp_path, stdin=b"-n $(id) `x`\n\n")

    turn = json.loads(ran.out)
    assert (turn["state"], turn["answer"], ran.code) == ("ended_ok", "ja \u202e", 0)
    assert "\u202e" not in ran.out
    assert turn["entries"][0]["kind"] == "bus_opened"


def test_the_chats_of_a_store_are_listed_with_the_newest_first(tmp_path: Path) -> None:
    write_team(tmp_path, SCENE)
    assert restante("chats", folder=tmp_path).code == 5
    first, second = (json.loads(restante("run", "x", "--json", folder=tmp_path).out)["chat_id"] for _ in range(2))

    listed = restante("chats", folder=tmp_path)

    assert [line.split("  ")[0] for line in listed.out.splitlines()] == [second, first]
    assert listed.out.splitlines()[0].endswith("  1 turn  x")
    chats = json.loads(restante("chats", "--json", folder=tmp_path).out)["chats"]
    assert [(chat["chat_id"], chat["agent"]) for chat in chats] == [(second, "assistant"), (first, "assistant")]


def test_the_version_is_that_of_the_package(tmp_path: Path) -> None:
    assert restante("--version", folder=tmp_path).out == f"restante {version('restante')}\n"


def test_an_export_that_cannot_be_written_says_so(tmp_path: Path) -> None:
    write_team(tmp_path, '[[assistant]]\nsay = "x"\n')
    restante("run", "x", folder=tmp_path)

    refused = restante("export", "-o", "none/chat.md", folder=tmp_path)

    assert (refused.code, "none/chat.md cannot be written" in refused.err) == (5, True)


def test_quiet_prints_the_answer_alone(tmp_path: Path) -> None:
    write_team(tmp_path, SCENE)

    assert restante("run", "--quiet", "x", folder=tmp_path).out == "It is 42.\n"


REFUSED = """\
[[assistant]]
call = [
  {tool = "send_message", args = {to = "resercher", text = "hello"}},
  {tool = "spawn", args = {agent = "nobody", task = "look"}},
  {tool = "spawn", args = {agent = "researcher", task = "look \\u001b[2J"}},
]
[[assistant]]
say = "It is 42."
[[researcher]]
when = "never"
say = "42"
"""


def test_what_was_refused_or_failed_is_seen_while_the_turn_runs(tmp_path: Path) -> None:
    write_team(tmp_path, REFUSED)

    ran = restante("run", "x", folder=tmp_path)

    lines = ran.out.splitlines()
    assert any(line.startswith("✗ refused: assistant -> resercher: not_found: ") for line in lines), ran.out
    assert any(line.startswith("✗ spawn assistant -> nobody: not_found: ") for line in lines)
    assert any(line.startswith("✗ spawn assistant -> researcher: researcher#1 failed: ScriptEnded: ") for line in lines)
    assert "\x1b" not in ran.out


def test_a_turn_that_fails_says_why_and_has_another_exit_code(tmp_path: Path) -> None:
    write_team(tmp_path, "[[assistant]]\nwhen = 'never'\nsay = 'x'\n")

    ran = restante("run", "x", folder=tmp_path)

    assert ran.code == 1
    assert ran.err.startswith("Failed: ScriptEnded: ")
    assert "**Failed:**" in restante("export", folder=tmp_path).out


@pytest.mark.parametrize(
    ("arguments", "stdin", "code", "words"),
    [
        (["run", "x", "--config", "none.toml"], b"", 2, "restante init"),
        (["run", "  "], b"", 2, "empty or blank"),
        (["run", "-"], b"ab\xff", 2, "not UTF-8 at byte 2"),
        (["export", "chat-0"], b"", 5, "There is no"),
        (["export"], b"", 5, "restante run"),
        (["run"], b"", 2, "PROMPT"),
        (["nothing"], b"", 2, "nothing"),
    ],
)
def test_what_cannot_be_done_is_said_on_standard_error_with_the_exit_code_of_its_kind(
    tmp_path: Path, arguments: list[str], stdin: bytes, code: int, words: str
) -> None:
    write_team(tmp_path, SCENE)

    ran = restante(*arguments, folder=tmp_path, stdin=stdin)

    assert (ran.code, ran.out) == (code, "")
    assert words in ran.err
    assert "Traceback" not in ran.err


def test_a_faulty_configuration_is_one_line_with_file_and_line(tmp_path: Path) -> None:
    write_team(tmp_path, SCENE, config="[limits]\nround = 3")

    ran = restante("run", "x", folder=tmp_path)

    assert ran.code == 2
    assert ran.err == "restante: restante.toml:3: 'round' is no key of [limits]. The nearest one is 'rounds'.\n"


@pytest.mark.parametrize("arguments", [["export"], ["run", "x"], ["--help"]])
def test_output_that_cannot_be_written_is_said_in_one_line(tmp_path: Path, arguments: list[str]) -> None:
    write_team(tmp_path, SCENE)
    restante("run", "x", folder=tmp_path)

    with Path("/dev/full").open("w") as full:
        command = [*COMMAND, *arguments]
        ran = subprocess.run(command, cwd=tmp_path, stdout=full, stderr=subprocess.PIPE, check=False, text=True)

    assert ran.returncode == 1
    assert ran.stderr == "restante: The output could not be written: No space left on device.\n"


def test_our_commands_show_no_banner_of_the_library_to_anybody(tmp_path: Path) -> None:
    write_team(tmp_path, SCENE)
    environment = {key: value for key, value in os.environ.items() if not key.startswith(("PYTEST", "CI"))}

    ran = subprocess.run(
        [*COMMAND, "run", "x", "--quiet"],
        cwd=tmp_path,
        env=environment | {"AI_AGENT": "a coding agent, to whom the library would show it in a pipe"},
        capture_output=True,
        text=True,
        check=True,
    )

    assert "logfire" not in ran.stderr.lower()


def test_help_loads_nothing_heavy() -> None:
    script = "import sys, restante.surface.cli.main; print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout.split()

    heavy = {"pydantic", "pydantic_ai", "rich", "asyncio", "sqlite3", "fastapi", "starlette", "uvicorn", "httpx2"}
    assert heavy.isdisjoint(loaded)


def test_a_store_is_made_only_in_a_folder_that_is_there_and_where_a_team_is(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    write_team(tmp_path, SCENE)

    runs = [restante(*command, folder=tmp_path / "empty") for command in (["token", "create", "x"], ["run", "x"])]
    named = restante("run", "x", "--store", "nope/x/store.db", folder=tmp_path)

    assert [(ran.code, "There is no restante.toml. `restante init` writes one." in ran.err) for ran in runs] == [
        (2, True),
        (2, True),
    ]
    assert list((tmp_path / "empty").iterdir()) == []
    assert (named.code, "There is no folder nope/x for the store." in named.err) == (2, True)
    assert not (tmp_path / "nope").exists()


def test_a_token_says_in_which_store_it_is(tmp_path: Path) -> None:
    write_team(tmp_path, SCENE)

    made = [restante("token", "create", "x", *named, folder=tmp_path) for named in ([], ["--store", "other.db"])]

    assert [ran.code for ran in made] == [0, 0]
    assert 'For "x", in .restante/store.db. ' in made[0].err
    assert 'For "x", in other.db. ' in made[1].err
