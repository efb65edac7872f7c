"""The policy that a configuration names, or does not, is the one that its turns obey and their record names."""

import asyncio
from pathlib import Path

import pytest

from restante.running.agents import build_agents
from restante.running.config import load_config
from restante.turn import TurnOptions, run_turn
from tests.surface.terminal import write_team
from tests.turn.playing import PATIENCE_SECONDS, Entries

pytestmark = pytest.mark.anyio

SCRIPT = """\
[[assistant]]
call = {tool = "send_message", args = {to = "everyone", text = "do I hear myself?"}}
[[assistant]]
say = "done"
"""


@pytest.mark.rows("T336")
@pytest.mark.parametrize(
    ("line", "policy", "hears_itself"),
    [("", "default", False), ('policy = "default"', "default", False), ('policy = "classic"', "classic", True)],
)
async def test_a_turn_obeys_the_policy_of_its_configuration_and_its_record_names_it(
    tmp_path: Path, line: str, policy: str, *, hears_itself: bool
) -> None:
    write_team(tmp_path, SCRIPT, config=line)
    config = load_config(tmp_path / "restante.toml")
    agent = build_agents(config)[config.entry].agent
    entries = Entries()

    async with asyncio.timeout(PATIENCE_SECONDS):
        result = await run_turn(agent, "go", TurnOptions(policy=config.policy, sink=entries.append))

    assert result.record["policy"] == policy
    assert [facts["text"] for facts in entries.of("delivery")] == ["do I hear myself?"] * hears_itself
    assert len(result.report.unmet) == (0 if hears_itself else 1)
