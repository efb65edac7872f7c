import asyncio

import pytest
from pydantic import BaseModel
from pydantic_ai import Agent

from restante.bus import BusPolicy, MessageBus
from restante.errors import BadLabel
from restante.testing import FakeClock, ScriptedModel, Step, call, calls, fails, says
from restante.turn import TurnOptions, messaging_tools, spawn_tools
from restante.turn.parts import provenances
from tests.turn.looping import looping
from tests.turn.playing import BOTH, DURING, agent, last_parts, meanwhile, model_of, origins_of, play

pytestmark = pytest.mark.anyio

both = pytest.mark.parametrize("policy", BOTH, ids=lambda policy: policy.name)
SPAWNS = call("spawn", agent="researcher", task="find out")


def spawning(*steps: Step, agents: dict[str, Agent[None, object]]) -> Agent[None, str]:
    """An agent that can write messages and spawn these."""
    return Agent(ScriptedModel(*steps), toolsets=[messaging_tools(), spawn_tools(agents)])


@both
@pytest.mark.rows("T285")
async def test_a_worker_gets_its_task_from_its_spawner_and_its_answer_is_the_result(policy: BusPolicy) -> None:
    researcher = agent(says("It is 42."))

    played = await play(
        agent(calls(SPAWNS), says("ok")), options=TurnOptions(agents={"researcher": researcher}, policy=policy)
    )

    assert played.entries.results("spawn") == ["It is 42."]
    (task,) = model_of(researcher).prompts[0][0].parts
    assert list(provenances(task)) == [{"origin": "agent", "sender": "assistant"}]
    assert last_parts(model_of(researcher).prompts[0]) == ["find out"]


@pytest.mark.rows("T154")
async def test_a_broadcast_before_the_spawn_follows_the_task_in_the_first_prompt_by_default() -> None:
    researcher = agent(says("ok"))
    steps = (calls(call("send_message", to="everyone", text="check the cache first")), calls(SPAWNS), says("ok"))

    await play(agent(*steps), options=TurnOptions(agents={"researcher": researcher}))

    assert last_parts(model_of(researcher).prompts[0]) == [
        "find out",
        "[message from assistant, sent before you started] check the cache first",
    ]
    assert origins_of(model_of(researcher).prompts[0]) == ["agent", "agent"]


@pytest.mark.rows("T155")
async def test_under_classic_a_broadcast_before_the_spawn_is_the_prompt_of_the_second_call() -> None:
    researcher = agent(calls(call("list_agents")), says("ok"))
    steps = (calls(call("send_message", to="everyone", text="check the cache first")), calls(SPAWNS), *[says("ok")] * 3)

    await play(agent(*steps), options=TurnOptions(agents={"researcher": researcher}, policy=BusPolicy.classic()))

    first, second = model_of(researcher).prompts
    assert last_parts(first) == ["find out"]
    assert last_parts(second)[1:] == ["[message from assistant, sent before you started] check the cache first"]


async def test_workers_of_one_round_run_at_the_same_time_in_the_order_of_the_requests() -> None:
    both_there = asyncio.Barrier(2)
    researcher = looping(lambda _reader, _call: both_there.wait())
    several = calls(call("spawn", agent="researcher", task="one"), call("spawn", agent="researcher", task="two"))

    played = await play(
        agent(several, says("ok")), options=TurnOptions(agents={"researcher": researcher}, rounds={"researcher": 1})
    )

    assert [facts["task"] for facts in played.entries.of("spawn")] == ["one", "two"]
    assert [facts["address"] for facts in played.entries.of("spawn")] == ["researcher#1", "researcher#2"]


async def test_the_parent_waits_meanwhile_and_reads_nothing() -> None:
    bus = MessageBus()
    seen: list[list[str | None]] = []
    researcher = agent(
        says("ok", seconds=DURING), sleep=meanwhile(lambda: seen.append([line.state for line in bus.roster()]))
    )

    await play(agent(calls(SPAWNS), says("ok")), options=TurnOptions(agents={"researcher": researcher}, bus=bus))

    assert seen == [["waiting", "running"]]
    assert [line.state for line in bus.roster()] == ["finished", "finished"]


@both
@pytest.mark.rows("T223")
async def test_an_error_of_a_worker_is_a_result_and_the_parent_goes_on(policy: BusPolicy) -> None:
    options = TurnOptions(agents={"researcher": agent(fails("no more disk"))}, policy=policy)

    played = await play(agent(calls(SPAWNS, call("list_agents")), says("I could not.")), options=options)

    assert played.result.output == "I could not."
    (result,) = played.entries.results("spawn")
    assert result == "researcher#1 failed: ScriptedFailure: no more disk"
    assert [ran.how for ran in played.result.runs] == ["error", "answered"]


@both
@pytest.mark.rows("T224")
async def test_an_unknown_agent_is_a_result_that_lists_those_who_may_be_spawned(policy: BusPolicy) -> None:
    options = TurnOptions(agents={"researcher": agent(says("ok")), "coder": agent(says("ok"))}, policy=policy)

    played = await play(agent(calls(call("spawn", agent="writer", task="x")), says("ok")), options=options)

    assert played.entries.results("spawn") == [
        "not_found: there is no agent 'writer'. You can spawn: researcher, coder."
    ]
    assert [facts["label"] for facts in played.entries.of("run_opened")] == ["assistant"]


@both
@pytest.mark.rows("T225")
async def test_an_answer_of_a_wrap_up_says_that_it_may_be_incomplete(policy: BusPolicy) -> None:
    researcher = agent(calls(call("list_agents")), says("half of it"))
    options = TurnOptions(agents={"researcher": researcher}, rounds={"researcher": 1}, policy=policy)

    played = await play(agent(calls(SPAWNS), says("ok")), options=options)

    assert played.entries.results("spawn") == [
        "The rounds of researcher#1 were used up, so that this answer may be incomplete:\nhalf of it"
    ]


@both
@pytest.mark.rows("T187")
async def test_each_agent_obeys_its_own_number_of_rounds(policy: BusPolicy) -> None:
    entries = (
        await play(
            looping_spawner := agent(calls(SPAWNS), *[calls(call("list_agents"))] * 9, says("ok")),
            options=TurnOptions(agents={"researcher": looping()}, rounds={"researcher": 4}, policy=policy),
        )
    ).entries

    assert len(entries.of("round", "researcher#1")) == 4
    assert len(entries.of("round", "assistant")) == 10
    assert len(model_of(looping_spawner).prompts) == 11


async def test_a_structured_answer_reaches_the_spawner_as_json() -> None:
    class Count(BaseModel):
        number: int

    counter = Agent(ScriptedModel(calls(call("final_result", number=3))), output_type=Count)

    played = await play(agent(calls(SPAWNS), says("ok")), options=TurnOptions(agents={"researcher": counter}))

    assert played.entries.results("spawn") == ['{"number":3}']


async def test_no_more_runs_than_the_policy_allows_are_live_at_once() -> None:
    options = TurnOptions(agents={"researcher": agent(says("ok"))}, policy=BusPolicy(live_runs=2))

    played = await play(agent(calls(SPAWNS, SPAWNS), calls(SPAWNS), says("ok")), options=options)

    first, second, third = sorted(played.entries.results("spawn"))
    assert (first, second) == ("ok", "ok")
    assert third.startswith("rate_limited: at most 2 runs of a turn may be live at once, and 2 are.")
    assert [facts["address"] for facts in played.entries.of("spawn")] == ["researcher#1", "researcher#2"]


async def test_a_spawn_whose_reader_cannot_open_is_a_result() -> None:
    spawns = calls(call("spawn", agent="Assistant", task="x"))

    played = await play(spawning(spawns, says("ok"), agents={"Assistant": Agent(ScriptedModel(says("ok")))}))

    assert played.entries.results("spawn")[0].startswith(f"{BadLabel.code}: ")
    assert [facts["label"] for facts in played.entries.of("run_opened")] == ["assistant"]


async def test_a_known_agent_that_has_not_been_spawned_is_refused_as_such() -> None:
    writes = calls(call("send_message", to="researcher", text="hello"))

    played = await play(agent(writes, says("ok")), options=TurnOptions(agents={"researcher": agent(says("ok"))}))

    assert "no such run of it has opened" in played.entries.results("send_message")[0]


@both
async def test_each_level_of_a_nested_spawn_sends_under_its_own_address(policy: BusPolicy) -> None:
    tell = calls(call("send_message", to="everyone", text="hello"))
    coder = agent(tell, says("ok"))
    lead = spawning(tell, calls(call("spawn", agent="coder", task="code")), tell, says("ok"), agents={"coder": coder})
    assistant = agent(tell, calls(call("spawn", agent="lead", task="lead")), tell, says("ok"))

    played = await play(assistant, options=TurnOptions(agents={"lead": lead}, policy=policy))

    senders = [facts["sender"] for facts in played.entries.of("message")]
    assert senders == ["assistant", "lead#1", "coder#1", "lead#1", "assistant"]


@pytest.mark.rows("T198")
async def test_a_worker_can_be_written_to_from_the_moment_its_spawn_call_starts() -> None:
    writes = call("send_message", to="researcher", text="hello")
    round_of_three = calls(writes, SPAWNS, writes)
    researcher = {"researcher": agent(says("ok"), says("ok"))}

    at_once = await play(agent(round_of_three, says("ok")), options=TurnOptions(agents=researcher))
    one_by_one = agent(round_of_three, says("ok"))
    with one_by_one.parallel_tool_call_execution_mode("sequential"):
        in_turn = await play(one_by_one, options=TurnOptions(agents=researcher))

    assert [text.split()[0] for text in at_once.entries.results("send_message")] == ["not_found:", "Accepted"]
    assert [text.split()[0] for text in in_turn.entries.results("send_message")] == [
        "not_found:",
        "recipient_finished:",
    ]


async def test_a_worker_that_is_cut_off_leaves_no_open_reader_and_no_place_taken() -> None:
    clock = FakeClock()
    researcher = agent(says("ok", seconds=60), sleep=clock.sleep)
    assistant = agent(calls(SPAWNS, call("give_up")), says("never"))

    @assistant.tool_plain
    async def give_up() -> str:
        await clock.settle()
        raise RuntimeError("no")

    played = await play(assistant, options=TurnOptions(agents={"researcher": researcher}))

    assert played.result.outcome == "failed"
    assert [(ran.address, ran.how) for ran in played.result.runs] == [
        ("researcher#1", "cancelled"),
        ("assistant", "error"),
    ]
