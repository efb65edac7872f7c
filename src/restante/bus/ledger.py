"""The list of a turn's mail, and the books: what is owed of each message, to whom, and what became of it.

Nothing here locks: the bus does, around every call.
"""

from bisect import bisect_right
from collections.abc import Collection, Iterator, Sequence

from restante.bus.entry import Notes
from restante.bus.fates import FINAL, Owed, Reading, Reason
from restante.bus.mail import Mail
from restante.bus.message import EVERYONE, quick
from restante.bus.policy import BusPolicy
from restante.bus.rendering import Delivery
from restante.bus.run import Run

_PLACE_DIGITS = 18


class Ledger:
    """Every accepted message in order, found by id, by label, and by whom it is owed to."""

    def __init__(self, policy: BusPolicy, entry: Run, id_prefix: str, notes: Notes) -> None:
        self.mails: list[Mail] = []
        self._policy = policy
        self._owe = self._owe_once if policy.one_reader_meets else self._owe_each
        self._entry = entry
        self._id_prefix = id_prefix
        self._notes = notes
        self._of_label: dict[str, list[Mail]] = {EVERYONE: []}
        self._of_other_id: dict[str, Mail] = {}
        """Mail whose id does not tell its place, as that of external senders."""

    # The list

    def find(self, message_id: str) -> Mail | None:
        """The mail with that id, or None."""
        place = message_id.removeprefix(self._id_prefix)
        if place.isascii() and place.isdigit() and len(place) <= _PLACE_DIGITS and 0 < int(place) <= len(self.mails):
            mail = self.mails[int(place) - 1]
            # An external sender may spell an id of its own like ours.
            if mail.message.message_id == message_id:
                return mail
        return self._of_other_id.get(message_id)

    def is_drained(self, message_id: str) -> bool:
        """Whether whoever a message was owed to first has taken it by now."""
        mail = self.find(message_id)
        return mail is not None and mail.state != "accepted"

    def next_id(self) -> str:
        """The id that the next message gets, if it is accepted."""
        message_id = f"{self._id_prefix}{len(self.mails) + 1}"
        while message_id in self._of_other_id:
            message_id += "-"
        return message_id

    def enter(self, mail: Mail) -> None:
        """Put a message on the list, and what is owed of it into the queues of the runs that it matched."""
        message = mail.message
        self.mails.append(mail)
        if self._of_other_id:
            self.name_last(message.message_id)
        if "#" not in message.to:
            self._of_label.setdefault(message.to, []).append(mail)
        self._owe(mail)

    def name_last(self, message_id: str) -> None:
        """Find the last message by an id that may not tell its place."""
        self._of_other_id[message_id] = self.mails[-1]

    def _owe_each(self, mail: Mail) -> None:
        message = mail.message
        matched = mail.match.reading
        if message.origin == "person" and message.to == EVERYONE and self._entry not in matched:
            matched = [*matched, self._entry]
        if not matched:
            return
        mail.run = first = matched[0]
        first.queue.append(mail)
        if len(matched) > 1:
            mail.others = tuple([Owed(message, run) for run in matched[1:]])
            for owed, run in zip(mail.others, matched[1:], strict=True):
                run.queue.append(owed)

    def _owe_once(self, mail: Mail) -> None:
        entry = self._entry
        message = mail.message
        matched = mail.match.reading
        to_entry = message.origin == "person" and (message.to == EVERYONE or entry in matched)
        if to_entry:
            mail.run = entry
            entry.queue.append(mail)
        for run in matched:
            # A run that has ended drains no more; nothing is settled because of that.
            if (run.holder or run is entry) and not (to_entry and run is entry):
                run.queue.append(Reading(message, run))

    # What a run drains

    def drain(self, run: Run) -> tuple[Delivery, ...]:
        """Take everything that waits for a run, each message once, in the order of sending."""
        if run.seen_to < run.backlog_to:
            run.queue = sorted([*self._backlog(run), *run.queue], key=_place)
            run.seen_to = run.backlog_to
        queue = run.queue
        if not queue:
            return ()
        run.queue = []
        run.claimed = [*run.claimed, *queue] if run.claimed else queue
        deliveries: list[Delivery] = []
        for owed in queue:
            owed.become("drained")
            message = owed.message
            # What was sent while the entry agent had no reader is older than the reader, too.
            replayed = message.sequence <= (run.opened_at if owed.obliged else run.backlog_to)
            # Only what was handed over before, and given back, has a reason by now.
            deliveries.append(quick(Delivery, (message, replayed, owed.reason is not None)))
            if isinstance(owed, Reading):
                self._mail_of(owed).begin_reading(owed)
        if self._notes.on:
            self._note_deliveries(run, deliveries)
        return tuple(deliveries)

    def waiting(self, run: Run) -> Iterator[Owed]:
        """What a drain of the run would take now. Nothing changes."""
        if run.seen_to < run.backlog_to:
            yield from self._backlog(run)
        yield from run.queue

    def _backlog(self, run: Run) -> list[Reading]:
        low, high = run.seen_to, run.backlog_to
        entry = run is self._entry
        return [
            Reading(mail.message, run)
            for of_label in (self._of_label[EVERYONE], self._of_label.get(run.label, ()))
            for mail in _between(of_label, low, high)
            # What the entry agent is owed waits in its queue, however long ago it was sent.
            if mail.message.sender != run.address and not (entry and any(owed.run is run for owed in mail.owed))
        ]

    def _note_deliveries(self, run: Run, deliveries: Sequence[Delivery]) -> None:
        for delivery in deliveries:
            self._notes.add("delivery", run.address, {**delivery.provenance(), "text": delivery.message.text})

    # What becomes of it

    def returned(self, run: Run, carried: Collection[str] | None, call: int | None) -> None:
        """A model call of the run returned: what it carried is delivered, the rest stays claimed."""
        delivered = run.claimed
        if not delivered:
            return
        run.claimed = []
        if carried is not None:
            run.claimed = [owed for owed in delivered if owed.message.message_id not in carried]
            delivered = [owed for owed in delivered if owed.message.message_id in carried]
        run.read += len(delivered)
        for owed in delivered:
            self._deliver(owed, call)
            if not owed.obliged and (shared := self._mail_of(owed).shared) and shared.state not in FINAL:
                self._deliver(shared, call)

    def failed(self, run: Run, call: int | None) -> None:
        """The model call that carried what the run has claimed failed, and is not made again."""
        for owed in run.claimed:
            owed.call = call
        self._let_go(run, "model_call_failed")

    def end(self, run: Run) -> None:
        """The run has closed: what it was owed is given up, put back, or kept for another run of the entry agent."""
        self._let_go(run, "run_ended_first")
        if run.more or not self._policy.liveness:
            return
        self.reads_no_more(run)
        # Should the entry agent open once more, it still sees what it never did; that meets no obligation any more.
        unseen = [owed.message for owed in run.queue if owed.reason is None] if run is self._entry else []
        run.queue = self._settle_at_end(run.queue)
        kept = {owed.message.sequence for owed in run.queue}
        again = [Reading(message, run) for message in unseen if message.sequence not in kept]
        run.queue = sorted([*run.queue, *again], key=_place)

    def _settle_at_end(self, owing: list[Owed]) -> list[Owed]:
        """Give up what a run that has ended is owed; what is kept are the person's words to the entry agent."""
        words = [owed for owed in owing if self._is_word_to_entry(owed)]
        for owed in owing:
            if owed.obliged and not self._is_word_to_entry(owed):
                self._give_up(owed, owed.reason or "run_ended_first")
        return words

    def reads_no_more(self, run: Run) -> None:
        """The last drain was taken: what is sent from here on is not for this run."""
        if not self._policy.liveness or not run.reads:
            return
        run.reads = False
        if run.seen_to == run.backlog_to:
            run.seen_to = run.backlog_to = len(self.mails)

    def settle_all(self, *, stopped: bool) -> None:
        """The turn is over: every obligation gets its fate."""
        for mail in self.mails:
            for owed in mail.owed:
                if owed.state in FINAL:
                    continue
                if stopped:
                    self._give_up(owed, "stopped")
                elif self._is_word_to_entry(owed):
                    owed.become("carried")
                    self._note_fate(owed)
                else:
                    self._give_up(owed, owed.reason or _at_the_end(owed))
            mail.forget_unread()

    def _let_go(self, run: Run, reason: Reason) -> None:
        claimed, run.claimed = run.claimed, []
        for owed in claimed:
            if isinstance(owed, Reading):
                self._unread(owed, reason)
            elif not self._may_come_again(owed, run):
                self._give_up(owed, reason)
            else:
                owed.become("put_back")
                owed.reason = reason
        given_back = [owed for owed in claimed if owed.state == "accepted"]
        if given_back:
            run.queue = [*given_back, *run.queue]

    def _may_come_again(self, owed: Owed, run: Run) -> bool:
        if run is not self._entry:
            return False
        # Whether another run of the entry agent follows is known when this one closes.
        return run.holder is not None or run.more or self._is_word_to_entry(owed)

    def _unread(self, reading: Reading, reason: Reason) -> None:
        mail = self._mail_of(reading)
        mail.end_reading(reading)
        if reading.run is self._entry:
            reading.become("put_back")
            reading.reason = reason
        shared = mail.shared
        if shared is None or shared.state != "claimed":
            return
        shared.reason = reason
        shared.call = reading.call
        if not any(other.state == "claimed" for other in mail.readings):
            shared.become("put_back")

    def _deliver(self, owed: Owed, call: int | None) -> None:
        owed.become("returned")
        owed.call = call
        if self._notes.on:
            self._note_fate(owed)

    def _give_up(self, owed: Owed, reason: Reason) -> None:
        owed.become("given_up")
        owed.reason = reason
        self._note_fate(owed)

    def _note_fate(self, owed: Owed) -> None:
        if self._notes.on:
            self._notes.add("fate", owed.address, fate_facts(owed))

    def _is_word_to_entry(self, owed: Owed) -> bool:
        return owed.run is self._entry and owed.obliged and owed.message.origin == "person"

    def _mail_of(self, owed: Owed) -> Mail:
        return self.mails[owed.message.sequence - 1]


def fate_facts(owed: Owed) -> dict[str, object]:
    """A fate, ready for JSON."""
    return {"message_id": owed.message.message_id, **owed.fate()._asdict()}


def _at_the_end(owed: Owed) -> Reason:
    return "run_ended_first" if owed.state == "claimed" else "never_drained"


def _place(owed: Owed) -> int:
    return owed.message.sequence


def _between(mails: Sequence[Mail], low: int, high: int) -> Sequence[Mail]:
    start = bisect_right(mails, low, key=lambda mail: mail.message.sequence)
    return mails[start : bisect_right(mails, high, key=lambda mail: mail.message.sequence)]
