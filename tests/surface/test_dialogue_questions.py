"""What counts as a yes or a no, how a call that waits is shown, and which call an answer is for."""

import asyncio
from pathlib import Path

import pytest

from restante.running.agents import build_agents
from restante.running.config import load_config
from restante.running.platform import open_platform
from restante.running.tasks import owning_group
from restante.surface.cli.dialogue_questions import read_verdict, shown_question, whole_arguments
from restante.surface.cli.dialogue_screen import Screen
from restante.surface.cli.dialogue_terminal import Terminal
from restante.turn import GatedCall, Verdict
from tests.surface.terminal import write_team


def gated(**arguments: object) -> GatedCall:
    return GatedCall(address="w#1", tool_call_id="c1", tool="write_file", arguments=arguments, request="[1] go")


@pytest.mark.parametrize(
    ("line", "allowed", "reason"),
    [
        ("y", True, None),
        ("yes", True, None),
        ("Y ", True, None),
        ("n", False, None),
        ("no", False, None),
        ("n because of this", False, "because of this"),
        ("no, not there\nbut here", False, "not there\nbut here"),
        ("N: later", False, "later"),
    ],
)
def test_a_yes_a_no_and_the_reason_of_a_no(line: str, allowed: bool, reason: str | None) -> None:
    assert read_verdict(line) == Verdict(allowed=allowed, reason=reason)


@pytest.mark.parametrize(
    "line", [" y", " n", "yes please", "y n", "now", "none of it", "nothing", "yy", "@w y", "/n", ""]
)
def test_anything_else_is_words(line: str) -> None:
    assert read_verdict(line) is None


@pytest.mark.parametrize("height", [3, 8, 30])
@pytest.mark.parametrize("width", [20, 79])
def test_a_call_that_waits_fits_and_says_where_all_of_it_is(width: int, height: int) -> None:
    shown = shown_question(gated(path="a.txt", text="word " * 500 + "END"), 2, width, height)

    lines = [line.plain.rstrip() for line in shown]
    seen = " ".join(" ".join(lines).split())
    assert max(len(line) for line in lines) <= width
    assert seen.startswith("? w#1 wants to call write_file ")
    assert "/arguments shows all of them." in seen
    assert seen.endswith("2 more wait after it.")
    assert "END" not in seen
    assert len(lines) <= max(height, 10 if width == 20 else 4)


def test_no_argument_can_look_like_another_one() -> None:
    lines = [
        line.plain for line in shown_question(gated(text='x" ' * 40 + '    path: "b.txt"', path="a.txt"), 0, 40, 30)
    ]

    assert [line for line in lines if line.startswith("    ") and line[4] != " "] == [lines[1], '    path: "a.txt"']


def test_all_of_a_call_is_whole_and_acts_on_nothing() -> None:
    text = whole_arguments(gated(text="\x1b[2J" + "l" * 5_000 + "\u202e END")).plain

    assert text.startswith('w#1 wants to call write_file with:\n{\n  "text": "\\u001b[2Jlll')
    assert text.endswith('lll\\u202e END"\n}')


@pytest.mark.rows("T141")
@pytest.mark.anyio
async def test_an_answer_is_for_the_call_that_was_seen_and_for_no_other(tmp_path: Path) -> None:
    write_team(tmp_path, "[[assistant]]\nsay = 'x'\n")
    config = load_config(tmp_path / "restante.toml")
    async with (
        open_platform(config, build_agents(config), tmp_path / "store.db") as platform,
        owning_group() as group,
    ):
        terminal = Terminal(platform, Screen(None), group)
        dialogue = terminal._dialogue
        dialogue.chat_id = "chat-1"
        asked = [asyncio.create_task(dialogue.questions.ask("chat-1", gated(number=number))) for number in (1, 2)]
        await asyncio.sleep(0)
        assert not terminal.enter("y")
        terminal.changing(80, 20)
        assert terminal.enter("y")
        assert not terminal.enter("y")
        terminal.changing(80, 20)
        assert terminal.enter("n no more")
        assert await asyncio.gather(*asked) == [Verdict(allowed=True), Verdict(allowed=False, reason="no more")]
        assert terminal.enter("y")

    assert terminal._entered == ["y"]
