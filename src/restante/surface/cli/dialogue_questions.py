"""Gated calls that wait for the person's yes or no: one after the other, each with its arguments."""

import asyncio
import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from rich.console import Console
from rich.text import Text

from restante.surface.cli.approval_line import ASKED
from restante.surface.visible import visible, visible_json, visible_line
from restante.turn import GatedCall, Verdict

ARGUMENT_LIMIT = 300
"""How much of each argument is shown above the input, in characters."""
NAME_LIMIT = 80
"""The same for the names of arguments."""
_LEAST_LINES = 4
"""The head of a question, something of its arguments, that more of them is not shown, and how to answer."""
_INDENT = "    "
_DEEPER = "        "
_HOW = "y allows it, n refuses it, n WHY also tells why; anything else is said as usual."
_MORE = "/arguments shows all of them."
_ANSWER = re.compile(r"(?P<yes>y|yes)|(?:n|no)(?:[\s,.:;]+(?P<why>.*))?", re.IGNORECASE | re.DOTALL)


def read_verdict(line: str) -> Verdict | None:
    """The yes or the no that a line is, or None: then it is words. A space before it makes it words, too."""
    found = _ANSWER.fullmatch(line.rstrip())
    return Verdict(allowed=bool(found["yes"]), reason=found["why"] or None) if found else None


@dataclass(eq=False)
class _Waiting:
    """A call, and the verdict that it waits for."""

    chat_id: str
    call: GatedCall
    verdict: asyncio.Future[Verdict]


class Questions:
    """The calls that wait, in the order in which they were made. One whose turn is stopped is withdrawn."""

    def __init__(self, changed: Callable[[str, GatedCall | None], None]) -> None:
        """`changed` is told the chat, and the call if it is a new one."""
        self._changed = changed
        self._waiting: list[_Waiting] = []

    async def ask(self, chat_id: str, call: GatedCall) -> Verdict:
        """Wait for the person's verdict."""
        waiting = _Waiting(chat_id, call, asyncio.get_running_loop().create_future())
        self._waiting.append(waiting)
        self._changed(chat_id, call)
        try:
            return await waiting.verdict
        finally:
            self._waiting.remove(waiting)
            self._changed(chat_id, None)

    @property
    def chats(self) -> set[str]:
        """The chats in which a call waits."""
        return {one.chat_id for one in self._waiting if not one.verdict.done()}

    def of(self, chat_id: str | None) -> list[GatedCall]:
        """The calls of a chat that wait, the one to be answered first."""
        return [one.call for one in self._waiting if one.chat_id == chat_id and not one.verdict.done()]

    def answer(self, call: GatedCall, verdict: Verdict) -> None:
        """Say yes or no to a call. If it does not wait any more, nothing happens."""
        for one in self._waiting:
            if one.call is call and not one.verdict.done():
                one.verdict.set_result(verdict)


def shown_question(call: GatedCall, others: int, width: int, height: int) -> list[Text]:
    """A call that waits in at most so many lines, none wider than `width`: who, what, with which arguments."""
    more = f" {others} more wait{'s' if others == 1 else ''} after it." if others else ""
    console = Console(width=max(width, 1))
    who = Text(visible_line(f"{ASKED} {call.address} wants to call {call.tool}"), "bold yellow")
    head = who.wrap(console, console.width)
    how = Text(f"{_HOW}{more}", "yellow").wrap(console, console.width)
    arguments = [line for one in _arguments(call) for line in _indented(one, console)]
    room = max(height, _LEAST_LINES) - len(head) - len(how)
    if len(arguments) > room or any(_is_cut(value) for value in call.arguments.values()):
        hint = Text(_MORE, "yellow").wrap(console, console.width)
        arguments = [*arguments[: max(room - len(hint), 0)], *hint]
    return [*head, *arguments, *how]


def whole_arguments(call: GatedCall) -> Text:
    """All arguments of a call, to the last character, as text that cannot act on a terminal."""
    lead = Text(visible_line(f"{call.address} wants to call {call.tool} with:"), "bold")
    return lead.append("\n").append(visible(visible_json(dict(call.arguments))), "not bold")


def _arguments(call: GatedCall) -> Iterator[Text]:
    if not call.arguments:
        yield Text("without arguments", "dim")
    for name, value in call.arguments.items():
        shown = visible_line(_json(value), ARGUMENT_LIMIT)
        yield Text(f"{visible_line(name, NAME_LIMIT)}: ", "bold").append(shown, "not bold")


def _indented(argument: Text, console: Console) -> Iterator[Text]:
    """Its lines. None but the first stands where arguments begin, so that none can look like another argument."""
    first, *rest = argument.wrap(console, max(console.width - len(_DEEPER), 1))
    yield Text(_INDENT).append_text(first)
    for line in rest:
        yield Text(_DEEPER).append_text(line)


def _is_cut(value: object) -> bool:
    return len(_json(value)) > ARGUMENT_LIMIT


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)
