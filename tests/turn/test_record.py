"""The record of a turn: every message with its fates, every run with its counts, and nothing of what was refused."""

import asyncio
import json
from collections.abc import Sequence
from typing import Any

import pytest

from restante.bus import BusPolicy
from restante.testing import ScriptedModel, call, calls, fails, says
from restante.turn import Turn, TurnResult
from tests.turn.playing import BOTH
from tests.turn.rich import rich_turn
from tests.turn.stage import Cast, sends, spawns, waits

pytestmark = pytest.mark.anyio

both = pytest.mark.parametrize("policy", BOTH, ids=lambda policy: policy.name)
Facts = dict[str, Any]


def messages_of(result: TurnResult) -> list[Facts]:
    messages: Any = result.record["messages"]
    return messages


def fates_of(message: Facts) -> list[tuple[str | None, str, str | None, int | None, bool]]:
    """Address, state, reason, call, and whether it was owed."""
    return [tuple(fate.values()) for fate in message["fates"]]


MESSAGES = [
    # message_id, sender, origin, to, text, in_reply_to
    ("x1", "ci", "external", "assistant", "the build is broken", None),
    ("m2", "researcher#1", "agent", "everyone", "to all", None),
    ("m3", "researcher#1", "agent", "researcher#2", "to the one that fails", None),
    ("m4", "researcher#1", "agent", "everyone", "to those that are left", None),
    ("m5", "coder#1", "agent", "assistant", "a reply", "m2"),
    ("m6", "person", "person", "everyone", "too late for this turn", None),
]
FAILED = ("undelivered", "model_call_failed")


@both
@pytest.mark.rows("T311")
async def test_the_record_holds_every_accepted_message_whole_and_no_refused_one(policy: BusPolicy) -> None:
    rich = await rich_turn(policy)
    record, messages = rich.result.record, messages_of(rich.result)

    assert record["policy"] == policy.name
    facts = ("message_id", "sender", "origin", "to", "text", "in_reply_to")
    assert [tuple(message[fact] for fact in facts) for message in messages] == MESSAGES
    assert [message["sequence"] for message in messages] == list(range(1, 7))
    assert "to nobody" not in json.dumps(record)
    assert [entry.kind for entry in rich.cast.entries if "to nobody" in json.dumps(dict(entry.facts))] == ["tool_call"]
    assert "not_found: " in rich.cast.entries.results("send_message", "researcher#1")[2]


@pytest.mark.rows("T311")
async def test_the_record_says_of_each_address_what_became_of_a_message_and_in_which_call() -> None:
    messages = {message["message_id"]: message for message in messages_of((await rich_turn(BusPolicy())).result)}

    assert {one: (facts["matched"], facts["not_reached"]) for one, facts in messages.items()} == {
        "x1": (["assistant"], []),
        "m2": (["assistant", "researcher#2"], []),
        "m3": (["researcher#2"], []),
        "m4": (["assistant"], ["researcher#2"]),
        "m5": (["assistant"], []),
        "m6": ([], ["assistant", "researcher#1", "researcher#2", "coder#1"]),
    }
    assert {one: fates_of(facts) for one, facts in messages.items()} == {
        "x1": [("assistant", "delivered", None, 1, True)],
        "m2": [
            ("assistant", "delivered", None, 1, True),
            ("researcher#2", *FAILED, 1, True),
            ("coder#1", "delivered", None, 0, False),
        ],
        "m3": [("researcher#2", *FAILED, 1, True)],
        "m4": [("assistant", "delivered", None, 1, True), ("coder#1", "delivered", None, 0, False)],
        "m5": [("assistant", "delivered", None, 2, True)],
        "m6": [("assistant", "carried", None, None, True)],
    }


@pytest.mark.rows("T311")
async def test_under_classic_the_record_has_one_fate_for_each_message_and_every_reading_beside_it() -> None:
    messages = {
        message["message_id"]: message for message in messages_of((await rich_turn(BusPolicy.classic())).result)
    }

    assert {one: (facts["matched"], facts["not_reached"]) for one, facts in messages.items()} == {
        "x1": (["assistant"], []),
        "m2": (["assistant", "researcher#1", "researcher#2"], []),
        "m3": (["researcher#2"], []),
        "m4": (["assistant", "researcher#1", "researcher#2"], []),
        "m5": (["assistant"], []),
        "m6": (["assistant", "researcher#1", "researcher#2", "coder#1"], []),
    }
    owed = {one: [fate[:3] for fate in fates_of(facts) if fate[-1]] for one, facts in messages.items()}
    assert owed == {
        **{one: [(None, "delivered", None)] for one in ("x1", "m2", "m4", "m5")},
        "m3": [(None, *FAILED)],
        "m6": [("assistant", "carried", None)],
    }
    readings = {one: {fate[0]: fate[3] for fate in fates_of(facts) if not fate[-1]} for one, facts in messages.items()}
    assert readings == {
        "x1": {"assistant": 1},
        "m2": {"researcher#1": 2, "assistant": 1, "coder#1": 1},
        "m3": {},
        "m4": {"researcher#1": 6, "assistant": 1, "coder#1": 1},
        "m5": {"assistant": 2},
        "m6": {},
    }


@both
@pytest.mark.rows("T311")
async def test_the_record_says_of_each_run_how_it_ended_and_counts_what_it_did(policy: BusPolicy) -> None:
    runs: Any = (await rich_turn(policy)).result.record["runs"]

    own = policy.own_sends_come_back
    assert [
        (run["address"], run["how"], run["rounds"], run.get("moves", 0), run["sent"], run["read"]) for run in runs
    ] == [
        ("assistant", "answered", 4, 2, 0, 4),
        ("researcher#1", "answered", 7, 2 if own else 0, 3, 2 if own else 0),
        ("researcher#2", "error", 2, 1, 0, 0),
        ("coder#1", "answered", 2, 1 if own else 0, 1, 2),
    ]
    assert [run["state"] for run in runs] == ["finished" if policy.liveness else None] * 4
    assert runs[2]["error"] == "ScriptedFailure: boom"


# A turn that ends badly


def check_complete(cast: Cast, result: TurnResult, addresses: Sequence[str]) -> None:
    """The end of every run, a fate for every obligation, a result for every call; the end of the turn is the last."""
    assert result.record["closed"]
    assert [entry.kind for entry in cast.entries][-1] == "bus_closed"
    assert [entry.number for entry in cast.entries] == list(range(1, len(cast.entries) + 1))
    assert sorted(str(entry.address) for entry in cast.all("run_closed")) == sorted(addresses)
    asked = [(one.address, one.facts["tool_call_id"]) for one in cast.all("tool_call")]
    assert sorted((one.address, one.facts["tool_call_id"]) for one in cast.all("tool_result")) == sorted(asked)
    books: Any = result.record["books"]
    assert (books["accepted"], books["claimed"]) == (0, 0)
    settled = sum(1 for one in cast.all("fate") if one.facts["obliged"])
    assert settled == books["accepted_in_all"] == books["delivered"] + books["undelivered"] + books["carried"]


@both
@pytest.mark.rows("T302", "B222")
async def test_a_turn_that_fails_has_its_finished_rounds_in_the_journal_and_then_its_fates_and_its_end(
    policy: BusPolicy,
) -> None:
    cast = Cast(
        policy,
        researcher=[sends("assistant", "found it"), says("42")],
        assistant=[calls(call("list_agents")), spawns("researcher"), waits("fails"), fails("boom")],
    )

    async with cast.turn() as turn:
        turn.say("and the cache?")
        assert cast.entries.story("assistant") == [
            *("round 0", "calls list_agents", "list_agents: ok"),
            *("round 1", "calls spawn", "spawns researcher#1", "spawn: ok"),
            *("reads found it", "round 2", "calls wait_at"),
        ]
        before = list(cast.entries)
        await cast.open("fails")
        result = await turn.result()

    assert (result.outcome, result.error) == ("failed", "ScriptedFailure: boom")
    assert cast.entries[: len(before)] == before
    check_complete(cast, result, ["assistant", "researcher#1"])
    assert [words.text for words in result.report.next_turn] == ["and the cache?"]
    assert result.report.unmet == ()


@both
@pytest.mark.rows("T302", "B222")
async def test_a_turn_whose_task_is_cancelled_from_outside_is_complete_and_waited_for_nothing(
    policy: BusPolicy,
) -> None:
    waiting = [waits("first"), sends("researcher#2", "look here"), waits("never opened")]
    cast = Cast(
        policy,
        researcher=ScriptedModel.of_runs(waiting, [waits("never opened")]),
        assistant=[calls(call("list_agents")), spawns("researcher", "researcher"), says("never")],
    )
    turns: list[Turn] = []
    both_run = asyncio.Event()

    async def wait() -> None:
        async with cast.turn() as turn:
            turns.append(turn)
            await cast.open("first")
            both_run.set()
            await turn.result()

    task = asyncio.ensure_future(wait())
    await both_run.wait()
    assert cast.entries.story("researcher#1") == [
        *("round 0", "calls wait_at", "wait_at: ok"),
        *("round 1", "calls send_message", "send_message: ok"),
        *("round 2", "calls wait_at"),
    ]
    before = list(cast.entries)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task  # though gates are closed for ever

    result = await turns[0].result()
    assert cast.entries[: len(before)] == before
    check_complete(cast, result, ["assistant", "researcher#1", "researcher#2"])
    reason = "run_ended_first" if policy.liveness else "never_drained"
    assert [(unmet.text, unmet.reason) for unmet in result.report.unmet] == [("look here", reason)]
    assert {run.how for run in result.runs} == {"cancelled"}
