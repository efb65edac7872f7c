"""`restante chat` where nobody sits at a terminal, and a dialogue whose output fails."""

import json
import logging
from pathlib import Path

import pytest
from rich.console import RenderableType
from rich.text import Text

from restante.running.agents import build_agents
from restante.running.config import load_config
from restante.running.platform import open_platform
from restante.running.tasks import owning_group
from restante.surface.cli.dialogue_commands import COMMANDS, LEAVING
from restante.surface.cli.dialogue_talk import Dialogue
from tests.surface.terminal import restante, restante_process, write_team

both = pytest.mark.parametrize("policy", ["default", "classic"])

TEAM = """\
[[assistant]]
call = {tool = "spawn", args = {agent = "researcher", task = "look"}}
[[assistant]]
call = [
  {tool = "send_message", args = {to = "everyone", text = "taken by nobody"}},
  {tool = "send_message", args = {to = "researcher#1", text = "taken by nobody"}},
]
[[assistant]]
say = "It is 42."
[[researcher]]
say = "42"
"""


@both
@pytest.mark.rows("T091", "T325", "B173")
def test_each_line_is_said_after_the_answer_before_and_a_blank_one_does_nothing(tmp_path: Path, policy: str) -> None:
    write_team(tmp_path, TEAM, config=f'policy = "{policy}"')
    said = ["run `make test` now", "", "  \t", "$(id) 'two'"]

    ran = restante_process("chat", folder=tmp_path, stdin="\n".join(said).encode())

    assert ran.code == 0, ran.err
    assert ran.out.count("It is 42.\n") == 2
    assert ran.err.count("Undelivered: assistant -> ") == 2
    assert "\x1b" not in ran.out + ran.err
    chat = json.loads(restante("export", "--json", folder=tmp_path).out)
    assert [turn["cause"][0]["text"] for turn in chat["turns"]] == [said[0], said[3]]


def test_commands_work_by_lines_and_what_cannot_be_done_ends_with_its_exit_code(tmp_path: Path) -> None:
    write_team(tmp_path, TEAM)

    ran = restante_process("chat", folder=tmp_path, stdin=b"one\n/rounds\n/export mine.md\n/quit\nnever said\n")
    refused = restante_process("chat", "--last", folder=tmp_path, stdin=b"two\n/rounds nobody\nnever said\n")
    broken = restante_process("chat", folder=tmp_path, stdin=b"ab\xff\n")

    assert ran.code == 0, ran.err
    assert "researcher#1: 1 round" in ran.err
    assert "**Person:** one" in (tmp_path / "mine.md").read_text()
    assert (refused.code, "You can name: assistant, researcher#1." in refused.err) == (5, True)
    assert (broken.code, "Line 1 of standard input is not UTF-8 at its byte 2" in broken.err) == (2, True)
    chats = json.loads(restante("chats", "--json", folder=tmp_path).out)["chats"]
    assert [chat["turns"] for chat in chats] == [2]


NUDGED = """\
[[assistant]]
call = {tool = "spawn", args = {agent = "researcher", task = "look"}}
[[assistant]]
say = ""
[[assistant]]
say = "It is 42."
[[researcher]]
call = {tool = "send_message", args = {to = "assistant", text = "found it"}}
[[researcher]]
say = "42"
"""


@both
@pytest.mark.rows("T316")
def test_what_the_loop_itself_says_has_another_sign_than_a_message(tmp_path: Path, policy: str) -> None:
    write_team(tmp_path, NUDGED, config=f'policy = "{policy}"')

    ran = restante_process("chat", folder=tmp_path, stdin=b"one\n/rounds assistant\n")
    exported = restante("export", folder=tmp_path).out

    assert "\n! assistant: its answer could not be used, and it is asked again\n" in ran.out
    assert "\nMessage (mid-turn): [message from researcher#1] found it\n" in ran.err
    assert ran.err.count("Message (mid-turn)") == 1
    assert ran.err.count("\n! The loop says: ") == 1
    assert exported.count("**Message (mid-turn):**") == 1
    assert exported.count("**The loop asks again:** ") == 1


def test_a_turn_that_fails_has_another_exit_code(tmp_path: Path) -> None:
    write_team(tmp_path, "[[assistant]]\nwhen = 'never'\nsay = 'x'\n")

    ran = restante_process("chat", folder=tmp_path, stdin=b"one\n")

    assert (ran.code, "Failed: ScriptEnded: " in ran.err) == (1, True)


def test_the_page_on_the_terminal_lists_every_command() -> None:
    page = (Path(__file__).parents[2] / "docs" / "on-the-terminal.md").read_text()

    listed = [line.split("`")[1].split()[0] for line in page.splitlines() if line.startswith("| `/")]
    assert listed == [*(f"/{name}" for name in COMMANDS), f"/{LEAVING[0]}"]


class Failing:
    """An output that cannot tell what was not delivered."""

    streams = attends = False

    def __init__(self) -> None:
        self.seen: list[str] = []

    def show(self, shown: RenderableType) -> None:
        assert isinstance(shown, Text)
        self.seen.append(shown.plain)

    def tell(self, shown: RenderableType) -> None:
        if isinstance(shown, Text) and shown.plain.startswith("Undelivered"):
            raise OSError("the channel is gone")

    def echo(self, said: Text) -> None:
        self.show(said)

    def refresh(self) -> None: ...


@both
@pytest.mark.rows("T320")
@pytest.mark.anyio
async def test_a_channel_that_raises_at_the_report_is_logged_and_the_next_turn_runs(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, policy: str
) -> None:
    write_team(tmp_path, TEAM, config=f'policy = "{policy}"')
    config, output = load_config(tmp_path / "restante.toml"), Failing()
    async with open_platform(config, build_agents(config), tmp_path / "store.db") as platform:
        async with owning_group() as group:
            dialogue = Dialogue(platform, output, group)
            for words in ("one", "two"):
                await dialogue.wait_for_end((await dialogue.say(words)).turn_id)
        chat = await platform.transcript()

    assert output.seen.count("It is 42.") == 2
    assert [record.levelno for record in caplog.records if "could not be shown" in record.message] == [
        logging.ERROR
    ] * 2
    assert [(turn.state, len(turn.report["unmet"]) if turn.report else 0) for turn in chat.turns] == [
        ("ended_ok", 1)
    ] * 2


@pytest.mark.rows("T143", "T144")
def test_by_lines_nobody_can_be_addressed_since_no_turn_runs_and_a_doubled_sign_is_literal(tmp_path: Path) -> None:
    write_team(tmp_path, TEAM)

    ran = restante_process("chat", folder=tmp_path, stdin=b"@@property is odd\n@researcher#1 go\nnever said\n")

    assert (ran.code, "No turn runs in this chat, so there are no addresses." in ran.err) == (4, True)
    (turn,) = json.loads(restante("export", "--json", folder=tmp_path).out)["turns"]
    assert turn["cause"][0]["text"] == "@property is odd"
