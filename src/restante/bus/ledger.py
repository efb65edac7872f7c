"""The list of a turn's mail, and the books: what is owed of each message, to whom, and what became of it.

Nothing here locks: the bus does, around every call.
"""

from bisect import bisect_right
from collections.abc import Collection, Iterator, Sequence

from restante.bus.entry import Notes
from restante.bus.fates import FINAL, Owed, Reason
from restante.bus.mail import Mail
from restante.bus.match import Match
from restante.bus.message import EVERYONE, Message
from restante.bus.policy import BusPolicy
from restante.bus.rendering import Delivery
from restante.bus.run import Run

_PLACE_DIGITS = 18


class Ledger:
    """Every accepted message in order, found by id, by label, and by whom it is owed to."""

    def __init__(self, policy: BusPolicy, entry: Run, id_prefix: str, notes: Notes) -> None:
        self.mails: list[Mail] = []
        self._policy = policy
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

    def next_place(self) -> tuple[str, int]:
        """The id and the sequence that the next message gets, if it is accepted."""
        sequence = len(self.mails) + 1
        message_id = f"{self._id_prefix}{sequence}"
        while message_id in self._of_other_id:
            message_id += "-"
        return message_id, sequence

    def enter(self, message: Message, at_s: float, match: Match) -> Mail:
        """Put a message on the list, and what is owed of it into the queues of the runs that it matched."""
        mail = Mail(message, at_s, match)
        self.mails.append(mail)
        if message.origin == "external" or message.message_id[-1] == "-":
            self._of_other_id[message.message_id] = mail
        if "#" not in message.to:
            self._of_label.setdefault(message.to, []).append(mail)
        if self._policy.one_reader_meets:
            self._owe_once(mail, match.reading)
        else:
            self._owe_each(mail, match.reading)
        return mail

    def _owe_each(self, mail: Mail, matched: Sequence[Run]) -> None:
        message = mail.message
        if message.origin == "person" and message.to == EVERYONE and self._entry not in matched:
            matched = [*matched, self._entry]
        owing: list[Owed] = []
        for run in matched:
            owed = Owed(mail, run)
            owing.append(owed)
            run.queue.append(owed)
        mail.owed = tuple(owing) or (Owed(mail, None),)

    def _owe_once(self, mail: Mail, matched: Sequence[Run]) -> None:
        entry = self._entry
        message = mail.message
        to_entry = message.origin == "person" and (message.to == EVERYONE or entry in matched)
        mail.owed = (Owed(mail, entry if to_entry else None),)
        if to_entry:
            entry.queue.append(mail.owed[0])
        for run in matched:
            # A run that has ended drains no more; nothing is settled because of that.
            if (run.holder or run is entry) and not (to_entry and run is entry):
                run.queue.append(Owed(mail, run, obliged=False))

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
        return tuple([self._claim(owed, run) for owed in queue])

    def waiting(self, run: Run) -> Iterator[Owed]:
        """What a drain of the run would take now. Nothing changes."""
        if run.seen_to < run.backlog_to:
            yield from self._backlog(run)
        yield from run.queue

    def _backlog(self, run: Run) -> list[Owed]:
        low, high = run.seen_to, run.backlog_to
        own = None if self._policy.own_sends_come_back else run.address
        entry = run is self._entry
        return [
            Owed(mail, run, obliged=False)
            for of_label in (self._of_label[EVERYONE], self._of_label.get(run.label, ()))
            for mail in _between(of_label, low, high)
            # What the entry agent is owed waits in its queue, however long ago it was sent.
            if mail.message.sender != own and not (entry and any(owed.run is run for owed in mail.owed))
        ]

    def _claim(self, owed: Owed, run: Run) -> Delivery:
        message = owed.mail.message
        owed.become("drained")
        run.claimed.append(owed)
        # What was sent while the entry agent had no reader is older than the reader, too.
        replayed = message.sequence <= (run.opened_at if owed.obliged else run.backlog_to)
        # Only what was handed over before, and given back, has a reason by now.
        delivery = Delivery(message, replayed, owed.reason is not None)
        if not owed.obliged:
            owed.mail.begin_reading(owed)
        if self._notes.on:
            self._notes.add("delivery", run.address, {**delivery.provenance(), "text": message.text})
        return delivery

    # What becomes of it

    def returned(self, run: Run, carried: Collection[str] | None, call: int | None) -> None:
        """A model call of the run returned: what it carried is delivered, the rest stays claimed."""
        claimed, run.claimed = run.claimed, []
        for owed in claimed:
            if carried is not None and owed.mail.message.message_id not in carried:
                run.claimed.append(owed)
                continue
            self._deliver(owed, call)
            run.read += 1
            if not owed.obliged and (shared := owed.mail.shared) and shared.state not in FINAL:
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
        unseen = [owed.mail for owed in run.queue if owed.reason is None] if run is self._entry else []
        run.queue = self._settle_at_end(run.queue)
        kept = {owed.mail for owed in run.queue}
        again = [Owed(mail, run, obliged=False) for mail in unseen if mail not in kept]
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
            if not owed.obliged:
                self._unread(owed, reason)
            elif not self._may_come_again(owed, run):
                self._give_up(owed, reason)
            else:
                owed.become("put_back")
                owed.reason = reason
        given_back = [owed for owed in claimed if owed.state == "accepted"]
        if given_back:
            run.queue = sorted([*given_back, *run.queue], key=_place)

    def _may_come_again(self, owed: Owed, run: Run) -> bool:
        if run is not self._entry:
            return False
        # Whether another run of the entry agent follows is known when this one closes.
        return run.holder is not None or run.more or self._is_word_to_entry(owed)

    def _unread(self, reading: Owed, reason: Reason) -> None:
        mail = reading.mail
        mail.end_reading(reading)
        if reading.run is self._entry:
            reading.become("put_back")
            reading.reason = reason
        shared = mail.shared
        if shared is None or shared.state != "claimed":
            return
        shared.reason = reason
        if not any(other.state == "claimed" for other in mail.readings):
            shared.become("put_back")

    def _deliver(self, owed: Owed, call: int | None) -> None:
        owed.become("returned")
        owed.call = call
        self._note_fate(owed)

    def _give_up(self, owed: Owed, reason: Reason) -> None:
        owed.become("given_up")
        owed.reason = reason
        self._note_fate(owed)

    def _note_fate(self, owed: Owed) -> None:
        if self._notes.on:
            self._notes.add("fate", owed.address, fate_facts(owed))

    def _is_word_to_entry(self, owed: Owed) -> bool:
        return owed.run is self._entry and owed.obliged and owed.mail.message.origin == "person"


def fate_facts(owed: Owed) -> dict[str, object]:
    """A fate, ready for JSON."""
    return {"message_id": owed.mail.message.message_id, **owed.fate()._asdict()}


def _at_the_end(owed: Owed) -> Reason:
    return "run_ended_first" if owed.state == "claimed" else "never_drained"


def _place(owed: Owed) -> int:
    return owed.mail.message.sequence


def _between(mails: Sequence[Mail], low: int, high: int) -> Sequence[Mail]:
    start = bisect_right(mails, low, key=lambda mail: mail.message.sequence)
    return mails[start : bisect_right(mails, high, key=lambda mail: mail.message.sequence)]
