"""Long bodies: the record holds them whole, the report and a plain export say by how much they shortened them."""

from typing import Any

import pytest

from restante.bus import BusPolicy
from restante.testing import ScriptedModel, fails, says
from tests.surface.chats import exported
from tests.surface.chats import turn as kept
from tests.turn.playing import BOTH
from tests.turn.stage import Cast, sends, spawns, waits

pytestmark = pytest.mark.anyio

READ, UNREAD = "r" * 15_000, "u" * 15_000


async def long_texts(policy: BusPolicy) -> tuple[Cast, Any]:
    """One long message is delivered to the parent; another goes to a worker whose call fails for good."""
    first = [waits("both run"), sends("assistant", READ), sends("researcher#2", UNREAD), says("1")]
    cast = Cast(
        policy,
        researcher=ScriptedModel.of_runs(first, [waits("fails"), fails("boom")]),
        assistant=[spawns("researcher", "researcher"), says("done")],
    )
    async with cast.turn() as turn:
        await cast.open("both run")
        await cast.open("fails")
        return cast, await turn.result()


@pytest.mark.rows("T313", "B171")
@pytest.mark.parametrize("policy", BOTH, ids=lambda policy: policy.name)
async def test_long_bodies_are_whole_in_the_record_and_shortened_with_a_note_elsewhere(policy: BusPolicy) -> None:
    cast, result = await long_texts(policy)

    assert [message["text"] for message in result.record["messages"]] == [READ, UNREAD]
    (unmet,) = result.record["report"]["unmet"]
    assert (unmet["text"], unmet["missing"]) == (UNREAD[:2_000], 13_000)

    whole, plain = (exported(kept(cast.entries), full=full) for full in (True, False))
    # In the call that sent it, in the prompt that held it, and in the report on the one whose call failed.
    assert [whole.count(body) for body in (READ, UNREAD)] == [2, 3]
    assert "characters more" not in whole
    assert [plain.count(body) for body in (READ, UNREAD)] == [0, 0]
    assert [plain.count(f"{body[:2_000]} [13,000 characters more]") for body in (READ, UNREAD)] == [2, 3]
