"""`restante run` and `restante export`, as processes, with scripted models on the real platform and store."""

import json
import signal
import subprocess
import sys
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
    assert ran.err == f"Undelivered: {THANKS} (no matching reader took it; 0 s after it was accepted)\n"
    assert ran.code == 0

    exported = restante("export", "--full", folder=tmp_path)

    assert exported.code == 0
    assert "**Person:** What is it?" in exported.out
    assert "**Sub-agent (researcher#1):** look" in exported.out
    assert "> **Undelivered:** assistant -> everyone:" in exported.out
    assert "thanks \x1b]0;owned\x07 all" in exported.out

    written = restante("export", "--full", "-o", "chat.md", folder=tmp_path)

    assert (written.code, written.out) == (0, "")
    assert (tmp_path / "chat.md").read_text() == exported.out


def test_the_prompt_comes_from_standard_input_whole_and_the_turn_comes_as_json(tmp_path: Path) -> None:
    write_team(tmp_path, '[[assistant]]\nwhen = "$(id) `x`\\n\\n"\nsay = "ja \\u202e"\n')

    ran = restante("run", "-", "--json", folder=tmp_path, stdin=b"-n $(id) `x`\n\n")

    turn = json.loads(ran.out)
    assert (turn["state"], turn["answer"], ran.code) == ("ended_ok", "ja \u202e", 0)
    assert "\u202e" not in ran.out
    assert turn["entries"][0]["kind"] == "run_opened"


def test_quiet_prints_the_answer_alone(tmp_path: Path) -> None:
    write_team(tmp_path, SCENE)

    assert restante("run", "--quiet", "x", folder=tmp_path).out == "It is 42.\n"


def test_a_turn_that_fails_says_why_and_has_another_exit_code(tmp_path: Path) -> None:
    write_team(tmp_path, "[[assistant]]\nwhen = 'never'\nsay = 'x'\n")

    ran = restante("run", "x", folder=tmp_path)

    assert ran.code == 1
    assert ran.err.startswith("Failed: ScriptEnded: ")
    assert "**Failed:**" in restante("export", folder=tmp_path).out


def test_control_c_stops_the_turn_and_tells_what_was_not_delivered(tmp_path: Path) -> None:
    script = """\
[[assistant]]
call = {tool = "send_message", args = {to = "everyone", text = "wait for me"}}
[[assistant]]
seconds = 60
say = "never"
"""
    write_team(tmp_path, script)
    command = [*COMMAND, "run", "x", "--json"]
    with subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        _wait_for_message(tmp_path)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=60)

    turn = json.loads(out)
    assert (turn["state"], turn["answer"], process.returncode) == ("stopped", None, 4), err
    assert [(one["text"], one["reason"]) for one in turn["report"]["unmet"]] == [("wait for me", "stopped")]


def _wait_for_message(folder: Path) -> None:
    """Look into the journal until the message is there; the store may be read while it is written."""
    script = """
import sqlite3, sys, time
end = time.monotonic() + 50
while time.monotonic() < end:
    try:
        with sqlite3.connect(f"file:{sys.argv[1]}?mode=ro", uri=True) as db:
            if db.execute("SELECT 1 FROM journal WHERE kind = 'message'").fetchone():
                sys.exit(0)
    except sqlite3.OperationalError:
        pass
sys.exit(1)
"""
    subprocess.run([sys.executable, "-c", script, str(folder / ".restante/store.db")], check=True)


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


def test_help_loads_nothing_heavy() -> None:
    script = "import sys, restante.surface.cli.main; print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout.split()

    heavy = {"pydantic", "pydantic_ai", "rich", "asyncio", "sqlite3", "fastapi", "starlette", "uvicorn", "httpx2"}
    assert heavy.isdisjoint(loaded)
