"""Mail and the model calls that carry it: one made again, one whose answer is rejected, one that breaks off."""

from collections.abc import AsyncIterable, AsyncIterator
from dataclasses import replace
from typing import Any

import pytest
from pydantic import BaseModel
from pydantic_ai import Agent, RunContext
from pydantic_ai.capabilities import AbstractCapability
from pydantic_ai.messages import ModelMessage
from pydantic_ai.models import ModelRequestContext
from pydantic_ai.models.fallback import FallbackModel
from pydantic_ai.models.function import AgentInfo, FunctionModel
from typing_extensions import override

from restante import BusPolicy
from restante.testing import ScriptedModel, call, calls, fails, says
from restante.testing.scripted import ScriptedFailure
from restante.turn import Mailbox
from tests.bus.policies import both
from tests.turn.playing import DURING, Stage

pytestmark = pytest.mark.anyio


def outcomes(stage: Stage) -> list[tuple[str, str, str | None]]:
    """Text, state and reason of each obligation, when the turn is over."""
    stage.bus.close()
    return [
        (message["text"], fate["state"], fate["reason"])
        for message in stage.bus.record()["messages"]
        for fate in message["fates"]
        if fate["obliged"]
    ]


@both
@pytest.mark.rows("T113")
async def test_mail_stays_claimed_while_its_call_is_made_again_and_is_delivered_once(policy: BusPolicy) -> None:
    stage = Stage(policy)
    seen: list[str] = []

    async def write_then_look(_: float) -> None:
        if stage.entries.of("message"):
            seen.append(stage.bus.fates("m1")[0].state)
        else:
            stage.friend.send("worker", "hello")

    second = ScriptedModel(says("hi", seconds=DURING), says("ok", seconds=DURING), sleep=write_then_look)
    model = FallbackModel(ScriptedModel(*[fails("boom")] * 2), second, fallback_on=(ScriptedFailure,))

    await stage.run(Agent(model))

    assert seen == ["claimed"]
    assert outcomes(stage) == [("hello", "delivered", None)]
    assert len(stage.entries.of("delivery", "worker#1")) == 1


@both
@pytest.mark.rows("T113")
async def test_mail_in_a_call_whose_answer_is_rejected_is_delivered_once(policy: BusPolicy) -> None:
    class Count(BaseModel):
        number: int

    stage = Stage(policy)
    bad, good = calls(call("final_result", number="many")), calls(call("final_result", number=3))
    looks = calls(call("final_result", number=1), seconds=DURING)
    model = ScriptedModel(looks, bad, good, sleep=stage.writes("hello"))

    result = await stage.run(Agent(model, output_type=Count))

    assert result.output == Count(number=3)
    assert outcomes(stage) == [("hello", "delivered", None)]
    assert stage.bus.fates("m1")[-1].call == 1
    assert len(stage.entries.of("delivery", "worker#1")) == 1


class Streaming:
    """An agent whose calls are streamed: mail arrives during its first, which is carried by its second."""

    def __init__(self, policy: BusPolicy, *, breaks: bool, forgets: bool = False) -> None:
        self.stage = Stage(policy)
        self.breaks = breaks
        self.half_way: list[str] = []
        capabilities = [_Forgetful()] if forgets else []
        self.agent = Agent(FunctionModel(stream_function=self.stream), capabilities=capabilities)

    async def stream(self, _: list[ModelMessage], __: AgentInfo) -> AsyncIterator[str]:
        """One call: the first half of an answer, and the second, if it comes."""
        first = not self.stage.entries.of("message")
        if first:
            self.stage.friend.send("worker", "hello")
        yield "half "
        if not first:
            self.half_way.append(self.stage.bus.fates("m1")[0].state)
            if self.breaks:
                raise ConnectionError("the line is dead")
        yield "whole"

    async def run(self) -> None:
        """Run it, and listen."""

        async def listen(_: RunContext[Any], events: AsyncIterable[object]) -> None:
            async for _event in events:
                pass

        await self.agent.run("go", capabilities=[Mailbox(self.stage.bus, "worker")], event_stream_handler=listen)


class _Forgetful(AbstractCapability[Any]):
    @override
    async def prepare_model_request(
        self, ctx: RunContext[Any], request_context: ModelRequestContext
    ) -> ModelRequestContext:
        return replace(request_context, messages=request_context.messages[:1])


@both
@pytest.mark.rows("T114")
async def test_a_streamed_call_that_breaks_off_half_way_has_not_returned(policy: BusPolicy) -> None:
    streaming = Streaming(policy, breaks=True)

    with pytest.raises(ConnectionError):
        await streaming.run()

    assert streaming.half_way == ["claimed"]
    assert outcomes(streaming.stage) == [("hello", "undelivered", "model_call_failed")]
    assert [unmet.text for unmet in streaming.stage.bus.close().unmet] == ["hello"]


@both
@pytest.mark.rows("T114")
async def test_a_streamed_call_has_returned_when_it_is_complete(policy: BusPolicy) -> None:
    streaming = Streaming(policy, breaks=False)

    await streaming.run()

    assert streaming.half_way == ["claimed"]
    assert outcomes(streaming.stage) == [("hello", "delivered", None)]


@both
@pytest.mark.rows("T114", "T371")
async def test_a_streamed_call_delivers_only_what_was_in_its_request(policy: BusPolicy) -> None:
    streaming = Streaming(policy, breaks=False, forgets=True)

    await streaming.run()

    assert outcomes(streaming.stage) == [("hello", "undelivered", "run_ended_first")]
