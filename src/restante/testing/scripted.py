"""A model that follows a script: what it says and which tools it calls, step by step."""

import asyncio
import json
import re
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Self

# The library keeps the run that a model call belongs to in a private module, and a request that was merged from
# several no longer names it.
from pydantic_ai._run_context import get_current_run_context
from pydantic_ai.messages import (
    ModelMessage,
    ModelRequest,
    ModelResponse,
    TextContent,
    TextPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)
from pydantic_ai.models.function import AgentInfo, DeltaToolCall, DeltaToolCalls, FunctionModel

Sleep = Callable[[float], Awaitable[None]]


class ScriptEnded(RuntimeError):
    """A run asked its scripted model for a step that the script does not have."""


class ScriptedFailure(RuntimeError):
    """The failure that a script asks for."""


REPLY_ADDRESS = "{reply_address}"
"""Stands in an argument for the reply address of the newest platform message in the prompt."""
_REPLY_ADDRESS = re.compile(r"^It came from outside.*; reply_address: (\S+)\.$", re.MULTILINE)


class Call(NamedTuple):
    """One call of a tool. An argument may hold `{reply_address}`."""

    tool: str
    args: Mapping[str, object]


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """What the model does when it is called once: it says something, calls tools (together), or fails."""

    say: str = ""
    calls: tuple[Call, ...] = ()
    error: str | None = None
    when: str | None = None
    """A text that the prompt must contain; a step that it does not fit is passed over."""
    seconds: float = 0.0
    """How long the model seems to think."""


def call(tool: str, /, **args: object) -> Call:
    """A call of a tool, for `calls`."""
    return Call(tool, args)


def says(text: str, *, when: str | None = None, seconds: float = 0.0) -> Step:
    """The model says `text`, which may be empty."""
    return Step(say=text, when=when, seconds=seconds)


def calls(*tools: Call, when: str | None = None, seconds: float = 0.0) -> Step:
    """The model calls these tools, together."""
    return Step(calls=tools, when=when, seconds=seconds)


def fails(error: str, *, after: str = "", when: str | None = None, seconds: float = 0.0) -> Step:
    """The model call raises. One that is streamed has said `after` by then."""
    return Step(say=after, error=error, when=when, seconds=seconds)


class ScriptedModel(FunctionModel):
    """A model that follows its script, streamed or not; each run of an agent starts the script anew.

    A call takes the next step whose `when` is in the prompt, so that one script can serve runs with different tasks.
    Raises `ScriptEnded`, naming the step, when a run asks for more than the script has.
    """

    def __init__(self, *steps: Step, name: str = "scripted", sleep: Sleep = asyncio.sleep) -> None:
        super().__init__(self._request, stream_function=self._stream, model_name=name)
        self.prompts: list[list[ModelMessage]] = []
        """The messages of each call, in the order of the calls."""
        self._scripts: Sequence[Sequence[Step]] = (steps,)
        self._sleep = sleep
        self._places: dict[str, _Place] = {}

    @classmethod
    def of_runs(cls, *scripts: Sequence[Step], name: str = "scripted", sleep: Sleep = asyncio.sleep) -> Self:
        """A script for each run, in the order of their first calls; after the last script comes the first again."""
        model = cls(name=name, sleep=sleep)
        model._scripts = scripts
        return model

    async def _request(self, messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        del info
        step = await self._take(messages)
        _fail(step)
        if not step.calls:
            return ModelResponse(parts=[TextPart(step.say)])
        return ModelResponse(parts=[ToolCallPart(*named) for named in _named(step, messages)])

    async def _stream(self, messages: list[ModelMessage], info: AgentInfo) -> AsyncIterator[str | DeltaToolCalls]:
        del info
        step = await self._take(messages)
        for piece in _pieces(step):
            yield piece
        _fail(step)
        for index, (tool, args, call_id) in enumerate(_named(step, messages)):
            yield {index: DeltaToolCall(tool, json.dumps(args), tool_call_id=call_id)}

    async def _take(self, messages: list[ModelMessage]) -> Step:
        self.prompts.append(list(messages))
        step = self._place().next_step(prompt_of(messages))
        if step.seconds:
            await self._sleep(step.seconds)
        return step

    def _place(self) -> "_Place":
        context = get_current_run_context()
        run_id = (context.run_id if context else None) or ""
        if run_id not in self._places:
            number = len(self._places)
            script = self._scripts[number % len(self._scripts)] if self._scripts else ()
            self._places[run_id] = _Place(f"{self.model_name}, run {number + 1}", script)
        return self._places[run_id]


class _Place:
    """Where one run stands in its script."""

    def __init__(self, title: str, script: Sequence[Step]) -> None:
        self._title = title
        self._script = script
        self._next = 0

    def next_step(self, prompt: str) -> Step:
        for number in range(self._next, len(self._script)):
            step = self._script[number]
            if step.when is None or step.when in prompt:
                self._next = number + 1
                return step
        asked = f"step {self._next + 1}"
        of = f"the script has {len(self._script)}" + (" and none that is left fits the prompt" if self._left() else "")
        raise ScriptEnded(f"{self._title} asked for {asked}; {of}. The prompt ends: {prompt[-200:]!r}")

    def _left(self) -> bool:
        return self._next < len(self._script)


def prompt_of(messages: Sequence[ModelMessage]) -> str:
    """What the model reads: the words of every prompt part and tool result, one below the other."""
    return "\n".join(
        text
        for message in messages
        if isinstance(message, ModelRequest)
        for part in message.parts
        for text in texts_of(part)
    )


def texts_of(part: object) -> Iterator[str]:
    """The texts of a part of a request: of a prompt or of a tool's result."""
    if isinstance(part, ToolReturnPart):
        yield part.model_response_str()
    if isinstance(part, UserPromptPart):
        for content in [part.content] if isinstance(part.content, str) else part.content:
            if isinstance(content, TextContent):
                yield content.content
            elif isinstance(content, str):
                yield content


def _named(step: Step, messages: Sequence[ModelMessage]) -> Iterator[tuple[str, dict[str, object], str]]:
    """The calls of a step, with ids that no other call of this history has and that are the same each time."""
    earlier = sum(isinstance(message, ModelResponse) for message in messages)
    for index, (tool, args) in enumerate(step.calls, start=1):
        filled = {name: _filled(value, messages) for name, value in args.items()}
        yield tool, filled, f"call-{earlier + 1}-{index}"


def _filled(value: object, messages: Sequence[ModelMessage]) -> object:
    if not isinstance(value, str) or REPLY_ADDRESS not in value:
        return value
    found = _REPLY_ADDRESS.findall(prompt_of(messages))
    if not found:
        raise ScriptedFailure(f"No message in the prompt has a reply address to put for {REPLY_ADDRESS}.")
    return value.replace(REPLY_ADDRESS, found[-1])


def _fail(step: Step) -> None:
    if step.error is not None:
        raise ScriptedFailure(step.error)


def _pieces(step: Step) -> Iterator[str]:
    """Its text as it would arrive: word by word, and at least one piece of an answer."""
    if step.calls or (step.error is not None and not step.say):
        return
    words = step.say.split(" ")
    for place, word in enumerate(words, start=1):
        yield word if place == len(words) else f"{word} "
