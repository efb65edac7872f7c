"""The demo, as anybody starts it: its messages travel for real, and its books balance."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

README = Path(__file__).parents[2] / "README.md"
COMMAND = Path(sys.executable).parent / "restante"


@pytest.fixture(scope="module")
def demos() -> dict[str, str]:
    """What the demo prints under each policy. Both play at once, since each takes its time for the eye."""
    wide = {**os.environ, "COLUMNS": "120"}
    playing = {
        policy: subprocess.Popen(
            [COMMAND, "demo", *options], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=wide
        )
        for policy, options in (("default", ()), ("classic", ("--classic",)))
    }
    printed = {policy: demo.communicate(timeout=100)[0] for policy, demo in playing.items()}
    assert [demo.returncode for demo in playing.values()] == [0, 0], printed
    return printed


@pytest.mark.parametrize("policy", ["default", "classic"])
def test_the_books_of_the_demo_balance(demos: dict[str, str], policy: str) -> None:
    assert "8 accepted = 7 delivered + 1 reported, 0 unexplained" in demos[policy]


@pytest.mark.parametrize("policy", ["default", "classic"])
def test_the_demo_is_about_three_dozen_lines(demos: dict[str, str], policy: str) -> None:
    lines = [line for line in demos[policy].splitlines() if line.strip()]

    assert 28 <= len(lines) <= 42
    assert lines[-2].startswith("Your model:")
    assert lines[-1].startswith("Your agents:")


def test_by_default_one_researcher_reads_the_other_while_both_work(demos: dict[str, str]) -> None:
    assert "researcher#1 -> assistant, researcher#2: the answer is 42  ✓ delivered" in demos["default"]


def test_by_default_thanks_to_a_finished_worker_are_refused_at_once(demos: dict[str, str]) -> None:
    assert (
        "✗ refused: assistant -> researcher#1: recipient_finished: No further round will come of researcher#1"
        in demos["default"]
    )
    assert "Undelivered: assistant -> everyone: Does anybody know a fourth?" in demos["default"]


def test_under_classic_the_same_thanks_are_accepted_and_then_reported(demos: dict[str, str]) -> None:
    assert "✗ refused" not in demos["classic"]
    assert "Undelivered: assistant -> researcher#1: Thank you for the fruits!" in demos["classic"]


@pytest.mark.parametrize("policy", ["default", "classic"])
def test_an_orchestrator_that_waits_is_asked_answers_and_redirects(demos: dict[str, str], policy: str) -> None:
    assert "researcher#1 -> assistant (question): Paper or ink: which is right?  ✓ delivered" in demos[policy]
    assert "assistant -> researcher#1 (reply): The paper: it is from 1612.  ✓ delivered" in demos[policy]
    assert "assistant -> researcher#2: Leave the ink: who drew it?  ✓ delivered" in demos[policy]


@pytest.mark.parametrize("policy", ["default", "classic"])
def test_a_client_that_lost_its_answer_finds_its_message_stored_once(demos: dict[str, str], policy: str) -> None:
    assert "replayed: true" in demos[policy]
    assert "clerk -> shop: Parcel 17 is in Lisbon.  ✓ the waiting read returns" in demos[policy]


def test_the_readme_opens_with_the_table_of_the_demo(demos: dict[str, str]) -> None:
    table = README.read_text().split("```text\n")[1].split("```")[0].splitlines()

    printed = [line.rstrip() for line in demos["default"].splitlines()]

    begins = printed.index(table[0])
    assert printed[begins : begins + len(table)] == table
