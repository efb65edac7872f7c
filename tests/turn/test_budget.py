"""How mail moves the rounds of a run, and what bounds them."""

import logging

import pytest
from pydantic_ai import Agent, ModelRetry
from pydantic_ai.models.fallback import FallbackModel

from restante.bus import BusPolicy, Reader
from restante.testing import ScriptedModel, Step, call, calls, fails, says
from restante.testing.scripted import ScriptedFailure
from restante.turn import MailboxOptions, TurnOptions, messaging_tools, spawn_tools
from restante.turn.parts import WRAP_UP
from tests.turn.looping import looping
from tests.turn.playing import BOTH, DURING, Entries, Stage, agent, last_parts, meanwhile, model_of, play

pytestmark = pytest.mark.anyio

both = pytest.mark.parametrize("policy", BOTH, ids=lambda policy: policy.name)
CLASSIC = BusPolicy.classic()
LOOKS = calls(call("list_agents"))


def moves(entries: Entries, address: str = "worker#1") -> list[int]:
    """The calls to which mail moved the base of a run."""
    return [facts["call"] for facts in entries.of("move", address)]


def rounds(entries: Entries, address: str = "worker#1") -> int:
    """How many calls a run made, its wrap-up not counted."""
    return len(entries.of("round", address))


@pytest.mark.rows("T170")
async def test_under_classic_a_backlog_of_five_moves_the_base_of_a_worker_once() -> None:
    five = calls(*[call("send_message", to="everyone", text=f"number {number}") for number in range(5)])
    spawns = calls(call("spawn", agent="worker", task="look around"))
    options = TurnOptions(agents={"worker": looping()}, policy=CLASSIC, rounds={"assistant": 3})

    entries = (await play(agent(five, spawns, *[says("ok")] * 3), options=options)).entries

    carried = [facts["text"] for facts in entries.of("delivery", "worker#1")]
    assert carried == [f"number {number}" for number in range(5)]
    assert entries.story("worker#1")[:8] == [
        "round 0",
        "calls look",
        "look: ok",
        *[f"reads {text}" for text in carried],
    ]
    assert moves(entries) == [1]
    assert rounds(entries) == 11


@pytest.mark.rows("T171")
async def test_under_classic_mail_beyond_the_last_move_is_delivered_and_logged_once(
    caplog: pytest.LogCaptureFixture,
) -> None:
    stage = Stage(CLASSIC)
    caplog.set_level(logging.INFO, logger="restante")

    def act(_: Reader, __: int) -> None:
        stage.friend.send("worker", "on")
        stage.friend.send("worker", "and on")

    await stage.run(looping(act), options=MailboxOptions(rounds=4))

    assert moves(stage.entries) == [1, 2, 3, 4]
    assert [facts["call"] for facts in stage.entries.of("no_move", "worker#1")] == [5, 6, 7]
    assert rounds(stage.entries) == 8
    assert {state for _, _, state, _ in stage.entries.fates()} == {"delivered"}
    assert len(stage.entries.of("delivery", "worker#1")) == len(stage.entries.of("message")) == 14
    assert [record.getMessage() for record in caplog.records] == [
        "worker#1 has no move left: its mail is delivered, and gives it no more rounds."
    ]


def parent_of(child: Agent[None, str], *steps: Step) -> Agent[None, str]:
    """An agent that can spawn the child."""
    return Agent(ScriptedModel(*steps), toolsets=[messaging_tools(), spawn_tools({"child": child})])


@pytest.mark.rows("T176")
async def test_under_classic_the_persons_a_siblings_and_a_childs_message_move_the_base_alike() -> None:
    persons, siblings, childs = Stage(CLASSIC), Stage(CLASSIC), Stage(CLASSIC)
    options = MailboxOptions(rounds=3)
    sibling = siblings.bus.open("helper")
    child = agent(calls(call("send_message", to="worker#1", text="on")), says("ok"))
    parent = parent_of(child, calls(call("spawn", agent="child", task="x")), *[LOOKS] * 3, says("that is all"))

    await persons.run(looping(lambda _, at: at or persons.bus.send_person("on")), options=options)
    await siblings.run(looping(lambda _, at: at or sibling.send("worker#1", "on")), options=options)
    await childs.run(parent, options=options)

    assert [moves(stage.entries) for stage in (persons, siblings, childs)] == [[1]] * 3
    assert [rounds(stage.entries) for stage in (persons, siblings, childs)] == [4] * 3
    assert [stage.entries.of("move")[0]["origins"] for stage in (persons, siblings, childs)] == [
        ["person"],
        ["agent"],
        ["agent"],
    ]


@pytest.mark.rows("T177")
@pytest.mark.parametrize("to", ["everyone", "researcher#1"])
async def test_under_classic_what_a_run_sends_to_itself_comes_back_and_moves_its_base(to: str) -> None:
    stage = Stage(CLASSIC)
    worker = agent(calls(call("send_message", to=to, text="note")), LOOKS, says("ok"))

    await stage.run(worker, "researcher")

    assert last_parts(model_of(worker).prompts[1])[1:] == ["[message from researcher#1] note"]
    assert moves(stage.entries, "researcher#1") == [1]


@pytest.mark.rows("T181")
async def test_a_drain_of_both_origins_counts_on_the_persons_moves_only() -> None:
    stage = Stage(BusPolicy(agent_extensions=1))

    def act(_: Reader, at: int) -> None:
        if at == 0:
            stage.bus.send_person("on")
        if at < 3:
            stage.friend.send("worker", "on")

    await stage.run(looping(act), options=MailboxOptions(rounds=10))

    assert stage.entries.of("move", "worker#1") == [
        {"call": 1, "origins": ["agent", "person"]},
        {"call": 2, "origins": ["agent"]},
    ]
    assert stage.entries.of("no_move", "worker#1") == [{"call": 3, "origins": ["agent"]}]


@pytest.mark.rows("T181")
async def test_with_the_persons_moves_used_up_a_drain_of_both_origins_moves_nothing() -> None:
    stage = Stage(BusPolicy(agent_extensions=3))

    def act(_: Reader, at: int) -> None:
        if at < 4:
            stage.bus.send_person("on")
        if at >= 3:
            stage.friend.send("worker", "on")

    await stage.run(looping(act), options=MailboxOptions(rounds=3))

    origins = {facts["call"]: facts["origins"] for facts in stage.entries.of("move", "worker#1")}
    assert origins == {1: ["person"], 2: ["person"], 3: ["person"], 5: ["agent"], 6: ["agent"], 7: ["agent"]}
    assert stage.entries.of("no_move", "worker#1")[0] == {"call": 4, "origins": ["agent", "person"]}


@both
@pytest.mark.parametrize("origin", ["person", "agent"])
@pytest.mark.rows("T182")
async def test_mail_after_the_last_permitted_call_moves_nothing_and_goes_into_the_wrap_up(
    policy: BusPolicy, origin: str
) -> None:
    stage = Stage(policy)

    def write() -> None:
        _ = stage.friend.send("worker", "late") if origin == "agent" else stage.bus.send_person("late", to="worker")

    worker = agent(LOOKS, calls(call("list_agents"), seconds=DURING), says("ok"), sleep=meanwhile(write))

    await stage.run(worker, options=MailboxOptions(rounds=2))

    late = {"agent": "[message from friend#1] late", "person": "late"}[origin]
    assert last_parts(model_of(worker).prompts[2]) == ["result of list_agents", late, WRAP_UP]
    assert (moves(stage.entries), stage.entries.of("no_move"), rounds(stage.entries)) == ([], [], 2)
    assert {fate[2] for fate in stage.entries.fates()} == {"delivered"}


@pytest.mark.rows("T185")
async def test_a_childs_message_moves_its_parents_base_and_its_value_does_not() -> None:
    tells, returns = Stage(), Stage()
    spawns = calls(call("spawn", agent="child", task="x"))
    steps = (spawns, *[LOOKS] * 9, says("that is all"))

    await tells.run(parent_of(agent(calls(call("send_message", to="worker#1", text="on")), says("ok")), *steps))
    await returns.run(parent_of(agent(LOOKS, says("ok")), *steps))

    assert tells.entries.of("move", "worker#1") == [{"call": 1, "origins": ["agent"]}]
    assert returns.entries.of("move", "worker#1") == returns.entries.of("no_move", "worker#1") == []
    assert (rounds(tells.entries), rounds(returns.entries)) == (11, 10)


@both
@pytest.mark.rows("T010")
async def test_an_answer_that_is_asked_for_again_is_a_call_that_counts(policy: BusPolicy) -> None:
    stage = Stage(policy)
    worker = Agent(ScriptedModel(calls(call("fetch")), says("no"), says("no"), says("yes")), retries=3)
    fetched: list[str] = []

    @worker.tool_plain
    def fetch() -> str:
        fetched.append("once")
        raise ModelRetry("Ask again.")

    @worker.output_validator
    def check(text: str) -> str:
        if text == "no":
            raise ModelRetry("Say yes.")
        return text

    result = await stage.run(worker, options=MailboxOptions(rounds=3))

    assert result.output == "yes"
    assert fetched == ["once"]
    assert rounds(stage.entries) == 3
    assert stage.entries.story("worker#1")[-2:] == ["closed wrap-up", "answers yes"]


@both
@pytest.mark.rows("T010")
async def test_an_attempt_inside_a_step_is_not_counted(policy: BusPolicy) -> None:
    stage = Stage(policy)
    falls_back = FallbackModel(
        ScriptedModel(*[fails("boom")] * 5),
        ScriptedModel(calls(call("list_agents")), says("ok")),
        fallback_on=ScriptedFailure,
    )

    await stage.run(Agent(falls_back, toolsets=[messaging_tools()]), options=MailboxOptions(rounds=2))

    assert rounds(stage.entries) == 2
    assert "closed answered" in stage.entries.story("worker#1")
