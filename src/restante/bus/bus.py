"""The bus of one turn: who is there, what was sent, and what became of it."""

import time
from collections.abc import Callable, Collection, Mapping
from threading import Lock
from typing import Any

from restante.bus.address import Directory, Match
from restante.bus.entry import Notes, Sink
from restante.bus.fates import Fate
from restante.bus.ledger import Ledger
from restante.bus.message import EVERYONE, PERSON, Message
from restante.bus.policy import BusPolicy
from restante.bus.reader import Reader
from restante.bus.receipt import Receipt, refusal
from restante.bus.record import message_facts, record_of
from restante.bus.report import CloseReport, report_of
from restante.bus.roster import Line, line_of
from restante.bus.run import Run
from restante.bus.sending import Gate, Sending
from restante.errors import BadLabel, BusClosed, UnknownMessage
from restante.names import check_name, folded
from restante.texts import problem_of

_ID_LIMIT = 256


class MessageBus:
    """Carries the messages of one turn. Every method may be called from any thread, and none waits.

    `labels` are the names that the configuration knows; `clock` gives seconds; `sink` is called for each thing that
    happens; `id_prefix` makes message ids unique where several turns share a chat. Raises `BadLabel` for a bad name
    among the labels.
    """

    def __init__(
        self,
        policy: BusPolicy | None = None,
        *,
        labels: Collection[str] = (),
        clock: Callable[[], float] = time.monotonic,
        sink: Sink | None = None,
        id_prefix: str = "m",
    ) -> None:
        self.policy = policy or BusPolicy()
        self._lock = Lock()
        self._notes = Notes(sink, clock)
        self._directory = Directory()
        self._ledger = Ledger(self.policy, self._directory.entry, id_prefix, self._notes)
        self._gate = Gate(self.policy, self._directory, frozenset(labels), self._lines)
        self._spellings: dict[str, str] = {}
        for label in labels:
            self._take_spelling(label)
        self._outsiders: set[str] = set()
        self._entry_reader: Reader | None = None
        self._report: CloseReport | None = None

    # Opening

    def open(self, label: str) -> Reader:
        """Open a reader for a worker, which mints its address. Raises `BadLabel`, or `BusClosed` after the turn."""
        with self._lock:
            self._check_opening(label)
            run = self._directory.mint(label)
            run.opened_at = len(self._ledger.mails)
            reader = self._opened(run)
        if self._notes.on:
            self._notes.tell()
        return reader

    def open_entry(self, label: str) -> Reader:
        """Open the entry agent's reader. All its runs of a turn share one address and one cursor.

        While it is open, the same reader is returned. Raises `BadLabel`, also for another label than before, or
        `BusClosed` after the turn.
        """
        entry = self._directory.entry
        with self._lock:
            if entry.number and entry.label != label:
                raise BadLabel(f"The entry agent of this turn is {entry.label!r}; it cannot be {label!r} as well.")
            self._check_opening(label)
            if self._entry_reader is not None and entry.holds_reader:
                return self._entry_reader
            if not entry.number:
                entry.opened_at = len(self._ledger.mails)
            reader = self._entry_reader = self._opened(self._directory.enter_entry(label))
        if self._notes.on:
            self._notes.tell()
        return reader

    def _opened(self, run: Run) -> Reader:
        if not run.reads:
            run.backlog_to = len(self._ledger.mails)
        run.holds_reader = run.reads = True
        run.more = False
        run.how = None
        self._note("run_opened", run, {"label": run.label, "entry": run is self._directory.entry})
        return Reader(self, run)

    def _check_opening(self, label: str) -> None:
        if self._report is not None:
            raise BusClosed("The turn is over, and its bus is closed: open readers before it ends.")
        if label in self._outsiders:
            raise BadLabel(f"{label!r} is the name of an external sender in this turn. Choose another label.")
        self._take_spelling(label)

    def _take_spelling(self, label: str) -> None:
        taken = self._spellings.get(folded(label))
        if taken == label:
            return
        check_name(label)
        if taken is not None:
            raise BadLabel(f"{label!r} and {taken!r} differ only by case. Write {taken!r}, or choose another label.")
        self._spellings[folded(label)] = label

    # Sending

    def send_person(self, text: str, *, to: str = EVERYONE, token: str | None = None) -> Receipt:
        """Send the person's words. What no entry run reads of them becomes the next turn. Never waits or raises."""
        return self._send(Sending(None, PERSON, "person", to, text, token=token))

    def send_external(
        self, sender: str, text: str, *, message_id: str, to: str = EVERYONE, reply_address: str | None = None
    ) -> Receipt:
        """Send a message from outside the turn. It keeps its `message_id`; offered again, it gets its first receipt."""
        return self._send(Sending(None, sender, "external", to, text, message_id, reply_address=reply_address))

    def _send(self, sending: Sending) -> Receipt:
        with self._lock:
            decided = self._decide(sending)
            receipt = decided if isinstance(decided, Receipt) else self._accept(sending, decided)
        if self._notes.on:
            self._notes.tell()
        return receipt

    def _decide(self, sending: Sending) -> Match | Receipt:
        """Who gets it, or a refusal: the first broken rule, in the one order of the product, gives the code."""
        if refused := self._about_turn(sending):
            return refused
        if problem := problem_of(sending.text, self.policy.text_limit):
            return refusal(*problem)
        matching = self._directory.matching(sending.to)
        if not matching and (refused := self._gate.misspelled(sending)):
            return refused
        if sending.in_reply_to is not None and not self._came_to(sending, sending.in_reply_to):
            return refusal("invalid_reference", f"No message {sending.in_reply_to!r} ever came to you in this turn.")
        return self._gate.match(sending, matching)

    def _about_turn(self, sending: Sending) -> Receipt | None:
        if self._report is not None:
            return refusal("turn_closed", "The turn is over, and its bus is closed. Nothing was stored.")
        if sending.message_id is not None:
            return self._about_external(sending, sending.message_id)
        run = sending.run
        if run is not None and not run.holds_reader and self.policy.liveness:
            return refusal("sender_finished", f"{run.address} has ended: it sends and reads no more.")
        return None

    def _about_external(self, sending: Sending, message_id: str) -> Receipt | None:
        if not 1 <= len(message_id) <= _ID_LIMIT or not message_id.isprintable() or message_id != message_id.strip():
            return refusal("invalid_arguments", f"A message_id has 1 to {_ID_LIMIT} printable characters.")
        label = sending.sender.partition("#")[0]
        try:
            check_name(label)
        except BadLabel as error:
            return refusal(error.code, error.message)
        if folded(label) in self._spellings:
            return refusal(
                "invalid_name", f"{sending.sender!r} belongs to this turn; an external sender needs its own."
            )
        earlier = self._ledger.find(message_id)
        if earlier is None:
            return None
        if (earlier.message.sender, earlier.message.text) == (sending.sender, sending.text):
            return earlier.receipt
        return refusal("submission_conflict", f"The message_id {message_id!r} was used for another message.")

    def _came_to(self, sending: Sending, message_id: str) -> bool:
        mail = self._ledger.find(message_id)
        if mail is None:
            return False
        if any(owed.run is sending.run for owed in (*mail.owed, *mail.readings)):
            return True
        return sending.run in self._directory.matching(mail.message.to) and mail.message.sender != sending.sender

    def _accept(self, sending: Sending, match: Match) -> Receipt:
        at_s = self._notes.now_s()
        run = sending.run
        mail = self._ledger.enter(sending, at_s, match)
        self._gate.count(sending, match)
        if run is not None:
            run.sent += 1
            run.sent_at_s = at_s
        elif sending.origin == "external":
            self._outsiders.add(sending.sender.partition("#")[0])
        if self._notes.on:
            self._notes.add("message", run.address if run else None, message_facts(mail))
        return mail.receipt

    # Asking

    def roster(self) -> tuple[Line, ...]:
        """Every address of this turn, in the order of opening."""
        with self._lock:
            return self._lines()

    def fates(self, message_id: str) -> tuple[Fate, ...]:
        """What has become of a message so far, for each address. Raises `UnknownMessage`."""
        with self._lock:
            mail = self._ledger.find(message_id)
            if mail is None:
                raise UnknownMessage(f"No message {message_id!r} was accepted in this turn.")
            return mail.fates()

    def unread_person(self) -> tuple[Message, ...]:
        """The person's words that the entry agent has not drained. A peek; nothing changes."""
        with self._lock:
            waiting = self._ledger.waiting(self._directory.entry)
            return tuple(owed.mail.message for owed in waiting if owed.mail.message.origin == "person")

    def record(self) -> dict[str, Any]:
        """The whole account of the turn so far, ready for JSON."""
        with self._lock:
            return record_of(self.policy, self._directory.runs, self._ledger.mails, self._report)

    def _lines(self) -> tuple[Line, ...]:
        now_s = self._notes.now_s()
        return tuple(line_of(run, now_s=now_s, live=self.policy.liveness) for run in self._directory.runs)

    # Closing

    def close(self, *, stopped: bool = False) -> CloseReport:
        """End the turn: every obligation gets its fate. `stopped`: the person ended it. Again: the same report."""
        with self._lock:
            if self._report is None:
                self._ledger.settle_all(stopped=stopped)
                self._report = report_of(self._ledger.mails, now_s=self._notes.now_s(), limit=self.policy.report_limit)
                for run in self._directory.runs:
                    self._end_with_turn(run, stopped=stopped)
                self._note("bus_closed", None, {"stopped": stopped, **self._report.facts()})
            report = self._report
        if self._notes.on:
            self._notes.tell()
        return report

    def _end_with_turn(self, run: Run, *, stopped: bool) -> None:
        if stopped and run.holds_reader:
            run.how = "stopped"
            self._note("run_closed", run, {"how": "stopped", "error": None})
        run.holds_reader = run.reads = run.more = False

    def note(self, kind: str, address: str | None, facts: Mapping[str, object]) -> None:
        """Put something that the turn did into the one numbering, such as a round or a tool call."""
        with self._lock:
            run = self._directory.find(address)
            if run is not None:
                run.tallies[kind] = run.tallies.get(kind, 0) + 1
            if self._notes.on:
                self._notes.add(kind, address, facts)
        if self._notes.on:
            self._notes.tell()

    def _note(self, kind: str, run: Run | None, facts: Mapping[str, object]) -> None:
        if self._notes.on:
            self._notes.add(kind, run.address if run else None, facts)
