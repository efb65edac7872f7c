"""`restante serve`, and the commands that come to it as clients."""

import contextlib
import json
import os
import signal
import sqlite3
import stat
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.surface.terminal import COMMAND, restante

ECHO = """\
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

echo = Agent(FunctionModel(reply))
"""


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A folder in which a server runs."""
    folder = tmp_path_factory.mktemp("served")
    restante("init", folder=folder)
    (folder / "agents_of_test.py").write_text(ECHO)
    (folder / "restante.toml").write_text('entry = "echo"\n[agents.echo]\nagent = "agents_of_test:echo"\n')
    environment = os.environ | {"PYTHONPATH": str(folder)}
    command = [*COMMAND, "serve", "--port", "0"]
    with subprocess.Popen(command, cwd=folder, env=environment, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        assert any("restante serves" in line for line in process.stderr)
        try:
            yield folder
        finally:
            process.send_signal(signal.SIGTERM)
            process.communicate(timeout=60)
    assert process.returncode in (0, -signal.SIGTERM)


def test_what_an_agent_answers_to_a_send_can_be_waited_for(served: Path) -> None:
    sent = restante("send", "echo", "hello", "--json", folder=served)
    receipt = json.loads(sent.out)

    page = restante("read", receipt["inbox_id"], "--wait", "20", folder=served)

    assert (sent.code, receipt["accepted"], page.code) == (0, True, 0)
    head, body, foot = page.out.splitlines()
    assert "  echo -> owner  " in head
    assert body == "  \\x1b[2J got it"
    assert foot.startswith("1 messages; go on with --after ")
    cursor = foot.split()[-1]
    assert restante("read", "--after", cursor, folder=served).out == f"0 messages; go on with --after {cursor}\n"
    whole = json.loads(restante("read", receipt["inbox_id"], "--json", folder=served).out)
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
        (["send", "nobody", "x"], 5, "No agent"),
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


def test_a_send_that_got_no_answer_is_unknown_and_says_how_to_repeat_it(tmp_path: Path) -> None:
    # Nothing listens at port 1.
    ran = restante("send", "a", "b", "--url", "http://127.0.0.1:1", "--token", "t", folder=tmp_path)

    assert ran.code == 7
    assert "unknown" in ran.err
    assert "--submission-id " in ran.err


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
