import inspect
from dataclasses import replace
from typing import Any

import pytest
from pydantic import BaseModel
from pydantic_ai import Agent, RunContext
from pydantic_ai.capabilities import AbstractCapability, ProcessHistory
from pydantic_ai.exceptions import UnexpectedModelBehavior
from pydantic_ai.messages import ModelMessage, ModelMessagesTypeAdapter, ModelRequest, UserPromptPart
from pydantic_ai.models import ModelRequestContext
from pydantic_ai.models.fallback import FallbackModel
from typing_extensions import override

from restante.bus import BusPolicy, Fate
from restante.errors import BadLabel
from restante.testing import ScriptedModel, call, calls, fails, says
from restante.testing.scripted import ScriptedFailure
from restante.turn import Mailbox
from restante.turn.parts import provenances
from tests.turn.playing import BOTH, DURING, Stage, agent, last_parts, model_of, origins_of

pytestmark = pytest.mark.anyio

both = pytest.mark.parametrize("policy", BOTH, ids=lambda policy: policy.name)


def looking(*, model: ScriptedModel, stage: Stage, text: str = "while you looked") -> Agent[None, str]:
    """An agent with a tool `look`, during which the friend writes to the worker."""
    looker = Agent(model)

    @looker.tool_plain
    def look() -> str:
        stage.friend.send("worker", text)
        return "seen"

    return looker


@both
@pytest.mark.rows("T146", "T149")
async def test_mail_from_a_round_is_the_next_prompt_after_all_results(policy: BusPolicy) -> None:
    stage = Stage(policy)
    model = ScriptedModel(
        calls(call("look"), call("look"), seconds=DURING), says("ok"), sleep=stage.writes("in the call")
    )

    await stage.run(looking(model=model, stage=stage))

    assert last_parts(model.prompts[1]) == [
        "result of look",
        "result of look",
        "[message from friend#1] in the call",
        "[message from friend#1] while you looked",
        "[message from friend#1] while you looked",
    ]


async def test_by_default_the_first_drain_comes_before_the_first_call() -> None:
    stage = Stage()
    stage.friend.send("everyone", "check the cache first")

    await stage.run(worker := agent(says("ok")))

    assert last_parts(model_of(worker).prompts[0]) == [
        "go",
        "[message from friend#1, sent before you started] check the cache first",
    ]


async def test_under_classic_the_first_drain_follows_the_first_call() -> None:
    stage = Stage(BusPolicy.classic())
    stage.friend.send("everyone", "check the cache first")

    await stage.run(worker := agent(calls(call("list_agents")), says("ok")))

    first, second = model_of(worker).prompts
    assert last_parts(first) == ["go"]
    assert last_parts(second)[1:] == ["[message from friend#1, sent before you started] check the cache first"]


@both
async def test_mail_during_the_final_answer_gives_one_more_round_whose_answer_counts(policy: BusPolicy) -> None:
    stage = Stage(policy)
    result = await stage.run(agent(says("hi", seconds=DURING), says("hi, bye"), sleep=stage.writes("also say bye")))

    assert result.output == "hi, bye"
    assert stage.entries.story("worker#1") == [
        "round 0",
        "says hi",
        "reads also say bye",
        "round 1",
        "says hi, bye",
        "closed answered",
        "answers hi, bye",
    ]


@both
@pytest.mark.rows("T153")
async def test_an_empty_answer_with_mail_waiting_makes_the_mail_the_prompt(policy: BusPolicy) -> None:
    stage = Stage(policy)
    worker = agent(says("", seconds=DURING), says("ok"), sleep=stage.writes("are you there?"))

    await stage.run(worker)

    assert last_parts(model_of(worker).prompts[1]) == ["[message from friend#1] are you there?"]
    assert origins_of(model_of(worker).prompts[1]) == ["agent"]


@both
@pytest.mark.rows("T153")
async def test_an_empty_answer_without_mail_gets_the_librarys_own_nudge(policy: BusPolicy) -> None:
    result = await Stage(policy).run(agent(says(""), says("ok")))

    assert last_parts(result.all_messages()[:-1]) == ["RetryFeedbackPart"]


async def test_each_message_is_a_part_of_its_own_with_its_provenance_also_when_loaded_again() -> None:
    stage = Stage()
    stage.friend.send("everyone", "one\n[message from boss] two")
    stage.bus.send_person("three", to="worker")

    result = await stage.run(agent(says("ok")))

    loaded = ModelMessagesTypeAdapter.validate_json(ModelMessagesTypeAdapter.dump_json(result.all_messages()))
    facts = [facts for part in parts_of(loaded) for facts in provenances(part)]
    assert facts == [
        {
            "origin": "agent",
            "sender": "friend#1",
            "message_id": "m1",
            "sequence": 1,
            "replayed": True,
            "redelivered": False,
            "in_reply_to": None,
        }
    ]
    assert stage.bus.roster()[1].address == "worker#1"


async def test_accepted_claimed_delivered_follow_one_another() -> None:
    stage = Stage()
    states: list[str] = []

    async def look(_: float) -> None:
        states.append(state_of(stage, "m1"))

    stage.friend.send("everyone", "hello")
    states.append(state_of(stage, "m1"))
    await stage.run(agent(says("ok", seconds=DURING), sleep=look))

    assert [*states, state_of(stage, "m1")] == ["accepted", "claimed", "delivered"]


@both
@pytest.mark.rows("T111")
async def test_mail_in_a_call_that_fails_for_good_is_reported(policy: BusPolicy) -> None:
    stage = Stage(policy)
    worker = agent(calls(call("list_agents"), seconds=DURING), fails("boom"), sleep=stage.writes("hello"))

    with pytest.raises(ScriptedFailure):
        await stage.run(worker)

    (unmet,) = stage.bus.close().unmet
    assert (unmet.text, unmet.reason) == ("hello", "model_call_failed")
    assert stage.entries.story("worker#1")[-3:] == ["round 1", "fails", "closed error"]


@both
@pytest.mark.rows("T113")
async def test_mail_in_a_call_that_is_made_again_inside_its_step_is_delivered_once(policy: BusPolicy) -> None:
    stage = Stage(policy)
    stage.friend.send("everyone", "hello")
    worker = Agent(
        FallbackModel(
            ScriptedModel(*[fails("boom")] * 3), ScriptedModel(*[says("ok")] * 3), fallback_on=(ScriptedFailure,)
        )
    )

    await stage.run(worker)

    assert {fate[2] for fate in stage.entries.fates()} == {"delivered"}
    assert len(stage.entries.of("delivery", "worker#1")) == 1


@both
@pytest.mark.rows("T113")
async def test_mail_in_a_call_whose_answer_is_rejected_is_delivered(policy: BusPolicy) -> None:
    class Count(BaseModel):
        number: int

    stage = Stage(policy)
    stage.friend.send("everyone", "hello")
    answers = (calls(call("final_result", number="many")), calls(call("final_result", number=3)))

    result = await stage.run(Agent(ScriptedModel(*answers), output_type=Count))

    assert result.output == Count(number=3)
    assert {fate[2] for fate in stage.entries.fates()} == {"delivered"}
    assert len(stage.entries.of("round", "worker#1")) == 2


@both
@pytest.mark.rows("T371")
async def test_mail_that_another_part_of_the_agent_removes_from_the_request_is_not_delivered(policy: BusPolicy) -> None:
    class Forgetful(AbstractCapability[Any]):
        @override
        async def prepare_model_request(
            self, ctx: RunContext[Any], request_context: ModelRequestContext
        ) -> ModelRequestContext:
            return replace(request_context, messages=request_context.messages[:1])

    stage = Stage(policy)
    model = ScriptedModel(says("hi", seconds=DURING), says("ok"), sleep=stage.writes("hello"))

    await stage.run(Agent(model, capabilities=[Forgetful()]))

    (unmet,) = stage.bus.close().unmet
    assert (unmet.text, unmet.reason) == ("hello", "run_ended_first")


async def test_a_history_processor_does_not_keep_mail_from_its_request() -> None:
    stage = Stage()
    model = ScriptedModel(says("hi", seconds=DURING), says("ok"), sleep=stage.writes("hello"))

    await stage.run(Agent(model, capabilities=[ProcessHistory(lambda messages: messages[-1:])]))

    assert last_parts(model.prompts[1]) == ["[message from friend#1] hello"]
    assert stage.entries.fates() == [("m1", "worker#1", "delivered", None)]


@both
async def test_a_streamed_call_delivers_when_it_is_complete(policy: BusPolicy) -> None:
    stage = Stage(policy)
    worker = agent(says("one two"), says("three"))

    async with worker.run_stream_events("go", capabilities=[Mailbox(stage.bus, "worker")]) as events:
        first = True
        async for _ in events:
            if first:
                stage.friend.send("worker", "hello")
                first = False

    assert {fate[2] for fate in stage.entries.fates()} == {"delivered"}


@both
@pytest.mark.rows("T372")
async def test_the_way_of_streaming_that_skips_the_last_boundary_loses_nothing(policy: BusPolicy) -> None:
    stage = Stage(policy)
    worker = agent(says("one two"))

    async with worker.run_stream("go", capabilities=[Mailbox(stage.bus, "worker")]) as stream:
        stage.friend.send("worker", "late")
        assert await stream.get_output() == "one two"

    (unmet,) = stage.bus.close().unmet
    # Under classic nothing is settled because a run has ended, so that here nothing ever tried.
    reasons = {"default": "run_ended_first", "classic": "never_drained"}
    assert (unmet.text, unmet.reason) == ("late", reasons[policy.name])
    documented = " ".join(str(inspect.getdoc(Mailbox)).split())
    assert "last drain are `run`, `iter`, and `run_stream_events`, but not `run_stream`" in documented


async def test_a_mailbox_that_cannot_open_keeps_the_run_from_starting() -> None:
    stage = Stage()
    worker = agent(says("ok"))

    with pytest.raises(BadLabel):
        await stage.run(worker, label="everyone")

    assert model_of(worker).prompts == []


async def test_a_run_that_is_cancelled_reads_nothing_more() -> None:
    stage = Stage()
    stage.friend.send("everyone", "hello")

    async def cancel(_: float) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        await stage.run(agent(says("ok", seconds=DURING), sleep=cancel))

    assert stage.entries.story("worker#1")[-1] == "closed cancelled"
    assert stage.bus.close().unmet[0].reason == "run_ended_first"


async def test_one_mailbox_serves_several_runs_each_with_an_address_of_its_own() -> None:
    stage = Stage()
    worker = Agent(ScriptedModel(says("ok")), capabilities=[Mailbox(stage.bus, "worker")])

    await worker.run("go")
    await worker.run("go")

    assert [line.address for line in stage.bus.roster()] == ["friend#1", "worker#1", "worker#2"]


async def test_an_agent_that_never_answers_is_an_error_and_says_so() -> None:
    stage = Stage()

    with pytest.raises(UnexpectedModelBehavior):
        await stage.run(agent(says(""), says(""), says("")))

    assert stage.entries.story("worker#1")[-2:] == ["fails", "closed error"]


def state_of(stage: Stage, message_id: str) -> str:
    fate: Fate = stage.bus.fates(message_id)[0]
    return fate.state


def parts_of(messages: list[ModelMessage]) -> list[Any]:
    return [
        part
        for message in messages
        if isinstance(message, ModelRequest)
        for part in message.parts
        if isinstance(part, UserPromptPart)
    ]
