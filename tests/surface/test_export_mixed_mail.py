"""One drain that held the person's words and an agent's: each part is signed by its own provenance, wherever shown."""

from typing import Any

import pytest

from restante.bus import BusPolicy
from restante.surface.cli.rounds import rounds_of
from restante.testing import says
from tests.surface.chats import exported
from tests.surface.chats import turn as kept
from tests.turn.playing import BOTH
from tests.turn.stage import Cast, sends, spawns, waits

pytestmark = pytest.mark.anyio

SIGN = "Message (mid-turn)"
MARKER = "[message from researcher#1]"


async def mixed(policy: BusPolicy) -> tuple[Cast, Any]:
    """The entry agent drains the words of both at once, when its worker has returned."""
    worker = [sends("assistant", "found it"), waits("the person"), sends("assistant", "found more"), says("42")]
    cast = Cast(policy, researcher=worker, assistant=[spawns("researcher"), says("done")])
    async with cast.turn() as turn:
        turn.say("and be quick", to="assistant")
        await cast.open("the person")
        return cast, await turn.result()


@pytest.mark.rows("T308", "B155")
@pytest.mark.parametrize("policy", BOTH, ids=lambda policy: policy.name)
async def test_each_message_of_one_drain_is_signed_by_itself_on_the_terminal_in_the_export_and_in_the_record(
    policy: BusPolicy,
) -> None:
    cast, result = await mixed(policy)
    signed = [f"{MARKER} found it", "and be quick", f"{MARKER} found more"]

    shown = [line.plain for line in rounds_of("assistant", cast.entries)]
    assert [line for line in shown if SIGN in line] == [f"{SIGN}: {words}" for words in signed]
    export = exported(kept(cast.entries, answer="done")).splitlines()
    assert [line for line in export if SIGN in line] == [f"**{SIGN}:** {words}" for words in signed]
    assert [(one["sender"], one["origin"], one["text"]) for one in result.record["messages"]] == [
        ("researcher#1", "agent", "found it"),
        ("person", "person", "and be quick"),
        ("researcher#1", "agent", "found more"),
    ]
    deliveries = [(one.facts["origin"], one.facts["sender"]) for one in cast.all("delivery", "assistant")]
    assert deliveries == [("agent", "researcher#1"), ("person", "person"), ("agent", "researcher#1")]
