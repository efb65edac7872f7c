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


def delivered(deliveries: Iterable[Delivery], now_s: float) -> ModelRequest:
    """What a drain gave, as a prompt: a part for each message, and after a question what the bus says of it.

    `now_s` is the time of the bus, in seconds since it was made.
    """
    return request(text for one in deliveries for text in _delivery(one, now_s))


def _delivery(one: Delivery, now_s: float) -> Iterator[TextContent]:
    yield _text(one.prompt_text(), one.provenance())
    if one.message.answer_by_s is not None:
        yield _bus_text(question_notice(one.message, one.message.answer_by_s - now_s), "question")


def question_notice(message: Message, left_s: float) -> str:
    """What the bus says of a question to whoever reads it."""
    waits = f"waits for your reply for {left_s:.0f} s more" if left_s > 0 else "has waited for your reply, and no more"
    return (
        f"[notice] {message.sender} {waits}. To answer, send a message to exactly {message.sender}. "
        f"The question is {message.message_id}."
    )


def workers_notice(states: Mapping[str, str]) -> str:
    """What the bus says to an entry run that has answered while these background workers go on."""
    named = ", ".join(f"{address} ({state})" for address, state in states.items())
    return (
        f"[notice] You have answered while background workers go on: {named}. You may wait for yours with "
        "`await_workers`, end them with `cancel_worker`, or answer again and leave them: then they have a while to "
        "end. If you say nothing, your answer stands."
    )


def bus_says(text: str, notice: str) -> ModelRequest:
    """A notice of the bus as a prompt of its own."""
    return request([_bus_text(text, notice)])


def _bus_text(text: str, notice: str) -> TextContent:
    return _text(text, {"origin": "bus", "sender": "bus", "notice": notice})


def wrap_up() -> ModelRequest:
    """What the loop itself says before the call without tools."""
    return bus_says(WRAP_UP, "wrap_up")


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


def with_how(answer: str, address: str, how: str | None) -> str:
    """A worker's answer for who spawned it; one that it gave when its rounds were used up says so."""
    if how != "wrap-up":
        return answer
    return f"The rounds of {address} were used up, so that this answer may be incomplete:\n{answer}"
