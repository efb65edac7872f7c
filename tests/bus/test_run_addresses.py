"""Runs of agents and their addresses: one for each run that has a mailbox, from its first act to its last."""

import asyncio

import pytest
from pydantic_ai import Agent

from restante.bus import BusPolicy, MessageBus, Reader
from restante.errors import BadLabel, BusClosed
from restante.testing import ScriptedModel, call, calls, says
from restante.turn import Mailbox, TurnOptions, messaging_tools, spawn_tools
from tests.bus.policies import both
from tests.bus.seen import addresses, listed, matched
from tests.turn.looping import looping
from tests.turn.playing import DURING, PATIENCE_SECONDS, Stage, agent, meanwhile, model_of, play

pytestmark = pytest.mark.anyio

LISTS = calls(call("list_agents"))
SPAWNS = call("spawn", agent="researcher", task="find out")


@both
@pytest.mark.rows("T028")
@pytest.mark.parametrize(("label", "closed", "why"), [("a b", False, BadLabel), ("worker", True, BusClosed)])
async def test_a_run_whose_mailbox_cannot_open_does_not_start(
    policy: BusPolicy, label: str, closed: bool, why: type[Exception]
) -> None:
    stage = Stage(policy)
    if closed:
        stage.bus.close()
    worker = agent(says("ok"))

    with pytest.raises(why) as caught:
        await stage.run(worker, label)

    assert ("U+0020" if label == "a b" else "over") in str(caught.value)
    assert model_of(worker).prompts == []
    assert addresses(stage.bus) == ["friend#1"]


@both
@pytest.mark.rows("T028")
@pytest.mark.parametrize(("label", "code"), [("Worker", "invalid_name"), ("researcher", "turn_closed")])
async def test_a_worker_whose_reader_cannot_open_is_an_error_for_its_spawner(
    policy: BusPolicy, label: str, code: str
) -> None:
    stage = Stage(policy)
    never = agent(says("never"))
    spawner = Agent(
        ScriptedModel(calls(call("end")), calls(call("spawn", agent=label, task="x")), says("ok")),
        toolsets=[spawn_tools({label: never})],
    )

    @spawner.tool_plain
    def end() -> None:
        if code == "turn_closed":
            stage.bus.close()

    await stage.run(spawner)

    assert stage.entries.of("tool_result")[-1]["outcome"] == "error"
    assert stage.entries.results("spawn")[0].startswith(f"{code}: ")
    assert model_of(never).prompts == []


@both
@pytest.mark.rows("T032")
async def test_one_agent_that_serves_two_runs_at_once_has_two_addresses_with_one_label(policy: BusPolicy) -> None:
    stage = Stage(policy)
    both_there = asyncio.Barrier(2)
    seen: list[list[str]] = []

    async def look(_reader: Reader, call: int) -> None:
        if call < 2:
            await both_there.wait()
            seen.append(addresses(stage.bus))

    shared = looping(look)
    await asyncio.gather(stage.run(shared), stage.run(shared))

    assert seen == [["friend#1", "worker#1", "worker#2"]] * 2
    assert addresses(stage.bus) == seen[0]


@both
@pytest.mark.rows("T033")
async def test_a_run_has_one_address_from_its_first_act_to_its_last(policy: BusPolicy) -> None:
    stage = Stage(policy)
    sends = calls(call("send_message", to="friend", text="hello"), seconds=DURING)

    await stage.run(agent(sends, sends, sends, says("ok"), sleep=stage.writes("go on")))

    own = [entry for entry in stage.entries if entry.address != "friend#1"]
    assert {entry.address for entry in own} - {None} == {"worker#1"}
    kinds = [entry.kind for entry in own]
    assert (kinds.count("run_opened"), kinds.count("message"), kinds.count("delivery")) == (1, 3, 3)
    assert (kinds.index("run_opened"), kinds.count("run_closed")) == (1, 1)


@both
@pytest.mark.rows("T034")
async def test_nested_runs_that_follow_each_other_in_one_task_all_have_addresses_of_their_own(
    policy: BusPolicy,
) -> None:
    bus = MessageBus(policy)
    deepest: list[int] = []

    async def nest(depth: int) -> None:
        async with agent(says("ok")).iter("go", capabilities=[Mailbox(bus, "worker")]) as run:
            for _ in range(2 if depth else 0):
                await nest(depth - 1)
            deepest.append([entry["how"] for entry in bus.record()["runs"]].count(None))
            async for _ in run:
                pass

    async with asyncio.timeout(PATIENCE_SECONDS):
        await nest(2)

    assert addresses(bus) == [f"worker#{number}" for number in range(1, 8)]
    assert max(deepest) == 3


@both
@pytest.mark.rows("T035")
async def test_a_run_without_a_mailbox_is_not_on_the_roster_and_nothing_matches_it(policy: BusPolicy) -> None:
    stage = Stage(policy)
    deaf = agent(says("ok", seconds=DURING), sleep=meanwhile(lambda: seen.extend(tries())))
    seen: list[object] = []

    def tries() -> list[object]:
        receipts = [stage.friend.send(to, "hello") for to in ("deaf", "deaf#1")]
        everyone = matched(stage.friend.send("everyone", "hello"))
        return [*(receipt.code for receipt in receipts), [each for each in everyone if each != "friend#1"]]

    await deaf.run("go")

    assert seen == ["not_found", "not_found", []]
    assert addresses(stage.bus) == ["friend#1"]
    assert len(model_of(deaf).prompts) == 1


@both
@pytest.mark.rows("T039")
async def test_two_spawns_of_one_round_run_together_and_are_numbered_in_the_order_of_the_requests(
    policy: BusPolicy,
) -> None:
    both_there = asyncio.Barrier(2)
    researcher = looping(lambda _reader, _call: both_there.wait())
    several = calls(*(call("spawn", agent="researcher", task=task) for task in ("one", "two")))
    options = TurnOptions(agents={"researcher": researcher}, rounds={"researcher": 1}, policy=policy)

    played = await play(agent(several, says("ok")), options=options)

    spawned = [(facts["task"], facts["address"]) for facts in played.entries.of("spawn")]
    assert spawned == [("one", "researcher#1"), ("two", "researcher#2")]


@both
@pytest.mark.rows("T048")
async def test_the_address_comes_from_the_configured_name_and_not_from_what_the_agent_calls_itself(
    policy: BusPolicy,
) -> None:
    researcher = Agent(ScriptedModel(says("ok")), name="delegate:7f3a:researcher")

    played = await play(
        agent(calls(SPAWNS), says("ok")), options=TurnOptions(agents={"researcher": researcher}, policy=policy)
    )

    assert [facts["label"] for facts in played.entries.of("run_opened")] == ["assistant", "researcher"]
    assert [entry.address for entry in played.entries if entry.kind == "run_opened"] == ["assistant", "researcher#1"]


@both
@pytest.mark.rows("T049")
async def test_the_list_only_grows_as_workers_are_spawned(policy: BusPolicy) -> None:
    steps = [step for _ in range(5) for step in (calls(SPAWNS), LISTS)]
    options = TurnOptions(agents={"researcher": agent(says("ok"))}, rounds={"assistant": 12}, policy=policy)

    played = await play(agent(*steps, says("ok")), options=options)

    answers = [listed(text)[:-1] for text in played.entries.results("list_agents")]
    everybody = ["assistant", *(f"researcher#{number}" for number in range(1, 6))]
    assert answers == [everybody[: number + 2] for number in range(5)]


@both
@pytest.mark.rows("T013")
async def test_the_next_turn_of_the_same_agents_starts_on_an_empty_roster(policy: BusPolicy) -> None:
    researcher = Agent(
        ScriptedModel(calls(call("send_message", to="everyone", text="hello")), *[says("ok")] * 3),
        toolsets=[messaging_tools()],
    )
    options = TurnOptions(agents={"researcher": researcher}, policy=policy)
    await play(agent(calls(SPAWNS, SPAWNS, SPAWNS), *[says("ok")] * 3), options=options)

    played = await play(agent(LISTS, calls(SPAWNS), *[says("ok")] * 3), options=options)

    assert listed(played.entries.results("list_agents")[0]) == ["assistant", "everyone"]
    assert [facts["address"] for facts in played.entries.of("spawn")] == ["researcher#1"]
    assert [facts["message_id"] for facts in played.entries.of("message")] == ["m1"]


@pytest.mark.rows("T043")
async def test_a_run_works_while_its_model_and_its_tools_do_and_waits_while_its_worker_does() -> None:
    bus = MessageBus()
    seen: list[str | None] = []

    def look() -> None:
        seen.append(bus.roster()[0].state)

    thinks = meanwhile(look)
    assistant = agent(calls(call("look"), seconds=DURING), calls(SPAWNS), says("ok", seconds=DURING), sleep=thinks)
    assistant.tool_plain(look)
    researcher = agent(says("ok", seconds=DURING), sleep=thinks)

    await play(assistant, options=TurnOptions(agents={"researcher": researcher}, bus=bus))

    assert seen == ["running", "running", "waiting", "running"]
