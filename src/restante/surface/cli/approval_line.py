"""Gated calls on the terminal: a line for one that waits for a yes or a no, and one for the verdict."""

import json
from collections.abc import Mapping
from typing import Any

from rich.text import Text

from restante.bus.entry import JournalEntry
from restante.surface.cli.message_line import SIGNS, TEXT_LIMIT
from restante.surface.signs import said_by
from restante.surface.visible import visible_line

REASON_LIMIT = 300
"""How much of a reason is shown, in characters."""

ASKED = "?"
"""The sign of a call that waits for a yes or a no."""


def asked_line(entry: JournalEntry) -> Text:
    """Who wants to call what; of the arguments the beginning."""
    facts = entry.facts
    return Text(
        visible_line(f"{ASKED} {entry.address} wants to call {facts['tool']}: {in_short(facts['args'])}"), "yellow"
    )


def in_short(arguments: object) -> str:
    """The beginning of the arguments of a call, on one line."""
    return visible_line(json.dumps(arguments, ensure_ascii=False), TEXT_LIMIT)


def verdict_line(entry: JournalEntry) -> Text:
    """The yes or the no, by whom it was given, and the reason of a no."""
    facts = entry.facts
    sign = SIGNS["delivered" if facts["allowed"] else "undelivered"]
    may = "may" if facts["allowed"] else "may not"
    said = f"{sign} {entry.address} {may} call {facts['tool']}: {verdict_in_words(facts)}"
    return Text(visible_line(said), "green" if facts["allowed"] else "yellow")


def verdict_in_words(facts: Mapping[str, Any]) -> str:
    """Who said yes or no, and why no."""
    why = f": {visible_line(str(facts['reason']), REASON_LIMIT)}" if facts["reason"] else ""
    return f"{said_by(facts)}{why}"
