"""What the bus knows of one run: its address, what waits for it, what it holds, and whether it still reads."""

from typing import Literal

from restante.bus.fates import Owed
from restante.bus.match import Match

RunState = Literal["running", "waiting", "finished"]
How = Literal["answered", "wrap-up", "error", "cancelled", "stopped"]
Named = tuple[tuple[str, RunState | None], ...]
"""Addresses with the state of each at one moment; None where the policy does not know who is alive."""


class Run:
    """One line of the roster. The entry agent has one for all its runs of a turn; it exists before it opens."""

    __slots__ = (
        "_live", "address", "alone", "backlog_to", "claimed", "error", "holder", "how", "label", "more", "named",
        "number", "opened_at", "queue", "read", "reads", "seen_to", "sent", "sent_at_s", "state", "tallies", "waits",
    )  # fmt: skip

    def __init__(self, label: str, *, live: bool) -> None:  # noqa: PLR0915 - a line for each fact
        self._live = live
        self.label = label
        self.address = ""
        self.number = 0
        """The place on the roster, from 1; 0 while the entry agent has not opened."""
        self.queue: list[Owed] = []
        """What waits for it, in the order of sending; of the entry agent also what a failed call gave back."""
        self.claimed: list[Owed] = []
        """What it has drained and no call has returned yet."""
        self.opened_at = 0
        """Of the entry agent, the sequence of the list when it first opened: what it was owed before is replayed."""
        self.seen_to = 0
        """Up to here it has been shown the list."""
        self.backlog_to = 0
        """From `seen_to` to here lies what was sent while it did not read: its backlog."""
        self.holder: object = None
        """The reader that acts for it now; None before it opens and when it has closed."""
        self.reads = False
        """Whether it can still be reached: a drain of it is to come."""
        self.more = False
        """Another run of the entry agent follows."""
        self.how: How | None = None
        self.error: str | None = None
        self.waits = 0
        """How many things it waits for, such as a worker that it spawned."""
        self.sent = 0
        self.sent_at_s: float | None = None
        self.read = 0
        """How many messages calls of it have carried and returned."""
        self.tallies: dict[str, int] = {}
        """How often each kind was noted of it, such as `round`."""
        self.state: RunState = "waiting"
        """What the roster says of it, under a policy that knows who is alive."""
        self.named: Named = ()
        """How a receipt names it when it names it alone."""
        self.alone = Match((self,), ())
        """What a selector means that means this run only; most do."""

    def mint(self, address: str, number: int) -> None:
        """It gets its address and its place on the roster, for good."""
        self.address = address
        self.number = number

    def open(self, holder: object) -> None:
        """A reader acts for it."""
        self.holder = holder
        self.reads = True
        self.more = False
        self.how = self.error = None
        self._changed()

    def close(self, how: How | None, error: str | None = None, *, more: bool = False) -> None:
        """Its reader is closed. `more`: another run of the entry agent follows."""
        self.holder = None
        self.how = how
        self.error = error
        self.more = more
        self._changed()

    def wait(self, step: int) -> None:
        """It waits for one thing more, or for one less."""
        self.waits += step
        self._changed()

    def _changed(self) -> None:
        if self.holder is not None:
            self.state = "waiting" if self.waits else "running"
        else:
            self.state = "waiting" if self.more else "finished"
        self.named = ((self.address, self.state if self._live else None),)
