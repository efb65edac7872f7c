import asyncio

import pytest
from pydantic import BaseModel
from pydantic_ai import Agent
from pydantic_ai.messages import ToolReturnPart

from restante.bus import BusPolicy, Reader
from restante.testing import ScriptedModel, Step, call, calls, fails, says
from restante.testing.scripted import ScriptedFailure
from restante.turn import MailboxOptions
from restante.turn.mailbox import WrapUpFailed
from restante.turn.parts import NOT_EXECUTED, WRAP_UP
from tests.turn.looping import ANSWER, Act, looping
from tests.turn.playing import BOTH, DURING, Stage, agent, last_parts, model_of, origins_of

pytestmark = pytest.mark.anyio

both = pytest.mark.parametrize("policy", BOTH, ids=lambda policy: policy.name)
CLASSIC = BusPolicy.classic()


async def rounds_of(stage: Stage, act: Act, rounds: int) -> int:
    """How many calls a looping run makes, its wrap-up not counted; its wrap-up answers."""
    result = await stage.run(looping(act), options=MailboxOptions(rounds=rounds))
    assert result.output == ANSWER
    assert stage.entries.story("worker#1")[-4] == "wrap-up"
    assert {fate[2] for fate in stage.entries.fates()} <= {"delivered"}
    return len(stage.entries.of("round", "worker#1"))


def lands_in_last_permitted(call: int, rounds: int) -> bool:
    """Whether mail that is sent in this call lands in the prompt of the last one that is then permitted."""
    return (call + 1) % (rounds - 1) == 0


@pytest.mark.rows("T173")
async def test_a_run_that_loops_makes_its_rounds_and_one_call_without_tools() -> None:
    assert await rounds_of(Stage(CLASSIC), lambda _reader, _call: None, 10) == 10


@pytest.mark.rows("T174")
@pytest.mark.parametrize("rounds", [3, 5, 10])
async def test_under_classic_mail_to_itself_in_every_round_doubles_the_rounds(rounds: int) -> None:
    assert await rounds_of(Stage(CLASSIC), lambda reader, _: reader.send("worker#1", "on"), rounds) == 2 * rounds


@pytest.mark.rows("T175")
@pytest.mark.parametrize("rounds", [3, 5, 10])
async def test_under_classic_mail_to_itself_in_each_last_permitted_call_squares_them(rounds: int) -> None:
    def act(reader: Reader, call: int) -> None:
        if lands_in_last_permitted(call, rounds):
            reader.send("worker#1", "on")

    assert await rounds_of(Stage(CLASSIC), act, rounds) == rounds**2


@pytest.mark.rows("T179")
@pytest.mark.parametrize(("extensions", "only_last", "made"), [(3, False, 13), (3, True, 37), (0, False, 10)])
async def test_by_default_agents_mail_moves_the_base_a_few_times(extensions: int, only_last: bool, made: int) -> None:
    stage = Stage(BusPolicy(agent_extensions=extensions))

    def act(_: Reader, call: int) -> None:
        if not only_last or lands_in_last_permitted(call, 10):
            stage.friend.send("worker", "on")

    assert await rounds_of(stage, act, 10) == made
    moves = [facts["call"] for facts in stage.entries.of("move")]
    assert len(moves) == extensions
    assert only_last or moves == list(range(1, extensions + 1))


@pytest.mark.rows("T180")
@pytest.mark.parametrize(("only_last", "made"), [(False, 20), (True, 100)])
async def test_the_persons_words_move_the_base_as_often_as_there_are_rounds(only_last: bool, made: int) -> None:
    stage = Stage(BusPolicy(agent_extensions=0))

    def act(_: Reader, call: int) -> None:
        if not only_last or lands_in_last_permitted(call, 10):
            stage.bus.send_person("on")

    result = await stage.run(looping(act), options=MailboxOptions(rounds=10))

    assert result.output == ANSWER
    assert len(stage.entries.of("round", "worker#1")) == made


@pytest.mark.parametrize(("policy", "made"), [(BusPolicy(), 8), (CLASSIC, 10)], ids=["default", "classic"])
@pytest.mark.rows("T178", "T184")
async def test_two_workers_that_write_to_each_other_in_every_round_come_to_an_end(policy: BusPolicy, made: int) -> None:
    stage = Stage(policy)
    options = MailboxOptions(rounds=5)
    in_step = asyncio.Barrier(2)

    async def write(reader: Reader, to: str) -> None:
        reader.send(to, "on")
        await in_step.wait()

    a = looping(lambda reader, _: write(reader, "b"))
    b = looping(lambda reader, _: write(reader, "a"))

    await asyncio.gather(stage.run(a, "a", options), stage.run(b, "b", options))

    for address in ("a#1", "b#1"):
        assert len(stage.entries.of("round", address)) == made
        assert len(stage.entries.of("wrap_up", address)) == 1


@both
@pytest.mark.rows("T172")
async def test_a_move_sets_the_base_to_the_call_whose_prompt_holds_the_mail(policy: BusPolicy) -> None:
    stage = Stage(policy)

    made = await rounds_of(stage, lambda _, call: stage.friend.send("worker", "on") if call == 3 else None, 10)

    assert stage.entries.of("move") == [{"call": 4, "origins": ["agent"]}]
    assert made == 14


@pytest.mark.rows("T157")
async def test_a_backlog_at_the_first_drain_moves_nothing() -> None:
    stage = Stage()
    stage.friend.send("everyone", "before")
    stage.bus.send_person("before")

    assert await rounds_of(stage, lambda _reader, _call: None, 10) == 10
    assert stage.entries.of("move") == []


@both
@pytest.mark.rows("T158", "T160")
async def test_mail_during_the_only_call_is_carried_by_the_wrap_up(policy: BusPolicy) -> None:
    stage = Stage(policy)
    worker = agent(says("hi", seconds=DURING), says("hi, bye"), sleep=stage.writes("late"))

    result = await stage.run(worker, options=MailboxOptions(rounds=1))

    assert result.output == "hi, bye"
    assert stage.entries.story("worker#1")[:4] == ["round 0", "says hi", "reads late", "wrap-up"]
    assert stage.entries.story("worker#1")[-2:] == ["closed wrap-up", "answers hi, bye"]
    assert stage.entries.of("move") == []


@both
@pytest.mark.rows("T160")
async def test_without_mail_the_answer_of_the_last_permitted_call_stands(policy: BusPolicy) -> None:
    stage = Stage(policy)

    result = await stage.run(worker := agent(says("hi")), options=MailboxOptions(rounds=1))

    assert result.output == "hi"
    assert len(model_of(worker).prompts) == 1
    assert "closed answered" in stage.entries.story("worker#1")


@both
@pytest.mark.rows("T162")
async def test_the_wrap_up_prompt_holds_results_then_mail_then_the_loops_own_words(policy: BusPolicy) -> None:
    stage = Stage(policy)
    steps = (calls(call("list_agents"), call("list_agents"), seconds=DURING), says("ok"))

    result = await stage.run(worker := agent(*steps, sleep=stage.writes("late")), options=MailboxOptions(rounds=1))

    assert last_parts(model_of(worker).prompts[1]) == [
        "result of list_agents",
        "result of list_agents",
        "[message from friend#1] late",
        WRAP_UP,
    ]
    assert origins_of(model_of(worker).prompts[1]) == ["agent", "bus"]
    results = [part for part in result.all_messages()[2].parts if isinstance(part, ToolReturnPart)]
    assert [part.content for part in results] == [NOT_EXECUTED] * 2
    assert [facts["outcome"] for facts in stage.entries.of("tool_result")] == ["not_executed"] * 2


@both
@pytest.mark.rows("T164")
@pytest.mark.parametrize("ending", [fails("boom"), says("")], ids=["fails", "empty"])
async def test_an_earlier_answer_stands_if_the_wrap_up_gives_none(policy: BusPolicy, ending: Step) -> None:
    stage = Stage(policy)
    worker = agent(says("hi", seconds=DURING), ending, sleep=stage.writes("late"))

    result = await stage.run(worker, options=MailboxOptions(rounds=1))

    assert result.output == "hi"
    assert "closed answered" in stage.entries.story("worker#1")
    reasons = [unmet.reason for unmet in stage.bus.close().unmet]
    assert reasons == (["model_call_failed"] if ending.error else [])


@both
@pytest.mark.rows("T164")
@pytest.mark.parametrize(("ending", "error"), [(fails("boom"), ScriptedFailure), (says(""), WrapUpFailed)])
async def test_without_an_earlier_answer_a_wrap_up_that_gives_none_is_an_error(
    policy: BusPolicy, ending: Step, error: type[Exception]
) -> None:
    stage = Stage(policy)
    worker = agent(calls(call("list_agents"), seconds=DURING), ending, sleep=stage.writes("late"))

    with pytest.raises(error):
        await stage.run(worker, options=MailboxOptions(rounds=1))

    assert stage.entries.story("worker#1")[-1] == "closed error"
    reasons = [unmet.reason for unmet in stage.bus.close().unmet]
    assert reasons == (["model_call_failed"] if ending.error else [])


@pytest.mark.rows("T160")
async def test_in_the_wrap_up_a_structured_agent_can_ask_for_nothing_but_its_output() -> None:
    class Count(BaseModel):
        number: int

    stage = Stage()
    model = ScriptedModel(calls(call("look")), calls(call("look"), call("final_result", number=3)))
    worker = Agent(model, output_type=Count)
    looked: list[str] = []

    @worker.tool_plain
    def look() -> str:
        looked.append("seen")
        return "seen"

    result = await stage.run(worker, options=MailboxOptions(rounds=1))

    assert result.output == Count(number=3)
    assert looked == []


async def test_a_rejected_answer_of_the_last_call_leads_to_the_wrap_up() -> None:
    class Count(BaseModel):
        number: int

    stage = Stage()
    answers = (calls(call("final_result", number="many")), calls(call("final_result", number=3)))

    result = await stage.run(Agent(ScriptedModel(*answers), output_type=Count), options=MailboxOptions(rounds=1))

    assert result.output == Count(number=3)
    assert "closed wrap-up" in stage.entries.story("worker#1")


@pytest.mark.rows("T183")
async def test_when_no_move_is_left_mail_is_delivered_and_the_record_says_so() -> None:
    stage = Stage()

    await rounds_of(stage, lambda _, call: stage.friend.send("worker", "on") if call < 4 else None, 10)

    assert [facts["call"] for facts in stage.entries.of("move")] == [1, 2, 3]
    assert stage.entries.of("no_move") == [{"call": 4, "origins": ["agent"]}]
    (run,) = [run for run in stage.bus.record()["runs"] if run["address"] == "worker#1"]
    assert (run["moves"], run["no_moves"]) == (3, 1)
    assert len(stage.entries.of("delivery", "worker#1")) == 4


@pytest.mark.rows("T186")
async def test_by_default_a_run_never_moves_its_base_by_its_own_sends() -> None:
    stage = Stage()

    def act(reader: Reader, _: int) -> None:
        for selector in ("worker#1", "worker", "everyone"):
            reader.send(selector, "on")

    assert await rounds_of(stage, act, 10) == 10


@both
@pytest.mark.rows("T150", "B223")
async def test_the_earlier_answer_stays_in_the_transcript_as_the_agents(policy: BusPolicy) -> None:
    stage = Stage(policy)
    worker = agent(says("hi", seconds=DURING), says("hi, bye"), sleep=stage.writes("also say bye"))

    result = await stage.run(worker)

    assert result.output == "hi, bye"
    assert [message.text for message in result.all_messages() if message.kind == "response"] == ["hi", "hi, bye"]
