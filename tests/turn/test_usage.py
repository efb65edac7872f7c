"""What the runs of a turn use, and what limits it."""

from collections.abc import Iterator

import pytest
from pydantic_ai import Agent, ModelRetry
from pydantic_ai.exceptions import UsageLimitExceeded
from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart, ToolCallPart
from pydantic_ai.models import ModelRequestParameters
from pydantic_ai.models.fallback import FallbackModel
from pydantic_ai.models.function import AgentInfo, FunctionModel
from pydantic_ai.settings import ModelSettings
from pydantic_ai.usage import RequestUsage, UsageLimits
from typing_extensions import override

from restante.bus import BusPolicy, MessageBus
from restante.testing import ScriptedModel, call, calls, fails, says
from restante.testing.scripted import ScriptedFailure
from restante.turn import TurnOptions, messaging_tools, run_turn
from tests.turn.playing import BOTH, DURING, agent, meanwhile, model_of, play

pytestmark = pytest.mark.anyio

both = pytest.mark.parametrize("policy", BOTH, ids=lambda policy: policy.name)
Answer = tuple[TextPart | ToolCallPart, int, int]
LOOKS = ToolCallPart("list_agents", {})


class Counting(ScriptedModel):
    """A model that counts 100 tokens for each call that it has had."""

    @override
    async def count_tokens(
        self,
        messages: list[ModelMessage],
        model_settings: ModelSettings | None,
        model_request_parameters: ModelRequestParameters,
    ) -> RequestUsage:
        return RequestUsage(input_tokens=100 * len(self.prompts))


def reporting(*answers: Answer) -> FunctionModel:
    """A model that gives these answers, and says for each how many tokens went in and came out."""
    left: Iterator[Answer] = iter(answers)

    def answer(_: list[ModelMessage], __: AgentInfo) -> ModelResponse:
        part, read, written = next(left)
        return ModelResponse(parts=[part], usage=RequestUsage(input_tokens=read, output_tokens=written))

    return FunctionModel(answer)


@both
@pytest.mark.rows("T360")
async def test_each_reported_call_is_counted_once_for_its_run_and_all_of_them_in_the_sum(policy: BusPolicy) -> None:
    broken = ScriptedModel(*[fails("boom")] * 2)
    used_up = reporting((LOOKS, 100, 10), (TextPart("half of it"), 200, 20))
    works = reporting((TextPart("no"), 1_000, 1), (TextPart("42"), 2_000, 2))
    spawns = ToolCallPart("spawn", {"agent": "lead", "task": "x"})
    asks = ToolCallPart("spawn", {"agent": "coder", "task": "x"})
    coder = Agent(FallbackModel(broken, works, fallback_on=ScriptedFailure))

    @coder.output_validator
    def check(text: str) -> str:
        if text == "no":
            raise ModelRetry("Say 42.")
        return text

    agents = {"lead": Agent(used_up, toolsets=[messaging_tools()]), "coder": coder}
    entry = Agent(reporting((spawns, 10_000, 3), (asks, 20_000, 4), (TextPart("ok"), 40_000, 5)))

    result = (await play(entry, options=TurnOptions(agents=agents, rounds={"lead": 1}, policy=policy))).result

    used = {
        ran.address: (ran.how, ran.rounds, ran.usage.requests, ran.usage.input_tokens, ran.usage.output_tokens)
        for ran in result.runs
    }
    assert used == {
        "lead#1": ("wrap-up", 1, 2, 300, 30),
        "coder#1": ("answered", 2, 2, 3_000, 3),
        "assistant": ("answered", 3, 3, 70_000, 12),
    }
    assert (result.usage.requests, result.usage.input_tokens, result.usage.output_tokens) == (7, 73_300, 45)


@both
async def test_a_worker_that_has_used_up_its_limit_ends_by_an_error_that_its_spawner_is_told(policy: BusPolicy) -> None:
    looks = calls(call("list_agents"))
    options = TurnOptions(
        agents={"researcher": agent(looks, looks, says("never"))},
        usage_limits={"researcher": UsageLimits(request_limit=2)},
        policy=policy,
    )
    entry = agent(calls(call("spawn", agent="researcher", task="x")), says("I could not."))

    played = await play(entry, options=options)

    assert "request_limit of 2" in played.entries.results("spawn")[0]
    assert played.result.output == "I could not."
    assert [(ran.address, ran.how, ran.rounds) for ran in played.result.runs] == [
        ("researcher#1", "error", 2),
        ("assistant", "answered", 2),
    ]


@both
async def test_mail_for_a_call_that_a_limit_forbids_is_not_read(policy: BusPolicy) -> None:
    bus = MessageBus(policy)
    scout = bus.open("scout")

    def write() -> None:
        bus.send_person("go on")
        scout.send("assistant", "hello")

    worker = agent(says("hi", seconds=DURING), says("never"), sleep=meanwhile(write))
    options = TurnOptions(bus=bus, usage_limits={"assistant": UsageLimits(request_limit=1)})

    result = await run_turn(worker, "go", options)

    assert len(model_of(worker).prompts) == 1
    assert result.outcome == "failed"
    assert str(result.error).startswith(UsageLimitExceeded.__name__)
    assert [(unmet.text, unmet.reason) for unmet in result.report.unmet] == [("hello", "run_ended_first")]
    assert [words.text for words in result.report.next_turn] == ["go on"]


@both
async def test_mail_in_a_call_whose_tokens_are_counted_first_and_are_too_many_is_not_read(policy: BusPolicy) -> None:
    bus = MessageBus(policy)
    scout = bus.open("scout")
    writes = meanwhile(lambda: scout.send("assistant", "hello"))
    model = Counting(says("hi", seconds=DURING), says("never"), sleep=writes)
    limits = UsageLimits(input_tokens_limit=99, count_tokens_before_request=True)

    result = await run_turn(Agent(model), "go", TurnOptions(bus=bus, usage_limits={"assistant": limits}))

    assert len(model.prompts) == 1
    assert result.outcome == "failed"
    assert [(unmet.text, unmet.reason) for unmet in result.report.unmet] == [("hello", "model_call_failed")]


@both
async def test_mail_in_the_call_that_uses_too_many_tokens_has_been_read(policy: BusPolicy) -> None:
    bus = MessageBus(policy)
    scout = bus.open("scout")
    scout.send("everyone", "before")
    entry = Agent(reporting((LOOKS, 10, 1), (TextPart("ok"), 1_000, 1)), toolsets=[messaging_tools()])
    limits = {"assistant": UsageLimits(request_limit=None, input_tokens_limit=500)}

    result = await run_turn(entry, "go", TurnOptions(bus=bus, usage_limits=limits))

    assert result.outcome == "failed"
    assert result.report.unmet == ()
    assert [(ran.address, ran.how, ran.usage.input_tokens) for ran in result.runs] == [("assistant", "error", 1_010)]
