"""A request as a small chat model reads it: roles and texts, with the tools and their calls in words."""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import takewhile
from typing import Any, NamedTuple

Request = Mapping[str, Any]
"""The body of `POST /v1/chat/completions`."""


MAIL = re.compile(r"\[message from ")
"""What a message of another agent begins with."""


class Tool(NamedTuple):
    """A function as a request offers it."""

    name: str
    description: str
    schema: Mapping[str, Any]
    """Of its arguments."""


def tools_of(request: Request) -> tuple[Tool, ...]:
    """The functions that may be called."""
    if request.get("tool_choice") == "none":
        return ()
    functions = [tool["function"] for tool in request.get("tools") or ()]
    return tuple(Tool(each["name"], each.get("description", ""), each["parameters"]) for each in functions)


def must_call(request: Request) -> bool:
    """Whether the answer has to be a call: on request, and until a tool has answered since the words of the turn.

    The second is a help: a model this small does not come upon calling by itself.
    """
    if request.get("tool_choice") == "required":
        return True
    since = list(takewhile(lambda one: not _begins_turn(one), reversed(request["messages"])))
    return all(one["role"] != "tool" for one in since)


def _begins_turn(message: Mapping[str, Any]) -> bool:
    """The words of a person or a task; mail that comes in the middle begins nothing."""
    return message["role"] == "user" and not MAIL.match(_text(message.get("content")))


def dialogue_of(request: Request) -> list[dict[str, str]]:
    """The messages, with the tools before the instructions: what comes last weighs most in a small model."""
    said = [one for message in request["messages"] for one in _said(message)]
    system = [_described(tools_of(request)), *(text for role, text in said if role == "system")]
    others = [(role, text) for role, text in said if role != "system"]
    return [{"role": role, "content": text} for role, text in [("system", "\n\n".join(filter(None, system))), *others]]


def _said(message: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    if text := _text(message.get("content")):
        yield message["role"], text
    for call in message.get("tool_calls") or ():
        yield message["role"], _written(call["function"]["name"], json.loads(call["function"]["arguments"]))


def _text(content: str | Sequence[Mapping[str, Any]] | None) -> str:
    if content is None or isinstance(content, str):
        return content or ""
    return "\n".join(part["text"] for part in content)


def _described(tools: Sequence[Tool]) -> str:
    lines = [
        f"{_written(tool.name, dict.fromkeys(tool.schema['properties'], '...'))} {tool.description}" for tool in tools
    ]
    return "\n".join(["The calls that you may write:", *lines]) if tools else ""


def _written(name: str, arguments: Mapping[str, Any]) -> str:
    """A call as the grammar has it."""
    return json.dumps({"name": name, "arguments": arguments}, ensure_ascii=False, separators=(",", ":"))
