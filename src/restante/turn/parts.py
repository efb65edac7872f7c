"""The prompt parts of a turn: each words of one origin, with a provenance that no text can change."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any, cast

from pydantic_ai.messages import (
    ModelMessage,
    ModelRequest,
    ModelResponse,
    TextContent,
    TextPart,
    ThinkingPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)
from pydantic_core import to_json

from restante.bus.message import Message
from restante.bus.rendering import Delivery, prompt_text, provenance

WRAP_UP = (
    "[notice] Your rounds are used up: this is your last answer, and no tool can be called any more. "
    "Answer now with what you have, and say what is missing."
)
NOT_EXECUTED = "Not executed: the rounds of this run are used up."
CUT_OFF = "Not executed to its end: the run ended before."


def words(message: Message) -> TextContent:
    """A message that the turn begins with."""
    return _text(prompt_text(message), provenance(message))


def person(text: str) -> TextContent:
    """What the person says, where no message of it is kept."""
    return _text(text, {"origin": "person", "sender": "person"})


def task(text: str, spawner: str) -> TextContent:
    """A worker's task: bare, and never the person's words."""
    return _text(text, {"origin": "agent", "sender": spawner})


def request(texts: Iterable[TextContent]) -> ModelRequest:
    """One request with a part for each text, in their order; nothing is joined."""
    return ModelRequest(parts=[UserPromptPart([text]) for text in texts])


def delivered(deliveries: Iterable[Delivery]) -> ModelRequest:
    """What a drain gave, as a prompt."""
    return request(_text(one.prompt_text(), one.provenance()) for one in deliveries)


def wrap_up() -> ModelRequest:
    """What the loop itself says before the call without tools."""
    return request([_text(WRAP_UP, {"origin": "bus", "sender": "bus", "notice": "wrap_up"})])


def not_executed(calls: Sequence[ToolCallPart]) -> ModelRequest:
    """A result for each call that was asked for when no round was left."""
    return ModelRequest(
        parts=[
            ToolReturnPart(call.tool_name, NOT_EXECUTED, tool_call_id=call.tool_call_id, outcome="failed")
            for call in calls
        ]
    )


def message_ids(messages: Sequence[ModelMessage]) -> set[str]:
    """The ids of the messages that these prompts carry, read from their provenance."""
    return {
        facts["message_id"]
        for message in messages
        if isinstance(message, ModelRequest)
        for part in message.parts
        for facts in provenances(part)
        if isinstance(facts.get("message_id"), str)
    }


def provenances(part: object) -> Iterator[Mapping[str, Any]]:
    """Where the texts of a prompt part come from; none for other parts, and for texts without provenance."""
    if not isinstance(part, UserPromptPart) or isinstance(part.content, str):
        return
    for content in part.content:
        metadata: object = content.metadata if isinstance(content, TextContent) else None
        if isinstance(metadata, dict):
            yield cast("dict[str, Any]", metadata)


def function_calls(response: ModelResponse, output_tools: Collection[str]) -> list[ToolCallPart]:
    """The calls of tools that do something, which leaves out those that give the output."""
    return [part for part in response.parts if isinstance(part, ToolCallPart) and part.tool_name not in output_tools]


def is_empty(response: ModelResponse) -> bool:
    """Whether there is nothing in it that could be an answer or a request, and no reason for that but the model."""
    if response.finish_reason in ("length", "content_filter"):
        return False
    return all(
        isinstance(part, ThinkingPart) or (isinstance(part, TextPart) and not part.content) for part in response.parts
    )


def as_text(value: object) -> str:
    """An output or a tool's result as text: a text as it is, anything else as JSON."""
    return value if isinstance(value, str) else to_json(value, fallback=str).decode()


def _text(text: str, facts: Mapping[str, object]) -> TextContent:
    return TextContent(text, metadata=dict(facts))
