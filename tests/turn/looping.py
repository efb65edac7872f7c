"""An agent that looks around for ever, until it has no tools any more."""

from collections.abc import Callable
from inspect import isawaitable
from typing import Any

from pydantic_ai import Agent, RunContext
from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart, ToolCallPart
from pydantic_ai.models.function import AgentInfo, FunctionModel

from restante.bus import Reader
from restante.turn.mailbox import mailbox_of

ANSWER = "that is all"

Act = Callable[[Reader, int], object]


def looping(act: Act = lambda _reader, _call: None) -> Agent[None, str]:
    """Each round it looks, and while it does so `act` is told its reader and the number of the call, from 0."""
    looker = Agent(FunctionModel(_look_while_possible))
    looks = 0

    @looker.tool
    async def look(ctx: RunContext[Any]) -> str:
        nonlocal looks
        mailbox = mailbox_of(ctx)
        assert mailbox is not None
        looks += 1
        done = act(mailbox.reader, looks - 1)
        if isawaitable(done):
            await done
        return "seen"

    return looker


def _look_while_possible(_: list[ModelMessage], info: AgentInfo) -> ModelResponse:
    return ModelResponse(parts=[ToolCallPart("look") if info.function_tools else TextPart(ANSWER)])
