"""`restante chat` with background workers: questions and replies, and what is shown once the agent has answered."""

from pathlib import Path

import pytest

from tests.surface.dialogues import READY, Gates, at_terminal, write_gated_team
from tests.surface.terminal import restante

both = pytest.mark.parametrize("policy", ["default", "classic"])

TEAM = """
FINDINGS = "F" + "inding " * 20
SPAWNS = [("spawn", "researcher"), ("spawn", "writer")]
researcher = agent(
    "researcher",
    [("ask", {"to": "assistant", "text": "Paper or ink?"})],
    [
        ("send_message", {"to": "writer#1", "text": "use the paper"}),
        ("send_message", {"to": "everyone", "text": FINDINGS}),
    ],
    *[[("say", "found")]] * 5,
)
writer = agent("writer", [("gate", "write"), ("fail", "gone")])
assistant = agent(
    "assistant",
    [(tool, {"agent": name, "task": "work", "background": True}) for tool, name in SPAWNS],
    [("await_workers", {"addresses": ["researcher#1"]})],
    [("send_message", {"to": "researcher#1", "text": "By its paper."})],
    [("gate", "end"), ("say", "It is 1612.")],
    *[[("say", "It is 1612.")]] * 5,
    spawns=[researcher, writer],
)
"""
FINDINGS = "F" + "inding " * 20


CANCELLED = "then it is cancelled."


@both
@pytest.mark.rows("T322", "T329", "B131")
def test_every_message_has_its_line_and_the_answer_stands_before_those_who_go_on(tmp_path: Path, policy: str) -> None:
    write_gated_team(tmp_path, TEAM, policy)
    gates = Gates("write", "end")
    with at_terminal("chat", folder=tmp_path, gates=gates, size=(240, 40)) as person:
        person.sees(READY)
        person.types("When?\r")
        person.sees("assistant, writer#1 work")
        gates.open("end")
        gone_on = person.looks_until(lambda seen: "writer#1 works" in seen.partition(CANCELLED)[2])
        gates.open("write")
        page = person.sees("tokens in")
    exported = restante("export", "--full", folder=tmp_path).out

    answer, _, going_on = gone_on.partition("writer#1 goes on in the background, with 30 s left; then it is cancelled.")
    assert "It is 1612." in answer
    assert "researcher#1 -> writer#1: use the paper  ○ accepted" in going_on
    assert "researcher#1 -> assistant (question): Paper or ink?  ✓ delivered" in page
    assert "assistant -> researcher#1 (reply): By its paper.  ✓ delivered" in page
    assert "researcher#1 -> writer#1: use the paper  ✗ undelivered" in page.partition(CANCELLED)[2]
    assert page.count(f"{FINDINGS[:80]} [61 characters more: /show m4]  ✓ delivered") == 1
    assert "Round" not in page
    assert "[message from researcher#1] (question) Paper or ink?\n" in exported
    assert "[message from assistant] (reply) By its paper.\n" in exported
    assert "[message from researcher#1]\n\n```text\nFinding inding" in exported
    assert "> **Undelivered:** researcher#1 -> writer#1: use the paper (" in exported
    assert "**Sub-agent (writer#1) in the background:** work\n" in exported
    assert "*In the background there went on, with 30 s left: writer#1*\n" in exported
