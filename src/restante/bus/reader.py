"""A reader: what one run sees the bus through. Opening it mints the address; it reads until its last drain."""

from collections.abc import Collection, Generator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from restante.bus.fates import Fate
from restante.bus.message import Message, quick
from restante.bus.receipt import Receipt
from restante.bus.rendering import Delivery
from restante.bus.run import How, Run

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
            facts = (ledger.next_id(), sequence, self.address, "agent", to, text, in_reply_to, None, None)
            receipt = bus._offer(quick(Message, facts), self._run)
        finally:
            bus._release()
        if bus._notes.on:
            bus._notes.tell()
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
        if bus._notes.on:
            bus._notes.tell()
        return deliveries

    def drain_or_close(self) -> tuple[Delivery, ...]:
        """Take all new mail; if there is none, close as answered in the same step, so that nothing slips between."""
        with self._bus._lock:
            deliveries = self._take()
            if not deliveries:
                self._close("answered", None, more=False)
        self._bus._notes.tell()
        return deliveries

    def drain_last(self) -> tuple[Delivery, ...]:
        """Take all new mail for the last time: the run can be reached no more, and may still send."""
        with self._bus._lock:
            deliveries = self._take()
            self._drained_last = True
            self._bus._ledger.reads_no_more(self._run)
        self._bus._notes.tell()
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
        if bus._notes.on:
            bus._notes.tell()

    def failed(self, *, call: int | None = None) -> None:
        """The model call that carried what was drained has failed, and will not be made again."""
        with self._bus._lock:
            if self._run.holder is self:
                self._bus._ledger.failed(self._run, call)
        self._bus._notes.tell()

    def close(self, how: How, *, error: str | None = None, more: bool = False) -> None:
        """The run has ended. `more`: another run of the entry agent follows. Closing again changes nothing."""
        with self._bus._lock:
            self._close(how, error, more=more)
        self._bus._notes.tell()

    def sends(self) -> tuple[tuple[Message, tuple[Fate, ...]], ...]:
        """What this run has sent, in that order, each with what has become of it so far. Nothing changes."""
        with self._bus._lock:
            mails = self._bus._ledger.mails
            return tuple((mail.message, mail.fates()) for mail in mails if mail.message.sender == self.address)

    def has_mail(self) -> bool:
        """Whether a drain would give something now. A peek; nothing changes."""
        with self._bus._lock:
            return self._run.holder is self and any(True for _ in self._bus._ledger.waiting(self._run))

    @contextmanager
    def waiting_for(self, address: str | None = None) -> Generator[None]:
        """While the block lasts the run is `waiting`, for instance for the worker with that address."""
        del address  # who waits for whom matters to questions, which refuse a cycle
        with self._bus._lock:
            self._run.wait(1)
        try:
            yield
        finally:
            with self._bus._lock:
                self._run.wait(-1)

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
        self._bus._note("run_closed", run, {"how": how, "error": error})
