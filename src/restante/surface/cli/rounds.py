"""The rounds of one run on the terminal: what it read, what it called, what it said, each at its place."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from rich.text import Text

from restante.bus.entry import JournalEntry
from restante.surface.cli.approval_line import ASKED, verdict_in_words
from restante.surface.cli.message_line import IN_PLACE
from restante.surface.signs import in_short
from restante.surface.visible import visible, visible_line

RESULT_LIMIT = 500
"""How much of a tool's result, and of each argument, is shown, in characters."""

Facts = Mapping[str, Any]


def rounds_of(address: str, entries: Sequence[JournalEntry]) -> Iterator[Text]:
    """The journal of one run, a text for each entry that people read."""
    for entry in entries:
        if entry.kind == "spawn" and entry.facts["address"] == address:
            yield _labelled(f"Task from {entry.address}:", str(entry.facts["task"]), "dim")
        elif entry.address == address and (shown := _SHOWN.get(entry.kind)):
            yield from shown(entry.facts)


def runs_in(entries: Sequence[JournalEntry]) -> dict[str, int]:
    """The addresses of the runs, in the order of opening, with how many rounds each has begun."""
    found = {str(entry.address): 0 for entry in entries if entry.kind == "run_opened"}
    for entry in entries:
        if entry.kind == "round" and entry.address in found:
            found[entry.address] += 1
    return found


def _labelled(label: str, text: str, style: str = "") -> Text:
    return Text(f"{visible_line(label)} ", style or "bold").append(visible(text), "not bold not dim")


def _round(facts: Facts) -> Iterator[Text]:
    yield Text(f"Round {facts['call'] + 1}", "bold")


def _delivery(facts: Facts) -> Iterator[Text]:
    marker = ""
    if facts["origin"] != "person":
        marker = f"[message from {facts['sender']}{', sent before you started' if facts['replayed'] else ''}] "
    yield _labelled(f"{IN_PLACE}:", f"{visible_line(marker)}{facts['text']}", "cyan")


def _text(facts: Facts) -> Iterator[Text]:
    yield _labelled("Says:", str(facts["text"]))


def _tool_call(facts: Facts) -> Iterator[Text]:
    args: Facts = facts["args"]
    given = ", ".join(f"{name}={visible_line(repr(value), RESULT_LIMIT)}" for name, value in args.items())
    yield Text(f"Calls {visible_line(str(facts['tool']))}({visible_line(given)})")


def _tool_result(facts: Facts) -> Iterator[Text]:
    failed = "" if facts["outcome"] == "ok" else f" [{facts['outcome'].replace('_', ' ')}]"
    yield Text(f"  = {visible_line(str(facts['text']), RESULT_LIMIT)}{failed}", "dim" if not failed else "yellow")


def _asked(facts: Facts) -> Iterator[Text]:
    what = f"{facts['tool']} with {in_short(facts['args'])}"
    yield Text(f"  {ASKED} {visible_line(what)} waits for a yes", "yellow")


def _verdict(facts: Facts) -> Iterator[Text]:
    said = f"{visible_line(str(facts['tool']))}: {verdict_in_words(facts)}"
    yield Text(f"  {ASKED} {said}", "green" if facts["allowed"] else "yellow")


def _loop(facts: Facts) -> Iterator[Text]:
    yield _labelled("! The loop says:", str(facts.get("text", "")), "yellow")


def _failed(facts: Facts) -> Iterator[Text]:
    yield _labelled("Failed:", str(facts["error"]), "red")


def _closed(facts: Facts) -> Iterator[Text]:
    yield Text(f"Ended: {visible_line(str(facts['how']))}", "bold")


_SHOWN: Mapping[str, Callable[[Facts], Iterator[Text]]] = {
    "round": _round,
    "delivery": _delivery,
    "model_text": _text,
    "tool_call": _tool_call,
    "tool_result": _tool_result,
    "approval_asked": _asked,
    "approval": _verdict,
    "nudge": _loop,
    "extra_round": _loop,
    "wrap_up": _loop,
    "run_failed": _failed,
    "run_closed": _closed,
}
