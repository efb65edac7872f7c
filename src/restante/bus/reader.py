"""A reader: what one run sees the bus through. Opening it mints the address; it reads until its last drain."""

from collections.abc import Callable, Collection, Generator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from restante.bus.fates import Fate
from restante.bus.message import Message, quick
from restante.bus.questions import Asked, deadline_refusal
from restante.bus.receipt import Receipt, refusal
from restante.bus.rendering import Delivery
from restante.bus.rings import Ring
from restante.bus.run import How, Run
from restante.errors import UnknownMessage

if TYPE_CHECKING:
    from restante.bus.bus import MessageBus


class Reader:
    """One run's view of the bus. Every method may be called from any thread, and none waits."""

    def __init__(self, bus: "MessageBus", run: Run) -> None:
        self.address = run.address
        """What the run is called in this turn."""
        self._bus = bus
        self._run = run
        self._drained_last = False

    def send(self, to: str, text: str, *, in_reply_to: str | None = None) -> Receipt:
        """Send under this run's address. A receipt says who was matched, or why nothing was stored."""
        bus = self._bus
        bus._acquire()
        try:
            ledger = bus._ledger
            sequence = len(ledger.mails) + 1
            facts = (ledger.next_id(), sequence, self.address, "agent", to, text, in_reply_to, None, None, None)
            receipt = bus._offer(quick(Message, facts), self._run)
        finally:
            bus._release()
        if bus._heard:
            bus._tell()
        return receipt

    def drain(self) -> tuple[Delivery, ...]:
        """Take all new mail, each message once, in the order of sending."""
        bus = self._bus
        bus._acquire()
        try:
            mine = self._run.holder is self and not self._drained_last
            deliveries = bus._ledger.drain(self._run) if mine else ()
        finally:
            bus._release()
        if bus._heard:
            bus._tell()
        return deliveries

    def drain_or_close(self) -> tuple[Delivery, ...]:
        """Take all new mail; if there is none, close as answered in the same step, so that nothing slips between."""
        with self._bus._lock:
            deliveries = self._take()
            if not deliveries:
                self._close("answered", None, more=False)
        self._bus._tell()
        return deliveries

    def drain_last(self) -> tuple[Delivery, ...]:
        """Take all new mail for the last time: the run can be reached no more, and may still send."""
        with self._bus._lock:
            deliveries = self._take()
            self._drained_last = True
            if self._run.holder is self:
                self._bus._ledger.reads_no_more(self._run)
        self._bus._tell()
        return deliveries

    def returned(self, carried: Collection[str] | None = None, *, call: int | None = None) -> None:
        """The model call that carried what was drained has returned: it is delivered.

        `carried` are the ids of the messages that were in the request; None means all that was drained. `call` is
        the number of the call in its run, from 0.
        """
        bus = self._bus
        bus._acquire()
        try:
            if self._run.holder is self:
                bus._ledger.returned(self._run, carried, call)
        finally:
            bus._release()
        if bus._heard:
            bus._tell()

    def failed(self, *, call: int | None = None) -> None:
        """The model call that carried what was drained has failed, and will not be made again."""
        with self._bus._lock:
            if self._run.holder is self:
                self._bus._ledger.failed(self._run, call)
        self._bus._tell()

    def close(self, how: How, *, error: str | None = None, more: bool = False) -> None:
        """The run has ended. `more`: another run of the entry agent follows. Closing again changes nothing."""
        with self._bus._lock:
            self._close(how, error, more=more)
        self._bus._tell()

    def sends(self) -> tuple[tuple[Message, tuple[Fate, ...]], ...]:
        """What this run has sent, in that order, each with what has become of it so far. Nothing changes."""
        with self._bus._lock:
            mails = self._bus._ledger.mails
            return tuple((mail.message, mail.fates()) for mail in mails if mail.message.sender == self.address)

    def has_mail(self) -> bool:
        """Whether a drain would give something now. A peek; nothing changes."""
        with self._bus._lock:
            mine = self._run.holder is self and not self._drained_last
            return mine and any(True for _ in self._bus._ledger.waiting(self._run))

    @contextmanager
    def waiting_for(self, address: str | None = None) -> Generator[None]:
        """While the block lasts the run is `waiting`. With an address, only the end of that run ends it.

        Whoever waits so for another run cannot be asked by it, nor by whom that one waits for.
        """
        bus, run = self._bus, self._run
        target = bus._directory.find(address)
        with bus._lock:
            bus._questions.wait(run, target)
        try:
            yield
        finally:
            with bus._lock:
                bus._questions.wait_no_more(run, target)

    # Asking

    def question(self, to: str, text: str, *, deadline_s: float | None = None) -> Receipt:
        """Ask one run, and wait for its reply from now on: until `wait_no_more`, which whoever waits calls in the end.

        It is refused like any send, and for several addresses, for a deadline that is not within the policy's
        `wait_max_s` (None: its `ask_s`), and if whoever is asked waits for this run. It waits for nothing itself.
        """
        bus, run = self._bus, self._run
        seconds = bus.policy.ask_s if deadline_s is None else deadline_s
        with bus._lock:
            endless = deadline_refusal(seconds, bus.policy.wait_max_s)
            until_s = bus._notes.now_s() + (0 if endless else seconds)
            message = Message(
                bus._ledger.next_id(), len(bus._ledger.mails) + 1, self.address, "agent", to, text, answer_by_s=until_s
            )
            receipt = bus._offer(message, run, seconds)
            if receipt.accepted:
                bus._questions.ask(message.message_id, run, bus._ledger.mails[-1].match.reading[0])
        bus._tell()
        return receipt

    def wait_again(self, question_id: str, *, deadline_s: float | None = None) -> Receipt:
        """Wait once more for the reply to a question of this run. A refusal is a receipt, as for `question`."""
        bus, run = self._bus, self._run
        seconds = bus.policy.ask_s if deadline_s is None else deadline_s
        with bus._lock:
            question = bus._questions.find(question_id, run)
            if endless := deadline_refusal(seconds, bus.policy.wait_max_s):
                return endless
            if question is None:
                return refusal("invalid_reference", f"{question_id!r} is no question of yours in this turn.")
            if question.reply_id is None and (cycle := bus._questions.cycle_refusal(run, question.target)):
                return cycle
            bus._questions.wait(run, question.target, question)
            return Receipt(accepted=True, code=None, message_id=question_id, matched=(), not_reached=())

    def wait_no_more(self, question_id: str) -> None:
        """The wait for the reply to a question is over, however it ended. Once more changes nothing."""
        with self._bus._lock:
            if question := self._bus._questions.find(question_id, self._run):
                self._bus._questions.wait_no_more(self._run, question.target, question)

    def asked(self, question_id: str) -> Asked:
        """What has become of a question of this run. Raises `UnknownMessage`. Nothing changes."""
        bus, run = self._bus, self._run
        with bus._lock:
            question = bus._questions.find(question_id, run)
            if question is None:
                raise UnknownMessage(f"{question_id!r} is no question of {self.address}.")
            waiting = (owed.message for owed in bus._ledger.waiting(run))
            other_mail = any(not bus._questions.is_reply_to(message, run) for message in waiting)
            target = question.target
            ended = target.how if bus.policy.liveness and target.state == "finished" else None
            return Asked(question_id, target.address, question.reply_id, ended, other_mail)

    def subscribe(self, ring: Ring) -> Callable[[], None]:
        """Be rung after each send that matched this run, and when a run that it waits for has closed.

        Returns the way to stop it. The ring is called from any thread, outside the lock; it never waits.
        """
        with self._bus._lock:
            self._bus._heard = True
            self._bus._rings.add(self._run, ring)

        def stop() -> None:
            with self._bus._lock:
                self._bus._rings.remove(self._run, ring)

        return stop

    def _take(self) -> tuple[Delivery, ...]:
        if self._run.holder is not self or self._drained_last:
            return ()
        return self._bus._ledger.drain(self._run)

    def _close(self, how: How, error: str | None, *, more: bool) -> None:
        run = self._run
        if run.holder is not self:
            return
        run.close(how, error, more=more and run is self._bus._directory.entry)
        self._bus._ledger.end(run)
        self._bus._questions.forget(run)
        self._bus._rings.wake(self._bus._questions.waiting_for(run))
        self._bus._note("run_closed", run, {"how": how, "error": error})
