"""What a turn left behind, read from its journal: the messages that nobody read, in the words of the close report."""

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from restante.bus.entry import JournalEntry
from restante.bus.report import SENTENCES, Unmet
from restante.running.transcript import TurnRecord
from restante.surface.visible import visible_line

TEXT_LIMIT = 200
"""How much of a text a sentence on the terminal shows, in characters."""

_TEXT = "\0"
"""Stands for the text in a line of the report. No message holds it."""

Fate = Mapping[str, Any]


class Leftover(NamedTuple):
    """One obligation that nobody met: `before` and `after` are what the close report says around the whole `text`."""

    before: str
    text: str
    after: str


class Leftovers:
    """The messages of a turn with their fates."""

    def __init__(self, turn: TurnRecord) -> None:
        self._messages = [entry for entry in turn.entries if entry.kind == "message"]
        self._knows_who_lives = all(state is not None for entry in self._messages for _, state in _matched(entry))
        self._opened = [entry.address for entry in turn.entries if entry.kind == "run_opened"]
        self._entry = next((one.address for one in turn.entries if one.facts.get("entry")), None)
        self._closed_s = turn.entries[-1].at_s if turn.entries else 0.0
        self._taken = {str(one.facts["message_id"]) for one in turn.entries if one.kind == "delivery"}
        self._fates: dict[str, list[Fate]] = {}
        for entry in turn.entries:
            if entry.kind == "fate":
                self._fates.setdefault(str(entry.facts["message_id"]), []).append(entry.facts)

    def undelivered(self) -> Iterator[Leftover]:
        """Every unmet obligation, in the order of sending; words that become the next turn are none."""
        for message in self._messages:
            if not self._is_carried(message):
                yield from (self._leftover(message, fate) for fate in self._unmet(message))

    def carried(self) -> Iterator[str]:
        """The texts of the person's words that no run of the entry agent read, and that become the next turn."""
        return (str(message.facts["text"]) for message in self._messages if self._is_carried(message))

    def waiting(self) -> Iterator[JournalEntry]:
        """The messages of a turn that goes on which no run has taken, and of which nothing else has become yet."""
        return (one for one in self._messages if str(one.facts["message_id"]) not in self._taken | self._fates.keys())

    def stop_notice(self) -> str:
        """What the person who stopped the turn is told: that it has no answer, what was not read, what is left."""
        words = "Stopped: there is no answer"
        if any(self._is_unread(message) for message in self._messages):
            words = f"{words}, and what you said while it ran was not read"
        return "\n".join([f"{words}.", *self.sentences()])

    def sentences(self) -> Iterator[str]:
        """What the person is told on the terminal, a line for each, at most the first few and how many more."""
        found = list(self.undelivered())
        for before, text, after in found[:SENTENCES]:
            yield f"Undelivered: {before} {visible_line(text, TEXT_LIMIT)}{after}"
        if len(found) > SENTENCES:
            yield f"Undelivered: {len(found) - SENTENCES:,} more; `restante export` shows them all."

    def _is_carried(self, message: JournalEntry) -> bool:
        return any(fate["state"] == "carried" for fate in self._settled(message))

    def _is_unread(self, message: JournalEntry) -> bool:
        """Whether these are words of the person that came to nobody, or not to the entry agent, whom they were for."""
        missed = [fate["address"] for fate in self._unmet(message)]
        read = any(fate["state"] == "delivered" for fate in self._settled(message))
        return message.facts["origin"] == "person" and bool(missed) and (not read or self._entry in missed)

    def _unmet(self, message: JournalEntry) -> list[Fate]:
        unmet = [fate for fate in self._settled(message) if fate["state"] == "undelivered"]
        return sorted(unmet, key=lambda fate: self._opened.index(fate["address"]) if fate["address"] else -1)

    def _settled(self, message: JournalEntry) -> list[Fate]:
        return [fate for fate in self._fates.get(str(message.facts["message_id"]), []) if fate["obliged"]]

    def _leftover(self, message: JournalEntry, fate: Fate) -> Leftover:
        fates = self._fates.get(str(message.facts["message_id"]), [])
        readers = {each["address"] for each in fates if each["state"] == "delivered"}
        line = Unmet(
            sender=str(message.facts["sender"]),
            to=str(message.facts["to"]),
            address=fate["address"] if self._knows_who_lives else None,
            reason=fate["reason"],
            text=_TEXT,
            missing=0,
            age_s=self._closed_s - message.at_s,
            also_read_by=tuple(address for address in self._opened if address and address in readers),
        ).line()
        before, after = line.split(_TEXT)
        return Leftover(before.rstrip(), str(message.facts["text"]), after)


def _matched(message: JournalEntry) -> list[tuple[str, str | None]]:
    """Whom a message matched, with the state of each; None where the policy does not know who is alive."""
    matched: Any = message.facts["matched"]
    return matched
