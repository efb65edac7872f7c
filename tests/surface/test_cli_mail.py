"""`restante serve`, and the commands that come to it as clients."""

import contextlib
import json
import os
import signal
import socket
import sqlite3
import stat
import subprocess
import threading
from collections.abc import Generator, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.surface.terminal import COMMAND, restante

AGENTS = """\
import asyncio
import re
from pydantic_ai import Agent
from pydantic_ai.messages import ModelResponse, TextPart, ToolCallPart
from pydantic_ai.models.function import FunctionModel
from restante.testing.scripted import prompt_of

def reply(messages, info):
    if len(messages) > 1:
        return ModelResponse(parts=[TextPart("done")])
    prompt = prompt_of(messages)
    inbox = re.search(r"inbox-[0-9a-f]{32}", prompt).group()
    arguments = {"action": "send", "inbox_id": inbox, "message": "\\x1b[2J got it"}
    return ModelResponse(parts=[ToolCallPart("messages", arguments)])

async def think(messages, info):
    await asyncio.Event().wait()

echo = Agent(FunctionModel(reply))
stuck = Agent(FunctionModel(think))
"""
CONFIG = """\
entry = "echo"
[agents.echo]
agent = "agents_of_test:echo"
[agents.stuck]
agent = "agents_of_test:stuck"
"""


@contextlib.contextmanager
def serving(folder: Path) -> Generator[subprocess.Popen[str]]:
    """A server that runs in that folder."""
    environment = os.environ | {"PYTHONPATH": str(folder)}
    command = [*COMMAND, "serve", "--port", "0"]
    with subprocess.Popen(command, cwd=folder, env=environment, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        assert any("restante serves" in line for line in process.stderr)
        try:
            yield process
        finally:
            process.send_signal(signal.SIGTERM)
            process.communicate(timeout=60)


def make_team(folder: Path) -> None:
    restante("init", folder=folder)
    (folder / "agents_of_test.py").write_text(AGENTS)
    (folder / "restante.toml").write_text(CONFIG)


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A folder in which a server runs."""
    folder = tmp_path_factory.mktemp("served")
    make_team(folder)
    with serving(folder) as process:
        yield folder
    assert process.returncode in (0, -signal.SIGTERM)


def test_what_an_agent_answers_to_a_send_can_be_waited_for(served: Path) -> None:
    sent = restante("send", "echo", "hello", "--json", folder=served)
    receipt = json.loads(sent.out)

    page = restante("read", receipt["inbox_id"], "--wait", "20", folder=served)

    assert (sent.code, receipt["accepted"], page.code) == (0, True, 0)
    head, body, foot = page.out.splitlines()
    assert "  echo -> owner  " in head
    assert body == "  \\x1b[2J got it"
    assert foot == "1 message"
    whole = json.loads(restante("read", receipt["inbox_id"], "--json", "--all", folder=served).out)
    assert whole["messages"][0]["message"] == "\x1b[2J got it"
    assert receipt["message_id"] in restante("states", folder=served).out


def test_a_receipt_says_that_nobody_has_read_it_and_how_to_wait(served: Path) -> None:
    sent = restante("send", "echo", "-", "--submission-id", "k1", folder=served, stdin=b"$(id) `x`\n\n")

    assert sent.code == 0
    assert sent.out.startswith("Accepted, not yet read: msg-")
    assert " --wait 25\n" in sent.out
    again = restante("send", "echo", "$(id) `x`\n\n", "--submission-id", "k1", folder=served)
    assert "by an earlier try" in again.out
    assert restante("send", "echo", "other", "--submission-id", "k1", folder=served).code == 4


def test_a_reading_goes_on_where_the_last_one_ended_and_takes_nothing_away(served: Path) -> None:
    token = restante("token", "create", "reader", folder=served).out.strip()
    restante("send", "echo", "one", "--token", token, folder=served)
    read = ("read", "--token", token)

    first = restante(*read, "--wait", "20", folder=served)
    none = restante(*read, folder=served)
    restante("send", "echo", "two", "--token", token, folder=served)
    second = restante(*read, "--wait", "20", folder=served)
    everything = restante(*read, "--all", folder=served)

    assert first.out.splitlines()[-1] == "1 message"
    assert none.out == "0 messages; older ones: restante read --all\n"
    assert second.out.splitlines()[-1] == "1 message; older ones: restante read --all"
    assert everything.out.splitlines()[-1] == "2 messages"
    assert (
        restante(*read, "--after", "0", "--limit", "1", folder=served)
        .out.splitlines()[-1]
        .startswith("1 message; there is more: restante read --after ")
    )
    assert restante(*read, folder=served).out.startswith("0 messages")


def test_what_was_skipped_is_not_read(served: Path) -> None:
    token = restante("token", "create", "skipper", folder=served).out.strip()
    restante("send", "echo", "one", "--token", token, folder=served)
    page = json.loads(restante("read", "--token", token, "--wait", "20", "--json", folder=served).out)
    cursors = set((served / ".restante/cursors").iterdir())
    (kept,) = (path for path in cursors if json.loads(path.read_text())["after"] == page["next_cursor"])
    assert stat.S_IMODE(kept.stat().st_mode) == 0o600
    kept.unlink()

    restante("read", "--token", token, "--after", str(page["next_cursor"]), folder=served)

    assert restante("read", "--token", token, folder=served).out.endswith("\n1 message\n")


@pytest.mark.parametrize(
    "damage",
    [
        "",
        "[]",
        "{",
        '{"after": -1, "store_id": "s"}',
        '{"after": 1, "store_id": "\\u0000"}',
        '{"after": true, "store_id": "s"}',
        '{"after": 9000000, "store_id": "s"}',
        '{"after": 1e99, "store_id": null}',
        "[" * 100_000,
    ],
)
def test_a_cursor_that_is_damaged_or_of_another_store_means_from_the_start(served: Path, damage: str) -> None:
    token = restante("token", "create", "damaged", folder=served).out.strip()
    restante("send", "echo", "one", "--token", token, folder=served)
    restante("read", "--token", token, "--wait", "20", folder=served)
    for path in (served / ".restante/cursors").iterdir():
        path.write_text(damage)

    again = restante("read", "--token", token, folder=served)

    assert (again.code, again.err) == (0, "")
    assert again.out.splitlines()[-1][0] in "123456789"
    assert restante("read", "--token", token, folder=served).out == "0 messages; older ones: restante read --all\n"


def test_elsewhere_the_cursor_is_kept_in_the_users_folder_for_state(served: Path, tmp_path: Path) -> None:
    url = json.loads((served / ".restante/store.db.lock").read_text())["address"]
    token = restante("token", "create", "elsewhere", folder=served).out.strip()
    restante("send", "echo", "one", "--token", token, folder=served)
    there: dict[str, Any] = {"RESTANTE_URL": url, "RESTANTE_TOKEN": token, "XDG_STATE_HOME": str(tmp_path / "state")}

    first = restante("read", "--wait", "20", folder=tmp_path, **there)

    assert first.out.endswith("\n1 message\n")
    assert restante("read", folder=tmp_path, **there).out.startswith("0 messages; ")
    (kept,) = (tmp_path / "state/restante/cursors").iterdir()
    assert token not in kept.name + kept.read_text()


def test_where_nothing_can_be_kept_the_messages_are_shown_all_the_same(served: Path, tmp_path: Path) -> None:
    url = json.loads((served / ".restante/store.db.lock").read_text())["address"]
    token = restante("token", "create", "nowhere", folder=served).out.strip()
    restante("send", "echo", "one", "--token", token, folder=served)
    (tmp_path / "file").write_text("")
    there: dict[str, Any] = {"RESTANTE_URL": url, "RESTANTE_TOKEN": token, "XDG_STATE_HOME": str(tmp_path / "file")}

    read = restante("read", "--wait", "20", folder=tmp_path, **there)

    assert (read.code, read.out.splitlines()[-1]) == (0, "1 message")
    assert read.err.startswith("Where you are could not be kept")


def test_a_send_that_is_repeated_says_what_has_become_of_it(tmp_path: Path) -> None:
    make_team(tmp_path)
    send = ("send", "stuck", "hello", "--submission-id", "k1")
    with serving(tmp_path):
        restante(*send, folder=tmp_path)
        with_one = restante("states", folder=tmp_path)
    with serving(tmp_path):
        again = restante(*send, folder=tmp_path)
        known = restante("states", "--submission-id", "k1", folder=tmp_path)

    assert "-> stuck  " in with_one.out
    assert again.out.startswith("Accepted by an earlier try; interrupted, the server stopped while its turn ran: msg-")
    assert "It will not run again by itself. Send it again with a new --submission-id" in again.out
    assert "interrupted, the server stopped while its turn ran" in known.out


def test_a_wait_whose_server_goes_away_says_so(tmp_path: Path) -> None:
    make_team(tmp_path)
    with serving(tmp_path):
        command = [*COMMAND, "read", "--wait", "60"]
        waiting = subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        restante("send", "stuck", "hello", folder=tmp_path)
    out, err = waiting.communicate(timeout=60)

    assert (waiting.returncode, out) == (7, ""), err
    assert "gave no answer" in err or "No server runs" in err


def test_a_token_is_made_while_the_server_runs_and_is_good_at_once(served: Path) -> None:
    made = restante("token", "create", "ci", folder=served)
    token = made.out.strip()

    sent = restante("send", "echo", "hello", "--json", "--token", token, folder=served)

    assert (made.code, sent.code) == (0, 0), sent.err
    assert "shown this once" in made.err
    assert token not in made.err
    named = json.loads(restante("token", "create", "ci", "--json", folder=served).out)
    assert (named["label"], named["token"] == token) == ("ci", False)


def test_a_chat_is_exported_while_the_server_goes_on(served: Path) -> None:
    inbox = json.loads(restante("send", "echo", "export me", "--json", folder=served).out)["inbox_id"]
    restante("read", inbox, "--wait", "20", folder=served)
    with contextlib.closing(sqlite3.connect(f"file:{served / '.restante/store.db'}?mode=ro", uri=True)) as store:
        (chat_id,) = store.execute("SELECT chat_id FROM chats").fetchone()

    exported = restante("export", chat_id, folder=served)

    assert exported.code == 0
    assert "# Chat with echo" in exported.out
    assert "**Message:** [message from owner] export me" in exported.out
    assert "**Tool call: `messages`**" in exported.out


def test_the_server_is_named_by_the_environment_too_and_then_gets_no_token_that_it_was_not_given(served: Path) -> None:
    url = json.loads((served / ".restante/store.db.lock").read_text())["address"]
    token = (served / ".restante/owner.token").read_text().strip()

    assert restante("health", folder=Path("/"), RESTANTE_URL=url).out == f"The server at {url} answers: ok.\n"
    assert restante("states", folder=Path("/"), RESTANTE_URL=url, RESTANTE_TOKEN=token).code == 0
    refused = restante("states", folder=served, RESTANTE_URL=url)
    assert (refused.code, "RESTANTE_TOKEN" in refused.err) == (3, True)


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (["send", "nobody", "x"], 5, "You can name: echo, stuck."),
        (["send", "echo", "x", "--token", "wrong\r"], 2, "This is no token"),
        (["send", "echo", "x", "--token", "é"], 2, "This is no token"),
        (["send", "echo", "\udcff"], 2, "Argument 3 is not UTF-8"),
        (["send", "echo", "x", "--submission-id", "\udcff"], 2, "not UTF-8"),
        (["send", "echo", "x", "--submission-id", ""], 2, "submission_id is empty"),
        (["read", "\udcff"], 2, "not UTF-8"),
        (["export", "\udcff"], 2, "not UTF-8"),
        (["read", "--url", "http://[::1", "--token", "t"], 2, "looks like http://127.0.0.1:8765"),
        (["health", "--url", "http://[::1"], 2, "looks like http://127.0.0.1:8765"),
        (["read", "--all", "--after", "3"], 2, "not both"),
        (["states", "--message-id", "msg-0"], 5, "no message with that message_id"),
        (["states", "--submission-id", "none"], 5, "no message with that submission_id"),
        (["send", "echo", " \n"], 2, "empty or blank"),
        (["send", "echo", "x", "--token", "wrong"], 3, "restante token create"),
        (["read", "inbox-0"], 5, ""),
        (["read", "--after", "-1"], 2, "after"),
        (["read", "--wait", "-1"], 2, "--wait"),
        (["states", "--state", "odd"], 2, "state is one of"),
        (["token", "create", "Person"], 2, "reserved"),
        (["token", "create", "owner"], 2, "local owner's"),
        (["run", "x"], 7, "in use by the server at http"),
        (["serve", "--port", "0"], 7, "in use by the server at http"),
    ],
)
def test_a_refusal_is_one_line_with_the_exit_code_of_its_kind(
    served: Path, monkeypatch: pytest.MonkeyPatch, arguments: list[str], code: int, words: str
) -> None:
    monkeypatch.syspath_prepend(str(served))  # pyright: ignore[reportUnknownMemberType]

    ran = restante(*arguments, folder=served)

    assert (ran.code, ran.out) == (code, ""), ran.err
    assert words in ran.err
    assert ran.err.count("\n") == 1


def test_without_a_server_the_commands_say_what_to_do(tmp_path: Path) -> None:
    for command in (["send", "a", "b"], ["read"], ["states"], ["health"]):
        ran = restante(*command, folder=tmp_path)
        assert (ran.code, "restante serve" in ran.err) == (7, True)
        assert "RESTANTE_URL=http://127.0.0.1:8765" in ran.err


@pytest.mark.parametrize("host", ["127.0.0.1", "no-such-host.invalid"])
def test_a_send_that_found_no_server_says_that_nothing_was_sent(tmp_path: Path, host: str) -> None:
    # Nothing listens at port 1.
    ran = restante("send", "a", "b", "--url", f"http://{host}:1", "--token", "t", folder=tmp_path)

    assert ran.code == 7
    assert ran.err.endswith(". Nothing was sent.\n")


def test_a_send_that_got_no_answer_is_unknown_and_says_how_to_repeat_it(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as hearing:

        def hang_up() -> None:
            while True:
                try:
                    hearing.accept()[0].close()
                except OSError:
                    return

        threading.Thread(target=hang_up, daemon=True).start()
        url = f"http://127.0.0.1:{hearing.getsockname()[1]}"
        ran = restante("send", "a", "b", "--url", url, "--token", "t", folder=tmp_path)
        hearing.shutdown(socket.SHUT_RDWR)

    assert ran.code == 7
    assert ". Whether it was accepted is unknown: send it again with --submission-id " in ran.err


def test_a_port_that_is_taken_is_refused_with_what_would_work(tmp_path: Path) -> None:
    restante("init", folder=tmp_path)

    ran = restante("serve", "--host", "203.0.113.1", folder=tmp_path)

    assert ran.code == 2
    assert "--host and --port" in ran.err


def test_the_owners_token_is_for_the_owner_alone(tmp_path: Path) -> None:
    restante("init", folder=tmp_path)

    assert stat.S_IMODE((tmp_path / ".restante/owner.token").stat().st_mode) == 0o600


def test_a_command_that_lacks_the_server_says_which_extra_to_install(tmp_path: Path) -> None:
    restante("init", folder=tmp_path)
    hide = "import sys; sys.modules.update(dict.fromkeys(['uvicorn', 'fastapi'])); "
    command = [COMMAND[0], "-c", hide + COMMAND[2], "serve"]

    ran = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=60, check=False)

    assert ran.returncode == 2
    assert ran.stderr.endswith("pip install 'restante[server]'.\n")
    assert ran.stderr.count("\n") == 1
