"""Runs that write to each other without end come to an end, and the account of the turn says where and why."""

import asyncio
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from pydantic_ai import Agent

from restante import BusPolicy, Reader
from restante.testing import call, calls, fails, says
from restante.turn import TurnOptions
from tests.bus.policies import both
from tests.turn.looping import looping
from tests.turn.playing import Played, agent, play

pytestmark = pytest.mark.anyio

NEXT = {"a#1": "b#1", "b#1": "c#1", "c#1": "a#1"}
Passes = Callable[[int], bool]


async def ring(policy: BusPolicy, passes: Passes, broken: Agent[Any, Any] | None = None) -> Played:
    """Three runs that stand in a ring and pass on what they have, in step, whenever `passes` says so of a call."""
    in_step = asyncio.Barrier(3)

    async def forward(reader: Reader, call: int) -> None:
        if broken and call == 0:
            await in_step.wait()
        if passes(call):
            reader.send(NEXT[reader.address], "pass it on")
        if broken is None or call == 0:
            await in_step.wait()

    async def step() -> str:
        """Let the others send, and wait until they have."""
        await in_step.wait()
        await in_step.wait()
        return "they have sent"

    if broken:
        broken.tool_plain(step)

    agents = {label: looping(forward) for label in "abc"} | ({"c": broken} if broken else {})
    spawns = calls(*[call("spawn", agent=label, task="forward") for label in "abc"])
    return await play(agent(spawns, says("ok")), options=TurnOptions(agents=agents, policy=policy))


def runs_of(played: Played) -> dict[str, dict[str, Any]]:
    """The runs of the ring, as the record has them."""
    runs: Any = played.result.record["runs"]
    return {run["address"]: run for run in runs if run["address"] in NEXT}


def always(_: int) -> bool:
    return True


def in_each_last_permitted(call: int) -> bool:
    """Whether what is sent in this call is read in the last one that is then permitted, of four."""
    return (call + 1) % 3 == 0


@pytest.mark.rows("T343", "B71")
@pytest.mark.parametrize(("passes", "made"), [(always, 6), (in_each_last_permitted, 10)])
async def test_a_ring_of_forwarding_runs_ends_within_its_budget(passes: Passes, made: int) -> None:
    played = await ring(BusPolicy(rounds=4, agent_extensions=2), passes)

    for run in runs_of(played).values():
        assert (run["rounds"], run["moves"], run["wrap_ups"]) == (made, 2, 1)
        assert run["how"] == "wrap-up"
    assert played.result.report == ((), ())
    assert {state for _, _, state, _ in played.entries.fates()} == {"delivered"}


@pytest.mark.rows("T344")
@pytest.mark.parametrize(("passes", "made"), [(always, 8), (in_each_last_permitted, 16)])
async def test_under_classic_the_ring_ends_within_the_square_of_its_rounds(passes: Passes, made: int) -> None:
    played = await ring(BusPolicy.classic(rounds=4), passes)

    for run in runs_of(played).values():
        assert (run["rounds"], run["wrap_ups"]) == (made, 1)
        assert run["moves"] <= 4


@both
@pytest.mark.rows("T343", "B71")
async def test_where_a_ring_breaks_the_report_tells_where_its_last_messages_lie(policy: BusPolicy) -> None:
    broken = agent(calls(call("list_agents")), calls(call("step")), fails("the line is dead"))

    played = await ring(replace(policy, rounds=4), always, broken)

    unmet = played.result.report.unmet
    assert unmet[0].reason == "model_call_failed"
    assert {(one.sender, one.to) for one in unmet} == {("b#1", "c#1")}
    assert {one.address for one in unmet} == ({"c#1"} if policy.liveness else {None})
    books: Any = played.result.record["books"]
    assert (books["undelivered"], books["accepted_in_all"]) == (len(unmet), books["delivered"] + len(unmet))
    run = runs_of(played)["c#1"]
    assert (run["how"], run["error"], run["rounds"]) == ("error", "ScriptedFailure: the line is dead", 3)


@both
@pytest.mark.rows("T340", "B74")
async def test_a_turn_of_ten_workers_that_all_write_to_everyone_ends_within_its_budget(policy: BusPolicy) -> None:
    worker = looping(lambda reader, _: reader.send("everyone", "not me"))
    policy = replace(policy, rounds=4, agent_extensions=2, broadcasts=20)
    spawns = calls(*[call("spawn", agent="worker", task="answer") for _ in range(10)])

    played = await play(agent(spawns, says("ok")), options=TurnOptions(agents={"worker": worker}, policy=policy))

    runs: Any = played.result.record["runs"]
    assert all(run["rounds"] <= (10 if policy.liveness else 16) for run in runs)
    assert len(played.entries.of("message")) == 20
    assert [run["how"] for run in runs] == ["answered", *["wrap-up"] * 10]
