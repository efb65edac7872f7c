"""What a crash cut off is settled: each obligation that its journal leaves open gets its fate, in one transaction."""

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from restante.bus.entry import JournalEntry
from restante.bus.message import EVERYONE, Message
from restante.bus.policy import BusPolicy
from restante.bus.report import CloseReport, Unmet
from restante.durable import transcripts, turns
from restante.durable.db.database import Transaction
from restante.durable.transcripts import Entry

Facts = Mapping[str, Any]

REPORT_LIMIT = BusPolicy().report_limit
"""How much of each text the report of a turn shows whose policy is no longer known, in code points."""


class Settled(NamedTuple):
    """What is missing from the journal of a turn that was cut off."""

    fates: tuple[JournalEntry, ...]
    report: CloseReport


def interrupt_all(tx: Transaction, now_ms: int) -> None:
    """Each turn that was running is interrupted and never run again, and its journal and report say what was left."""
    for turn in turns.interrupt_all(tx, now_ms):
        settled = settle([JournalEntry(*entry) for entry in transcripts.read_turn(tx, turn.turn_id)])
        transcripts.append(tx, turn.chat_id, turn.turn_id, [Entry(*entry) for entry in settled.fates])
        turns.write_report(tx, turn.turn_id, json.dumps(settled.report.facts()))


def settle(entries: Sequence[JournalEntry]) -> Settled:
    """The fates that these entries leave open: undelivered as `interrupted`, or carried to the next turn."""
    books = _Books(entries)
    number = entries[-1].number if entries else 0
    fates = [
        JournalEntry(number + place, books.closed_s, "fate", facts["address"], facts)
        for place, facts in enumerate(books.open(), start=1)
    ]
    return Settled(tuple(fates), _Books([*entries, *fates]).report())


class _Books:
    """Every message of a journal, to whom it was owed, and what became of it."""

    def __init__(self, entries: Sequence[JournalEntry]) -> None:
        self.closed_s = entries[-1].at_s if entries else 0.0
        self._messages = [entry for entry in entries if entry.kind == "message"]
        self._opened = [str(entry.address) for entry in entries if entry.kind == "run_opened"]
        self._entry = next(
            (entry.address for entry in entries if entry.kind == "run_opened" and entry.facts["entry"]), None
        )
        self._fates: dict[str, list[Facts]] = {}
        for entry in entries:
            if entry.kind == "fate":
                self._fates.setdefault(str(entry.facts["message_id"]), []).append(entry.facts)
        # Where the policy does not know who is alive, a message is owed once, to whoever reads it.
        matched = [state for message in self._messages for _, state in _matched(message)]
        self._is_owed_once = None in matched

    def open(self) -> Iterator[Facts]:
        """A fate for each obligation that has none."""
        for message in self._messages:
            met = {fate["address"] for fate in self._fates_of(message) if fate["obliged"]}
            for address in self._owing(message):
                if address in met or (self._is_owed_once and met):
                    continue
                carried = address == self._entry and message.facts["origin"] == "person"
                yield {
                    "message_id": message.facts["message_id"],
                    "address": address,
                    "state": "carried" if carried else "undelivered",
                    "reason": None if carried else "interrupted",
                    "call": None,
                    "obliged": True,
                }

    def report(self) -> CloseReport:
        """What is left of these entries, as a bus would have reported it."""
        carried = [message for message in self._messages if self._is_carried(message)]
        unmet = [
            self._unmet(message, fate)
            for message in self._messages
            if not self._is_carried(message)
            for fate in sorted(self._fates_of(message), key=self._place)
            if fate["obliged"] and fate["state"] == "undelivered"
        ]
        return CloseReport(tuple(unmet), tuple(_message(one) for one in carried))

    def _owing(self, message: JournalEntry) -> list[str | None]:
        matched: list[str | None] = [address for address, _ in _matched(message)]
        if message.facts["origin"] == "person" and (message.facts["to"] == EVERYONE or self._entry in matched):
            if self._is_owed_once:
                return [self._entry]
            return [*matched, *([] if self._entry in matched else [self._entry])]
        return [None] if self._is_owed_once else matched or [None]

    def _is_carried(self, message: JournalEntry) -> bool:
        return any(fate["state"] == "carried" for fate in self._fates_of(message))

    def _fates_of(self, message: JournalEntry) -> list[Facts]:
        return self._fates.get(str(message.facts["message_id"]), [])

    def _place(self, fate: Facts) -> int:
        return self._opened.index(fate["address"]) if fate["address"] in self._opened else -1

    def _unmet(self, message: JournalEntry, fate: Facts) -> Unmet:
        text = str(message.facts["text"])
        readers = {each["address"] for each in self._fates_of(message) if each["state"] == "delivered"}
        return Unmet(
            sender=str(message.facts["sender"]),
            to=str(message.facts["to"]),
            address=None if self._is_owed_once else fate["address"],
            reason=fate["reason"],
            text=text[:REPORT_LIMIT],
            missing=max(0, len(text) - REPORT_LIMIT),
            age_s=self.closed_s - message.at_s,
            also_read_by=tuple(address for address in self._opened if address in readers),
        )


def _matched(message: JournalEntry) -> list[tuple[str, str | None]]:
    """Whom a message matched, with the state of each; None where the policy does not know who is alive."""
    matched: Any = message.facts["matched"]
    return matched


def _message(entry: JournalEntry) -> Message:
    facts: Facts = entry.facts
    return Message(
        message_id=facts["message_id"],
        sequence=facts["sequence"],
        sender=facts["sender"],
        origin=facts["origin"],
        to=facts["to"],
        text=facts["text"],
        in_reply_to=facts["in_reply_to"],
    )
