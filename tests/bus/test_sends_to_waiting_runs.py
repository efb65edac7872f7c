"""A send never waits, also where it is to a run that waits for the sender."""

import pytest
from pydantic_ai import Agent

from restante.bus import BusPolicy
from restante.testing import ScriptedModel, call, calls, says
from restante.turn import TurnOptions, messaging_tools, spawn_tools
from tests.bus.policies import both
from tests.turn.playing import Entries, agent, play

pytestmark = pytest.mark.anyio

TELLS = calls(call("send_message", to="assistant", text="which format?"))


def place_of(entries: Entries, kind: str, address: str, number: int = 0) -> int:
    """Where an entry stands on the time line."""
    return [place for place, one in enumerate(entries) if (one.kind, one.address) == (kind, address)][number]


@both
@pytest.mark.rows("T088", "B185")
async def test_a_send_to_the_spawner_that_waits_returns_a_receipt_before_the_spawner_goes_on(
    policy: BusPolicy,
) -> None:
    spawns = calls(call("spawn", agent="researcher", task="x"))
    options = TurnOptions(agents={"researcher": agent(TELLS, says("ok"))}, policy=policy)

    entries = (await play(agent(spawns, says("markdown")), options=options)).entries

    assert entries.results("send_message")[0].startswith("Accepted for assistant")
    assert "markdown" not in entries.results("send_message")[0]
    assert place_of(entries, "tool_result", "researcher#1") < place_of(entries, "round", "assistant", 1)
    assert "reads which format?" in entries.story("assistant")


@both
@pytest.mark.rows("T088", "B185")
async def test_a_send_to_a_run_that_waits_through_others_returns_a_receipt_at_once(policy: BusPolicy) -> None:
    coder = agent(TELLS, says("ok"))
    lead = Agent(
        ScriptedModel(calls(call("spawn", agent="coder", task="x")), says("ok")),
        toolsets=[messaging_tools(), spawn_tools({"coder": coder})],
    )
    options = TurnOptions(agents={"lead": lead}, policy=policy)

    played = await play(agent(calls(call("spawn", agent="lead", task="x")), says("markdown")), options=options)

    assert played.entries.results("send_message")[0].startswith("Accepted for assistant")
    for waiting in ("lead#1", "assistant"):
        receipt = place_of(played.entries, "tool_result", "coder#1")
        assert receipt < place_of(played.entries, "round", waiting, 1)
