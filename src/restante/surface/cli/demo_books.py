"""The books of the demo: every message that was accepted, what became of it, and why."""

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from rich.table import Table
from rich.text import Text

from restante.bus.entry import JournalEntry
from restante.bus.fates import IN_WORDS
from restante.surface.visible import visible_line

_FITS = 80
"""Columns below which the table breaks its lines."""
_BESIDE = 62
"""Columns that everything but the message takes."""
_STYLES = {"delivered": "green", "undelivered": "red", "refused": "yellow"}


class Row(NamedTuple):
    """One accepted message for one address, or one send that was refused."""

    sender: str
    to: str
    text: str
    fate: str
    why: str


class Books:
    """What was accepted, and what is known of it."""

    def __init__(self) -> None:
        self.rows: list[Row] = []
        self.accepted = 0

    @property
    def delivered(self) -> int:
        """Obligations that were met."""
        return sum(row.fate == "delivered" for row in self.rows)

    @property
    def reported(self) -> int:
        """Obligations that were not, and that the person was told of."""
        return sum(row.fate == "undelivered" for row in self.rows)

    def add_turn(self, entries: Iterable[JournalEntry]) -> None:
        """The messages of a turn, with what its journal says of each."""
        known: dict[str, Mapping[str, Any]] = {}
        for entry in entries:
            facts: Mapping[str, Any] = entry.facts
            if entry.kind == "message":
                known[facts["message_id"]] = facts
                self.accepted += _owed(facts["matched"])
            elif entry.kind == "tool_call":
                known[facts["tool_call_id"]] = facts["args"]
            elif entry.kind == "fate" and facts["obliged"]:
                message = known[facts["message_id"]]
                to = facts["address"] or message["to"]
                self.rows.append(Row(message["sender"], to, message["text"], facts["state"], _why(facts)))
            elif _is_refusal(entry):
                send = known[facts["tool_call_id"]]
                self.rows.append(Row(entry.address or "", send["to"], send["text"], "refused", _why_refused(facts)))

    def add_read(self, sender: str, to: str, text: str, why: str) -> None:
        """A message of the platform that has been read."""
        self.accepted += 1
        self.rows.append(Row(sender, to, text, "delivered", why))

    def table(self, width: int) -> Table:
        """From, to, message, fate, why, on so many columns; the message gives way where they are few."""
        narrow = width < _FITS
        table = Table(box=None, padding=(0, 1, 0, 0), header_style="bold", show_edge=False)
        table.add_column("from", no_wrap=not narrow)
        table.add_column("to", no_wrap=not narrow)
        table.add_column("message", max_width=None if narrow else max(12, width - _BESIDE), no_wrap=not narrow)
        table.add_column("fate", no_wrap=not narrow)
        table.add_column("why")
        for row in self.rows:
            text = Text(visible_line(row.text), "dim", overflow="ellipsis")
            table.add_row(row.sender, row.to, text, Text(row.fate, _STYLES.get(row.fate, "")), row.why)
        return table

    def sentence(self) -> str:
        """The sum: what was accepted is what was delivered and what was reported."""
        unexplained = self.accepted - self.delivered - self.reported
        return (
            f"{self.accepted} accepted = {self.delivered} delivered + {self.reported} reported, "
            f"{unexplained} unexplained"
        )


def _owed(matched: list[tuple[str, str | None]]) -> int:
    """How many obligations a message creates: one an address, or one for whoever reads it."""
    knows = [address for address, state in matched if state is not None]
    return len(knows) or 1


def _why(fate: Mapping[str, Any]) -> str:
    return "its call returned" if fate["state"] == "delivered" else IN_WORDS[fate["reason"]]


def _why_refused(result: Mapping[str, Any]) -> str:
    code = str(result["text"]).partition(":")[0]
    return f"not stored: {'it had finished' if code == 'recipient_finished' else code}"


def _is_refusal(entry: JournalEntry) -> bool:
    """Whether a run was told that its message is refused."""
    facts = entry.facts
    return entry.kind == "tool_result" and facts["tool"] == "send_message" and facts["outcome"] == "error"
