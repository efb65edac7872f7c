"""Gated calls on the terminal: a line for one that waits for a yes or a no, and one for the verdict."""

from collections.abc import Mapping
from typing import Any

from rich.text import Text

from restante.bus.entry import JournalEntry
from restante.surface.cli.message_line import SIGNS
from restante.surface.signs import in_short, said_by
from restante.surface.visible import visible_line

REASON_LIMIT = 300
"""How much of a reason is shown, in characters."""

ASKED = "?"
"""The sign of a call that waits for a yes or a no."""


def asked_line(entry: JournalEntry) -> Text:
    """Who wants to call what; of the arguments the beginning."""
    facts = entry.facts
    wanted = f"{ASKED} {entry.address} wants to call {facts['tool']} with {in_short(facts['args'])}"
    return Text(visible_line(wanted), "yellow")


def verdict_line(entry: JournalEntry, arguments: object) -> Text:
    """The yes or the no to a call with these arguments, by whom it was given, and the reason of a no."""
    facts = entry.facts
    sign = SIGNS["delivered" if facts["allowed"] else "undelivered"]
    may = "may" if facts["allowed"] else "may not"
    called = f"{sign} {entry.address} {may} call {facts['tool']} with {in_short(arguments)}"
    return Text(visible_line(f"{called}: {verdict_in_words(facts)}"), "green" if facts["allowed"] else "yellow")


def verdict_in_words(facts: Mapping[str, Any]) -> str:
    """Who said yes or no, and why no."""
    why = f": {visible_line(str(facts['reason']), REASON_LIMIT)}" if facts["reason"] else ""
    return f"{said_by(facts)}{why}"
