"""How the tests of the turn play a run or a turn, and read from its journal what happened to whom."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from typing import Any

from pydantic_ai import Agent
from pydantic_ai.messages import ModelMessage, ModelRequest, ToolReturnPart, UserPromptPart
from pydantic_ai.run import AgentRunResult
from pydantic_ai.usage import UsageLimits

from restante.bus import BusPolicy, JournalEntry, MessageBus
from restante.testing import ScriptedModel, Step
from restante.turn import Mailbox, MailboxOptions, TurnOptions, TurnResult, messaging_tools, run_turn
from restante.turn.parts import provenances

PATIENCE_SECONDS = 20
BOTH = (BusPolicy(), BusPolicy.classic())
DURING = 1.0
"""The seconds of a step during which something else happens: see `meanwhile`."""


class Entries(list[JournalEntry]):
    """A journal, kept."""

    def of(self, kind: str, address: str | None = None) -> list[dict[str, Any]]:
        """The facts of all entries of a kind, or of those about one run."""
        return [dict(one.facts) for one in self if one.kind == kind and address in (None, one.address)]

    def story(self, address: str) -> list[str]:
        """What one run did and read, in a few words each."""
        return [words for one in self if one.address == address and (words := _in_words(one.kind, dict(one.facts)))]

    def results(self, tool: str, address: str | None = None) -> list[str]:
        """What a tool answered, each time."""
        return [facts["text"] for facts in self.of("tool_result", address) if facts["tool"] == tool]

    def fates(self) -> list[tuple[str, str | None, str, str | None]]:
        """Message, address, state and reason of everything that was settled."""
        return [(one["message_id"], one["address"], one["state"], one["reason"]) for one in self.of("fate")]


def _in_words(kind: str, facts: dict[str, Any]) -> str:
    forms = {
        "round": "round {call}",
        "wrap_up": "wrap-up",
        "model_text": "says {text}",
        "tool_call": "calls {tool}",
        "tool_result": "{tool}: {outcome}",
        "delivery": "reads {text}",
        "spawn": "spawns {address}",
        "answer": "answers {text}",
        "run_failed": "fails",
        "run_closed": "closed {how}",
    }
    return forms.get(kind, "").format_map(facts)


@dataclass(frozen=True)
class Played:
    """A turn that is over, and its journal."""

    result: TurnResult
    entries: Entries


async def play(agent: Agent[Any, Any], prompt: str = "go", options: TurnOptions | None = None) -> Played:
    """Run a turn to its end."""
    entries = Entries()
    options = options or TurnOptions()
    if options.bus is None:
        options = replace(options, sink=entries.append)
    async with asyncio.timeout(PATIENCE_SECONDS):
        return Played(await run_turn(agent, prompt, options), entries)


class Stage:
    """A bus with its journal, on which single runs are played, and somebody who can write to them."""

    def __init__(self, policy: BusPolicy | None = None) -> None:
        self.entries = Entries()
        self.bus = MessageBus(policy, sink=self.entries.append)
        self.friend = self.bus.open("friend")

    async def run(
        self, agent: Agent[Any, Any], label: str = "worker", options: MailboxOptions | None = None
    ) -> AgentRunResult[Any]:
        """Run an agent with a mailbox of its own."""
        mailbox = Mailbox(self.bus, label, options=options)
        async with asyncio.timeout(PATIENCE_SECONDS):
            return await agent.run("go", capabilities=[mailbox], usage_limits=UsageLimits(request_limit=None))

    def writes(self, text: str, to: str = "worker") -> Callable[[float], Awaitable[None]]:
        """To be a model's `sleep`: the friend writes while the model thinks."""
        return meanwhile(lambda: self.friend.send(to, text))


def meanwhile(act: Callable[[], object]) -> Callable[[float], Awaitable[None]]:
    """To be a model's `sleep`: something happens during each step that takes `DURING` seconds."""

    async def sleep(_: float) -> None:
        act()

    return sleep


def agent(*steps: Step, **options: Any) -> Agent[Any, Any]:
    """An agent that follows a script and can write messages."""
    return Agent(ScriptedModel(*steps, **options), toolsets=[messaging_tools()])


def model_of(played: Agent[Any, Any]) -> ScriptedModel:
    """The scripted model of an agent, which keeps the prompts of its calls."""
    assert isinstance(played.model, ScriptedModel)
    return played.model


def last_parts(messages: list[ModelMessage]) -> list[str]:
    """What the last request of a prompt holds, a word or two for each part, in order."""
    request = messages[-1]
    assert isinstance(request, ModelRequest)
    return [text for part in request.parts for text in _part_in_words(part)]


def origins_of(messages: list[ModelMessage]) -> list[str]:
    """The origins of all prompt parts, in order."""
    return [
        facts["origin"]
        for message in messages
        if isinstance(message, ModelRequest)
        for part in message.parts
        for facts in provenances(part)
    ]


def _part_in_words(part: object) -> list[str]:
    if isinstance(part, ToolReturnPart):
        return [f"result of {part.tool_name}"]
    if isinstance(part, UserPromptPart) and not isinstance(part.content, str):
        return [str(getattr(content, "content", content)) for content in part.content]
    return (
        [part.content] if isinstance(part, UserPromptPart) and isinstance(part.content, str) else [type(part).__name__]
    )
