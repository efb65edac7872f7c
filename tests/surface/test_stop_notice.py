"""What the person who stops a turn is told: that it stopped, what was not delivered, and what was not read."""

from typing import Any

import pytest

from restante.bus import BusPolicy
from restante.surface.leftovers import Leftovers
from restante.testing import ScriptedModel, says
from restante.turn import TurnResult
from tests.surface.chats import turn as kept
from tests.turn.playing import BOTH
from tests.turn.stage import Cast, sends, spawns, waits

pytestmark = pytest.mark.anyio

both = pytest.mark.parametrize("policy", BOTH, ids=lambda policy: policy.name)


def notice(cast: Cast) -> str:
    """What the person is told of a turn that was stopped."""
    return Leftovers(kept(cast.entries, "stopped")).stop_notice()


def fates(result: TurnResult) -> dict[str, set[tuple[str, str | None]]]:
    """The states and reasons of each message of the record, by its text."""
    messages: Any = result.record["messages"]
    return {one["text"]: {(fate["state"], fate["reason"]) for fate in one["fates"]} for one in messages}


@both
@pytest.mark.rows("T134")
async def test_words_that_were_not_read_when_the_person_stopped_are_told_and_not_run_again(policy: BusPolicy) -> None:
    cast = Cast(policy, assistant=[waits("never opened")])

    async with cast.turn() as turn:
        turn.say("and look at the cache")
        turn.stop()
        result = await turn.result()

    assert result.report.next_turn == ()
    assert fates(result) == {"and look at the cache": {("undelivered", "stopped")}}
    first, line = notice(cast).splitlines()
    assert first == "Stopped: there is no answer, and what you said while it ran was not read."
    assert line.startswith("Undelivered: person -> everyone")
    assert "and look at the cache" in line


@both
@pytest.mark.rows("T134")
@pytest.mark.parametrize("said", [(), ("and be brief",)], ids=["nothing said", "all read"])
async def test_a_stop_that_leaves_nothing_unread_is_told_plainly(policy: BusPolicy, said: tuple[str, ...]) -> None:
    cast = Cast(policy, assistant=[waits("read"), waits("never opened")])

    async with cast.turn() as turn:
        for words in said:
            turn.say(words)
        await cast.open("read")
        turn.stop()
        result = await turn.result()

    assert (result.outcome, result.report) == ("stopped", ((), ()))
    assert fates(result) == {words: {("delivered", None)} for words in said}
    assert notice(cast) == "Stopped: there is no answer."


async def test_words_to_one_worker_that_it_read_are_not_called_unread() -> None:
    cast = Cast(
        BusPolicy(),
        researcher=[waits("read"), waits("never opened")],
        assistant=[spawns("researcher"), says("never")],
    )

    async with cast.turn() as turn:
        turn.say("drop that", to="researcher#1")
        turn.say("all of you", to="everyone")
        await cast.open("read")
        turn.stop()

    assert notice(cast).splitlines()[0].endswith("was not read.")
    assert [line.count("drop that") for line in notice(cast).splitlines()] == [0, 0]


@both
@pytest.mark.rows("T301", "B222")
async def test_messages_that_wait_when_the_person_stops_are_in_the_record_and_in_one_notice(policy: BusPolicy) -> None:
    first = [sends("assistant", "found it"), sends("researcher#2", "look here"), waits("never opened")]
    cast = Cast(
        policy,
        researcher=ScriptedModel.of_runs(first, [waits("never opened")]),
        assistant=[spawns("researcher", "researcher"), says("never")],
    )

    async with cast.turn() as turn:
        turn.stop()
        result = await turn.result()

    assert fates(result) == {text: {("undelivered", "stopped")} for text in ("found it", "look here")}
    told = notice(cast).splitlines()
    assert told[0] == "Stopped: there is no answer."
    assert [line.partition(" (")[0] for line in told[1:]] == [
        "Undelivered: researcher#1 -> assistant: found it",
        "Undelivered: researcher#1 -> researcher#2: look here",
    ]
