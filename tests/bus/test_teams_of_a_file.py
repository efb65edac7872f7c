"""Teams as `restante.toml` describes them, run by the command line."""

import json
from pathlib import Path

import pytest

from restante.bus import BusPolicy
from tests.bus.policies import both
from tests.surface.terminal import restante, write_team

TO_ALL = """\
[[assistant]]
call = [
  {tool = "spawn", args = {agent = "researcher", task = "one"}},
  {tool = "spawn", args = {agent = "researcher", task = "two"}},
]
[[assistant]]
say = "done"
[[researcher]]
call = [
  {tool = "send_message", args = {to = "researcher", text = "to the label"}},
  {tool = "send_message", args = {to = "everyone", text = "to all"}},
]
[[researcher]]
say = "ok"
[[researcher]]
say = "ok"
"""
COMMANDS = """\
[[assistant]]
call = {tool = "spawn", args = {agent = "researcher", task = "look"}}
[[assistant]]
say = "still here"
[[researcher]]
call = {tool = "send_message", args = {to = "assistant", text = "/clear"}}
[[researcher]]
call = {tool = "send_message", args = {to = "assistant", text = "/stop"}}
[[researcher]]
say = "42"
"""


@both
@pytest.mark.rows("T061")
def test_labels_and_everyone_work_in_a_team_that_declares_no_groups(tmp_path: Path, policy: BusPolicy) -> None:
    write_team(tmp_path, TO_ALL, config=f'policy = "{policy.name}"')

    turn = json.loads(restante("run", "go", "--json", folder=tmp_path).out)

    messages = [entry["facts"] for entry in turn["entries"] if entry["kind"] == "message"]
    assert sorted(facts["to"] for facts in messages) == ["everyone", "everyone", "researcher", "researcher"]
    for facts in messages:
        siblings = {address for address, _ in facts["matched"]} - {"assistant", facts["sender"]}
        assert siblings == {"researcher#1", "researcher#2"} - {facts["sender"]}


@both
@pytest.mark.rows("T097", "B178")
def test_what_an_agent_sends_is_never_run_as_a_command(tmp_path: Path, policy: BusPolicy) -> None:
    write_team(tmp_path, COMMANDS, config=f'policy = "{policy.name}"')

    ran = restante("run", "remember me", folder=tmp_path)
    export = restante("export", folder=tmp_path).out

    for text in ("/clear", "/stop"):
        assert f"researcher#1 -> assistant: {text}  ✓ delivered" in ran.out
        assert f"**Message (mid-turn):** [message from researcher#1] {text}" in export
    assert (ran.out.splitlines()[-1], ran.code) == ("still here", 0)
    assert [line.split(":")[0] for line in ran.err.splitlines()] == ["The whole chat"]
    assert export.index("**Person:** remember me") < export.index("/clear") < export.index("**Answer:** still here")
