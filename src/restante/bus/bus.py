"""The bus of one turn: who is there, what was sent, and what became of it."""

import time
from collections.abc import Callable, Collection, Mapping, Sequence
from threading import Lock
from typing import Any

from restante.bus.address import Directory
from restante.bus.entry import Notes, Sink
from restante.bus.fates import Fate
from restante.bus.gate import Gate
from restante.bus.ledger import Ledger
from restante.bus.mail import Mail
from restante.bus.match import Match
from restante.bus.message import EVERYONE, PERSON, Message
from restante.bus.outsiders import Outsiders
from restante.bus.policy import BusPolicy
from restante.bus.questions import Questions, deadline_refusal
from restante.bus.reader import Reader
from restante.bus.receipt import Receipt, acceptance, refusal
from restante.bus.record import message_facts, record_of
from restante.bus.report import CloseReport, report_of
from restante.bus.rings import Rings
from restante.bus.roster import Line, line_of
from restante.bus.run import Run
from restante.errors import BadLabel, BusClosed, UnknownMessage
from restante.names import check_name, folded
from restante.texts import problem_of


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
        self._knows_who_lives = self.policy.liveness
        self._lock = Lock()
        # A reader takes the lock for each message by these two, which cost half of what `with` does.
        self._acquire, self._release = self._lock.acquire, self._lock.release
        self._notes = Notes(sink, clock)
        self._directory = Directory(live=self._knows_who_lives)
        self._ledger = Ledger(self.policy, self._directory.entry, id_prefix, self._notes)
        self._questions = Questions()
        self._rings = Rings()
        self._heard = sink is not None
        """Whether anybody listens: a sink, or somebody who is rung."""
        self._gate = Gate(self.policy, self._directory, self._questions, frozenset(labels), self._lines)
        self._spellings: dict[str, str] = {}
        for label in labels:
            self._take_spelling(label)
        self._outsiders = Outsiders()
        self._note("bus_opened", None, {"policy": self.policy.name})
        self._report: CloseReport | None = None
        self._tell()

    # Opening

    def open(self, label: str) -> Reader:
        """Open a reader for a worker, which mints its address. Raises `BadLabel`, or `BusClosed` after the turn."""
        with self._lock:
            self._check_opening(label)
            run = self._directory.mint(label)
            reader = self._opened(run)
        self._tell()
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
            if isinstance(entry.holder, Reader):
                return entry.holder
            if not entry.number:
                entry.opened_at = len(self._ledger.mails)
            reader = self._opened(self._directory.enter_entry(label))
        self._tell()
        return reader

    def _opened(self, run: Run) -> Reader:
        if not run.reads:
            run.backlog_to = len(self._ledger.mails)
        reader = Reader(self, run)
        run.open(reader)
        self._note("run_opened", run, {"label": run.label, "entry": run is self._directory.entry})
        return reader

    def _check_opening(self, label: str) -> None:
        if self._report is not None:
            raise BusClosed("The turn is over, and its bus is closed: open readers before it ends.")
        if self._outsiders.has(label):
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
        with self._lock:
            sequence = len(self._ledger.mails) + 1
            message_id = self._ledger.next_id()
            receipt = self._offer(Message(message_id, sequence, PERSON, "person", to, text, token=token), None)
        self._tell()
        return receipt

    def send_external(
        self, sender: str, text: str, *, message_id: str, to: str = EVERYONE, reply_address: str | None = None
    ) -> Receipt:
        """Send a message from outside the turn. It keeps its `message_id`; offered again, it gets its first receipt."""
        with self._lock:
            sequence = len(self._ledger.mails) + 1
            message = Message(message_id, sequence, sender, "external", to, text, reply_address=reply_address)
            receipt = self._offer_from_outside(message)
        self._tell()
        return receipt

    def _offer_from_outside(self, message: Message) -> Receipt:
        if self._report is not None:
            return _turn_closed()
        taken = folded(message.sender.partition("#")[0]) in self._spellings
        earlier = self._ledger.find(message.message_id)
        answer = self._outsiders.answer_for(message, earlier.message if earlier else None, taken=taken)
        if answer is not None:
            return answer
        receipt = self._offer(message, None)
        if receipt.accepted:
            self._ledger.name_last(message.message_id)
            self._outsiders.remember(message, receipt)
        return receipt

    def _offer(self, message: Message, sender: Run | None, deadline_s: float | None = None) -> Receipt:
        """Put a message on the list, or refuse it: the first broken rule, in the one order of all, gives the code.

        With `deadline_s` it is a question.
        """
        if self._report is not None:
            return _turn_closed()
        if sender is not None and sender.holder is None and self._knows_who_lives:
            return refusal("sender_finished", f"{sender.address} has ended: it sends and reads no more.")
        if problem := problem_of(message.text, self.policy.text_limit):
            return refusal(*problem)
        matching = self._directory.meant.get(message.to, ())
        if (not matching or deadline_s is not None) and (bad := self._bad_argument(message, deadline_s)):
            return bad
        if message.in_reply_to is not None or self._questions.asked:
            referring = self._with_reference(message, sender, matching)
            if isinstance(referring, Receipt):
                return referring
            message = referring
        match = self._gate.match(message, sender, matching, deadline_s)
        return self._accept(message, sender, match) if isinstance(match, Match) else match

    def _bad_argument(self, message: Message, deadline_s: float | None) -> Receipt | None:
        endless = None if deadline_s is None else deadline_refusal(deadline_s, self.policy.wait_max_s)
        return endless or self._gate.misspelled(message)

    def _with_reference(self, message: Message, sender: Run | None, matching: Sequence[Run]) -> Message | Receipt:
        """The message as it refers to an earlier one, or a refusal if that never came to its sender."""
        reference = message.in_reply_to
        if reference is not None:
            known = self._came_to(sender, message, reference)
            words = f"No message {reference!r} ever came to you in this turn."
            return message if known else refusal("invalid_reference", words)
        # What goes to the exact address of somebody who asked, by who was asked and has read it, is the reply.
        exact = len(matching) == 1 and matching[0].address == message.to
        if sender is None or not exact:
            return message
        questions = self._questions.open_between(matching[0], sender)
        read = (one.message_id for one in questions if self._ledger.is_drained(one.message_id))
        return message._replace(in_reply_to=next(read, None))

    def _came_to(self, sender: Run | None, message: Message, message_id: str) -> bool:
        mail = self._ledger.find(message_id)
        if mail is None:
            return False
        # Its own message, too, if that came back.
        if any(reading.run is sender for reading in mail.readings):
            return True
        return sender in self._directory.meant[mail.message.to] and mail.message.sender != message.sender

    def _accept(self, message: Message, sender: Run | None, match: Match) -> Receipt:
        notes = self._notes
        at_s = notes.clock() - notes.began
        self._ledger.enter(Mail(message, at_s, match))
        if sender is not None:
            sender.sent += 1
            sender.sent_at_s = at_s
            if not self._gate.unlimited:
                self._gate.count(message, match)
            if self._questions.asked:
                self._questions.take_reply(message, sender, match.reading)
        if self._heard:
            self._announce(message, sender, match)
        return acceptance(message, match)

    def _announce(self, message: Message, sender: Run | None, match: Match) -> None:
        self._rings.wake(match.reading)
        named = {"matched": _lists(match.reading), "not_reached": _lists(match.not_reached)}
        self._note("message", sender, {**message_facts(message), **named})

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
            return tuple(owed.message for owed in waiting if owed.message.origin == "person")

    def person_words(self) -> tuple[Message, ...]:
        """What the person has said on this bus, read or not, in order. Only who sent it decides; nothing changes."""
        with self._lock:
            return tuple(mail.message for mail in self._ledger.mails if mail.message.origin == "person")

    def now_s(self) -> float:
        """Seconds since the bus was made, as its journal and the deadlines of questions count."""
        return self._notes.now_s()

    def refusal_of_person(self, text: str, to: str) -> Receipt | None:
        """What `send_person` would be refused with now, or None. Nothing is stored; soon it may differ."""
        with self._lock:
            return self._refusal_of(Message("", 0, PERSON, "person", to, text))

    def _refusal_of(self, message: Message) -> Receipt | None:
        if self._report is not None:
            return _turn_closed()
        if problem := problem_of(message.text, self.policy.text_limit):
            return refusal(*problem)
        matching = self._directory.meant.get(message.to, ())
        if not matching and (misspelled := self._gate.misspelled(message)):
            return misspelled
        match = self._gate.match(message, None, matching)
        return match if isinstance(match, Receipt) else None

    @property
    def sink_failure(self) -> Exception | None:
        """What the sink raised. From then on it is told nothing; the bus goes on."""
        return self._notes.failure

    def record(self) -> dict[str, Any]:
        """The whole account of the turn so far, ready for JSON."""
        with self._lock:
            return record_of(self.policy, self._directory.runs, self._ledger.mails, self._report)

    @property
    def ring_failure(self) -> Exception | None:
        """What a ring raised last; it is not rung again."""
        return self._rings.failure

    def _lines(self) -> tuple[Line, ...]:
        now_s = self._notes.now_s()
        return tuple(line_of(run, now_s=now_s, live=self.policy.liveness) for run in self._directory.runs)

    # Closing

    def close(self, *, stopped: bool = False) -> CloseReport:
        """End the turn: every obligation gets its fate. `stopped`: the person ended it. Again: the same report."""
        with self._lock:
            if self._report is None:
                self._ledger.settle_all(stopped=stopped)
                self._report = report_of(self._ledger.mails, self.policy, now_s=self._notes.now_s())
                for run in self._directory.runs:
                    self._end_with_turn(run, stopped=stopped)
                self._rings.wake(self._directory.runs)
                self._note("bus_closed", None, {"stopped": stopped, **self._report.facts()})
            report = self._report
        self._tell()
        return report

    def _end_with_turn(self, run: Run, *, stopped: bool) -> None:
        stops = stopped and run.holder is not None
        run.close("stopped" if stops else run.how, run.error)
        run.reads = False
        if stops:
            self._note("run_closed", run, {"how": "stopped", "error": None})

    def note(self, kind: str, address: str | None, facts: Mapping[str, object]) -> None:
        """Put something that the turn did into the one numbering, such as a round or a tool call."""
        with self._lock:
            run = self._directory.find(address)
            if run is not None:
                run.tallies[kind] = run.tallies.get(kind, 0) + 1
            if self._notes.on:
                self._notes.add(kind, address, facts)
        self._tell()

    def _tell(self) -> None:
        """Tell the sink what has happened, and ring for whom it concerns: outside the lock."""
        self._notes.tell()
        if self._rings.due:
            self._rings.ring()

    def _note(self, kind: str, run: Run | None, facts: Mapping[str, object]) -> None:
        if self._notes.on:
            self._notes.add(kind, run.address if run else None, facts)


def _turn_closed() -> Receipt:
    return refusal("turn_closed", "The turn is over, and its bus is closed. Nothing was stored.")


def _lists(runs: Sequence[Run]) -> list[list[str | None]]:
    return [list(run.named[0]) for run in runs]
