"""The prompts of a run, as a test reads them: the parts that carry a message, and how they come back from storage."""

from typing import Any

from pydantic_ai.messages import ModelMessage, ModelMessagesTypeAdapter, ModelRequest, TextContent, UserPromptPart

from restante.turn.parts import provenances

Part = tuple[str, dict[str, Any]]


def mail_in(messages: list[ModelMessage]) -> list[Part]:
    """The prompt parts that carry a message: the text of each and its provenance."""
    return [
        (content.content, dict(facts))
        for message in messages
        if isinstance(message, ModelRequest)
        for part in message.parts
        if isinstance(part, UserPromptPart)
        for content, facts in zip(part.content, provenances(part), strict=False)
        if isinstance(content, TextContent) and "message_id" in facts
    ]


def reloaded(messages: list[ModelMessage]) -> list[ModelMessage]:
    """A history as it comes back from where it was stored."""
    return ModelMessagesTypeAdapter.validate_json(ModelMessagesTypeAdapter.dump_json(messages))
