import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from pydantic_ai import Agent

from restante.bus import BusPolicy, JournalEntry, Message, MessageBus, Receipt
from restante.errors import BadLabel, InvalidArguments, TurnStopped
from restante.testing import FakeClock, call, calls, fails, says
from restante.testing.scripted import ScriptedFailure
from restante.turn import Turn, TurnOptions, open_turn, run_turn
from restante.turn.parts import provenances
from tests.turn.playing import BOTH, PATIENCE_SECONDS, Entries, agent, last_parts, model_of, play

pytestmark = pytest.mark.anyio

both = pytest.mark.parametrize("policy", BOTH, ids=lambda policy: policy.name)


@asynccontextmanager
async def opened(played: Agent[Any, Any], options: TurnOptions | None = None) -> AsyncGenerator[Turn]:
    """A turn that cannot hang."""
    async with asyncio.timeout(PATIENCE_SECONDS), open_turn(played, "go", options) as turn:
        yield turn


class Slow:
    """An agent whose every step takes a minute of a clock that the test moves."""

    def __init__(self, *steps: Any) -> None:
        self.clock = FakeClock()
        self.agent = agent(*steps, sleep=self.clock.sleep)


@both
async def test_a_turn_gives_its_answer_its_report_and_what_its_runs_used(policy: BusPolicy) -> None:
    researcher = agent(says("42"))
    spawns = calls(call("spawn", agent="researcher", task="x"))

    result = (
        await play(agent(spawns, says("ok")), options=TurnOptions(agents={"researcher": researcher}, policy=policy))
    ).result

    assert (result.outcome, result.output, result.error) == ("answered", "ok", None)
    assert result.report == ((), ())
    assert [(ran.address, ran.how, ran.rounds) for ran in result.runs] == [
        ("researcher#1", "answered", 1),
        ("assistant", "answered", 2),
    ]
    assert result.usage.requests == 3
    assert result.record["policy"] == policy.name


async def test_the_prompt_is_the_persons_words_and_bare() -> None:
    played = agent(says("ok"))

    await run_turn(played, "hello")

    (part,) = model_of(played).prompts[0][0].parts
    assert list(provenances(part)) == [{"origin": "person", "sender": "person"}]
    assert last_parts(model_of(played).prompts[0]) == ["hello"]


async def test_each_message_that_a_turn_begins_with_is_a_part_of_its_own() -> None:
    played = agent(says("ok"))
    words = [
        Message("p1", 1, "person", "person", "everyone", "one"),
        Message("x2", 2, "shop", "external", "everyone", "two"),
        Message("p3", 3, "person", "person", "everyone", "three"),
    ]

    await run_turn(played, words)

    (request,) = model_of(played).prompts[0]
    facts = [facts for part in request.parts for facts in provenances(part)]
    assert [(one["message_id"], one["origin"]) for one in facts] == [
        ("p1", "person"),
        ("x2", "external"),
        ("p3", "person"),
    ]
    assert len(request.parts) == 3


async def test_a_turn_needs_a_message_and_a_good_label() -> None:
    with pytest.raises(InvalidArguments):
        await run_turn(agent(says("ok")), [])
    with pytest.raises(BadLabel):
        await run_turn(agent(says("ok")), "go", TurnOptions(label="everyone"))


@both
@pytest.mark.rows("T354")
async def test_running_a_turn_and_opening_one_give_the_same(policy: BusPolicy) -> None:
    def options() -> TurnOptions:
        bus = MessageBus(policy, clock=lambda: 0.0)
        return TurnOptions(agents={"researcher": agent(says("42"))}, bus=bus)

    def scripted() -> Agent[None, str]:
        return agent(calls(call("spawn", agent="researcher", task="x"), call("list_agents")), says("ok"))

    collected = await run_turn(scripted(), "go", options())
    async with opened(scripted(), options()) as turn:
        awaited = await turn.result()

    assert (collected.output, collected.report) == (awaited.output, awaited.report)
    assert collected.record == awaited.record


@pytest.mark.rows("T355")
@both
async def test_what_the_person_says_is_read_at_the_next_boundary_then_carried_then_refused(policy: BusPolicy) -> None:
    entries = Entries()
    receipts: list[Receipt] = []

    def sink(entry: JournalEntry) -> None:
        entries.append(entry)
        if entry.kind == "run_closed":
            receipts.append(turn.say("after the last drain"))

    slow = Slow(calls(call("list_agents"), seconds=60), says("ok"))
    async with opened(slow.agent, TurnOptions(policy=policy, sink=sink)) as turn:
        receipts.append(turn.say("before the first call"))
        await slow.clock.settle()
        receipts.append(turn.say("during a round"))
        await slow.clock.advance(60)
        result = await turn.result()
        receipts.append(turn.say("after the end"))

    assert [receipt.code for receipt in receipts] == [None, None, None, "turn_closed"]
    assert last_parts(model_of(slow.agent).prompts[-1])[-1] == "during a round"
    assert [facts["text"] for facts in entries.of("delivery")] == ["before the first call", "during a round"]
    assert {facts["origin"] for facts in entries.of("message")} == {"person"}
    assert [words.text for words in result.report.next_turn] == ["after the last drain"]


async def test_words_before_the_first_call_are_in_it() -> None:
    played = agent(says("ok"))

    async with opened(played) as turn:
        assert turn.say("and in short").accepted

    assert last_parts(model_of(played).prompts[0]) == ["go", "and in short"]


@both
@pytest.mark.rows("T356")
async def test_a_stop_during_a_model_call_settles_everything_as_stopped(policy: BusPolicy) -> None:
    slow = Slow(says("never", seconds=60))
    entries = Entries()

    async with opened(slow.agent, TurnOptions(policy=policy, sink=entries.append)) as turn:
        turn.say("one")
        await slow.clock.settle()
        turn.say("two")
        turn.stop()
        with pytest.raises(TurnStopped):
            await turn.answer()
        result = await turn.result()
        turn.stop()

    assert result.outcome == "stopped"
    assert [unmet.reason for unmet in result.report.unmet] == ["stopped", "stopped"]
    assert result.report.next_turn == ()
    assert [(ran.address, ran.how) for ran in result.runs] == [("assistant", "stopped")]
    assert entries.of("run_closed") == [{"how": "stopped", "error": None}]


@both
@pytest.mark.rows("T356")
async def test_a_stop_during_tools_leaves_no_request_without_a_result(policy: BusPolicy) -> None:
    clock = FakeClock()
    researcher = agent(says("never", seconds=60), sleep=clock.sleep)
    entries = Entries()
    spawns = calls(call("list_agents"), call("spawn", agent="researcher", task="x"))
    options = TurnOptions(agents={"researcher": researcher}, policy=policy, sink=entries.append)

    async with opened(agent(spawns, says("never")), options) as turn:
        await clock.settle()
        turn.stop()

    assert [(facts["tool"], facts["outcome"]) for facts in entries.of("tool_result")] == [
        ("list_agents", "ok"),
        ("spawn", "not_executed"),
    ]
    assert {(ran.address, ran.how) for ran in (await turn.result()).runs} == {
        ("researcher#1", "stopped"),
        ("assistant", "stopped"),
    }


async def test_a_stop_before_the_first_step_ends_the_turn() -> None:
    async with opened(agent(says("never"))) as turn:
        turn.stop()
        assert (await turn.result()).outcome == "stopped"


@both
async def test_a_run_that_fails_is_the_outcome_of_the_turn_and_raised_by_answer_alone(policy: BusPolicy) -> None:
    async with opened(agent(fails("boom")), TurnOptions(policy=policy)) as turn:
        turn.say("are you there?")
        with pytest.raises(ScriptedFailure):
            await turn.answer()
        result = await turn.result()

    assert (result.outcome, result.error) == ("failed", "ScriptedFailure: boom")
    assert [words.text for words in result.report.next_turn] == ["are you there?"]


async def test_leaving_the_block_waits_for_the_result() -> None:
    async with opened(agent(calls(call("list_agents")), says("ok"))) as turn:
        pass

    assert (await turn.answer()) == "ok"


async def test_the_history_of_earlier_turns_is_before_the_prompt_and_the_next_one_gets_it_from_the_result() -> None:
    played = agent(says("hi"))
    first = await run_turn(played, "hello")

    second = await run_turn(played, "again", TurnOptions(history=first.messages))

    assert [message.kind for message in second.messages] == ["request", "response"] * 2
    assert last_parts(model_of(played).prompts[1]) == ["again"]


async def test_a_bus_of_ones_own_brings_its_policy_and_its_sink() -> None:
    with pytest.raises(InvalidArguments):
        TurnOptions(bus=MessageBus(), policy=BusPolicy())
    with pytest.raises(InvalidArguments):
        TurnOptions(bus=MessageBus(), sink=print)
