"""What agents answer that answer with more than a text: each kind of output, with mail and at the end of the rounds."""

from typing import Any

import pytest
from pydantic import BaseModel
from pydantic_ai import Agent, NativeOutput, PromptedOutput, TextOutput, ToolOutput
from pydantic_ai.messages import ModelMessage, ModelResponse, ToolCallPart
from pydantic_ai.models.function import AgentInfo, FunctionModel

from restante.bus import BusPolicy, MessageBus
from restante.testing import ScriptedModel, Step, call, calls, says
from restante.turn import MailboxOptions, TurnOptions, messaging_tools, run_turn
from tests.turn.playing import BOTH, DURING, Entries, Stage, agent, meanwhile, play

pytestmark = pytest.mark.anyio

both = pytest.mark.parametrize("policy", BOTH, ids=lambda policy: policy.name)


class Count(BaseModel):
    number: int


class Name(BaseModel):
    name: str


def doubled(number: int) -> int:
    return 2 * number


def shouted(text: str) -> str:
    return text.upper()


@both
@pytest.mark.rows("T359")
async def test_mail_during_a_structured_answer_gives_one_more_round_and_the_last_output_stands(
    policy: BusPolicy,
) -> None:
    entries = Entries()
    bus = MessageBus(policy, sink=entries.append)
    model = ScriptedModel(
        calls(call("spawn", agent="counter", task="count")),
        calls(call("final_result", number=1), seconds=DURING),
        calls(call("final_result", number=2)),
        sleep=meanwhile(lambda: bus.send_person("one more")),
    )
    counter = Agent(ScriptedModel(calls(call("final_result", number=3))), output_type=Count)

    result = await run_turn(Agent(model, output_type=Count), "go", TurnOptions(bus=bus, agents={"counter": counter}))

    assert result.output == Count(number=2)
    assert [(ran.address, ran.how, ran.rounds) for ran in result.runs] == [
        ("counter#1", "answered", 1),
        ("assistant", "answered", 3),
    ]
    assert entries.results("spawn") == ['{"number":3}']


@both
@pytest.mark.rows("T359")
async def test_in_the_wrap_up_nothing_but_the_output_can_be_asked_for(policy: BusPolicy) -> None:
    offered: list[tuple[list[str], list[str]]] = []

    def model(_: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        offered.append(([tool.name for tool in info.function_tools], [tool.name for tool in info.output_tools]))
        looks = ToolCallPart("list_agents", {})
        last = [looks, ToolCallPart("final_result", {"number": 3})]
        return ModelResponse(parts=[looks] if info.function_tools else last)

    def counting() -> Agent[None, Count]:
        return Agent(FunctionModel(model), output_type=Count, toolsets=[messaging_tools()])

    spawns = calls(call("spawn", agent="counter", task="count"))
    entry = await play(counting(), options=TurnOptions(policy=policy, rounds={"assistant": 2}))
    options = TurnOptions(policy=policy, agents={"counter": counting()}, rounds={"counter": 2})
    worker = await play(agent(spawns, says("ok")), options=options)

    assert entry.result.output == Count(number=3)
    assert worker.entries.results("spawn")[0].endswith('\n{"number":3}')
    full = (["send_message", "list_agents"], ["final_result"])
    assert offered == [full, full, ([], ["final_result"])] * 2
    assert entry.entries.story("assistant")[:8] == [
        "round 0",
        "calls list_agents",
        "list_agents: ok",
        "round 1",
        "calls list_agents",
        "list_agents: not_executed",
        "wrap-up",
        "calls final_result",
    ]


def result(**args: object) -> Step:
    return calls(call("final_result", **args))


def named(tool: str, /, **args: object) -> Step:
    return calls(call(tool, **args))


KINDS: dict[str, tuple[Any, Step, Step, object]] = {
    "list": (list[int], result(response=[1]), result(response=[2]), [2]),
    "union": (
        [Count, Name],
        named("final_result_Count", number=1),
        named("final_result_Name", name="two"),
        Name(name="two"),
    ),
    "union with text": ([Count, str], result(number=1), says("two"), "two"),
    "function": (doubled, result(number=1), result(number=2), 4),
    "text function": (TextOutput(shouted), says("one"), says("two"), "TWO"),
    "named tool": (
        ToolOutput(Count, name="count"),
        named("count", number=1),
        named("count", number=2),
        Count(number=2),
    ),
    "native": (NativeOutput(Count), says('{"number": 1}'), says('{"number": 2}'), Count(number=2)),
    "prompted": (PromptedOutput(Count), says('{"number": 1}'), says('{"number": 2}'), Count(number=2)),
}
kinds = pytest.mark.parametrize(("kind", "first", "second", "output"), KINDS.values(), ids=KINDS)


@both
@kinds
async def test_any_kind_of_output_gets_one_more_round_for_mail(
    policy: BusPolicy, kind: Any, first: Step, second: Step, output: object
) -> None:
    stage = Stage(policy)
    model = ScriptedModel(during(first), second, sleep=stage.writes("one more"))

    result = await stage.run(Agent(model, output_type=kind))

    assert result.output == output
    assert stage.entries.story("worker#1").count("reads one more") == 1
    assert "closed answered" in stage.entries.story("worker#1")


@both
@kinds
async def test_any_kind_of_output_can_be_given_in_the_wrap_up(
    policy: BusPolicy, kind: Any, first: Step, second: Step, output: object
) -> None:
    stage = Stage(policy)
    model = ScriptedModel(during(first), second, sleep=stage.writes("one more"))

    result = await stage.run(Agent(model, output_type=kind), options=MailboxOptions(rounds=1))

    assert result.output == output
    assert "closed wrap-up" in stage.entries.story("worker#1")
    assert {fate[2] for fate in stage.entries.fates()} == {"delivered"}


def during(step: Step) -> Step:
    """The same step, while something else happens."""
    return Step(say=step.say, calls=step.calls, seconds=DURING)
