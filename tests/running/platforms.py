"""Real platforms for tests: real stores, real turns, models that answer as they are told."""

import asyncio
import re
from collections.abc import Awaitable, Callable, Mapping
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Any

from pydantic_ai import Agent
from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart, ToolCallPart, ToolReturnPart
from pydantic_ai.models import Model
from pydantic_ai.models.function import AgentInfo, FunctionModel

from restante.bus.policy import BusPolicy
from restante.durable.fates import SendState
from restante.running.agents import Hosted
from restante.running.config import Config, Limits
from restante.running.platform import Caller, Clock, Platform, ReadRequest, StatesRequest, open_platform
from restante.testing.scripted import prompt_of

LIMIT_S = 30.0
Answer = Callable[[str], Awaitable[list[str]]]
"""From the prompt of a turn to the replies that it sends."""


async def echo(prompt: str) -> list[str]:
    """One reply: the last line of what came."""
    return [f"re: {prompt.splitlines()[-1].removeprefix('> ')}"]


class Gate:
    """Holds every model call until it is opened, and tells how many wait."""

    def __init__(self, *replies: str) -> None:
        self._open = asyncio.Event()
        self._replies = replies
        self.waiting = 0
        self.passed: list[str] = []

    def open(self) -> None:
        self._open.set()

    async def __call__(self, prompt: str) -> list[str]:
        self.waiting += 1
        await self._open.wait()
        self.waiting -= 1
        self.passed.append(prompt)
        return list(self._replies)


async def _nothing() -> None:
    """Wait for nothing."""


def replying(answer: Answer, *, before_end: Callable[[], Awaitable[None]] = _nothing) -> Model:
    """A model that answers each message by the tool `messages`, and then says that it is done."""

    async def respond(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        del info
        if any(isinstance(part, ToolReturnPart) for part in messages[-1].parts):
            await before_end()
            return ModelResponse(parts=[TextPart("done")])
        prompt = prompt_of(messages)
        replies = await answer(prompt)
        found = re.findall(r"reply_address: (inbox-\w+)", prompt)
        if not replies or not found:
            return ModelResponse(parts=[TextPart(" ".join(replies) or "done")])
        address = found[-1]
        return ModelResponse(parts=[_reply(address, reply) for reply in replies])

    return FunctionModel(respond)


def _reply(address: str, text: str) -> ToolCallPart:
    return ToolCallPart("messages", {"action": "send", "inbox_id": address, "message": text})


def hosting(name: str, model: Model, tools: tuple[Callable[..., Any], ...] = ()) -> Hosted:
    agent: Agent[Any, Any] = Agent(model, name=name, tools=tools)
    return Hosted(name=name, description="", agent=agent, delegates={}, rounds=None, free_text_ask=True)


def config(limits: Limits | None = None) -> Config:
    return Config(policy=BusPolicy(), entry="scout", agents={}, limits=limits or Limits())


def platform_of(
    path: Path, model: Model, *, limits: Limits | None = None, clock: Clock | None = None
) -> AbstractAsyncContextManager[Platform]:
    """A platform on which `scout` and `editor` answer with this model."""
    agents: Mapping[str, Hosted] = {name: hosting(name, model) for name in ("scout", "editor")}
    return open_platform(config(limits), agents, path / "store.db", clock=clock)


async def principal(platform: Platform, label: str = "ci") -> Caller:
    return await platform.authenticate((await platform.create_token(label)).token)


async def until(condition: Callable[[], object]) -> None:
    """Let the loop turn until it is so."""
    async with asyncio.timeout(LIMIT_S):
        while not condition():  # noqa: ASYNC110  # whatever a test looks at has no event
            await asyncio.sleep(0)


async def settled(platform: Platform, caller: Caller, message_id: str) -> SendState:
    """The state of a message once it is final, by reading again until it is."""
    async with asyncio.timeout(LIMIT_S):
        while True:
            state = (await platform.states(caller, StatesRequest(message_id=message_id))).states[0]
            if state.ended_at_ms is not None or state.state == "stored":
                return state


async def texts(platform: Platform, caller: Caller, *, wait_seconds: float = 0.0) -> list[str]:
    page = await platform.read(caller, ReadRequest(wait_seconds=wait_seconds))
    return [one.message for one in page.messages]
