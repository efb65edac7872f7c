"""What a turn left behind, read from its journal: the messages that nobody read, in the words of the close report."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from restante.bus.entry import JournalEntry
from restante.bus.report import Unmet

_TEXT = "\0"
"""Stands for the text in a line of the report. No message holds it."""


class Leftover(NamedTuple):
    """One obligation that nobody met: `before` and `after` are what the close report says around the whole `text`."""

    before: str
    text: str
    after: str


class Leftovers:
    """The messages of a turn with their fates. Entries are those of one turn, in order."""

    def __init__(self, entries: Sequence[JournalEntry]) -> None:
        self._messages = [entry for entry in entries if entry.kind == "message"]
        self._opened = [entry.address for entry in entries if entry.kind == "run_opened"]
        self._fates: dict[str, list[Mapping[str, Any]]] = {}
        for entry in entries:
            if entry.kind == "fate":
                self._fates.setdefault(str(entry.facts["message_id"]), []).append(entry.facts)
        self._closed_s = entries[-1].at_s if entries else 0.0

    def undelivered(self) -> Iterator[Leftover]:
        """Every unmet obligation, in the order of sending; words that become the next turn are none."""
        for message in self._messages:
            if not self._is_carried(message):
                yield from (self._leftover(message, fate) for fate in self._of(message, "undelivered"))

    def carried(self) -> Iterator[str]:
        """The texts of the person's words that no run of the entry agent read, and that become the next turn."""
        return (str(message.facts["text"]) for message in self._messages if self._is_carried(message))

    def _is_carried(self, message: JournalEntry) -> bool:
        return bool(self._of(message, "carried"))

    def _of(self, message: JournalEntry, state: str) -> list[Mapping[str, Any]]:
        fates = self._fates.get(str(message.facts["message_id"]), [])
        return [fate for fate in fates if fate["state"] == state and (fate["obliged"] or state == "delivered")]

    def _leftover(self, message: JournalEntry, fate: Mapping[str, Any]) -> Leftover:
        readers = {reading["address"] for reading in self._of(message, "delivered")}
        line = Unmet(
            sender=str(message.facts["sender"]),
            to=str(message.facts["to"]),
            address=fate["address"],
            reason=fate["reason"],
            text=_TEXT,
            missing=0,
            age_s=self._closed_s - message.at_s,
            also_read_by=tuple(address for address in self._opened if address and address in readers),
        ).line()
        before, after = line.split(_TEXT)
        return Leftover(before.rstrip(), str(message.facts["text"]), after)
