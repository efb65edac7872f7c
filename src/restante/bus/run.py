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
        "_named", "address", "alone", "backlog_to", "claimed", "error", "holds_reader", "how", "label", "more",
        "number", "opened_at", "queue", "read", "reads", "seen_to", "sent", "sent_at_s", "tallies", "waits",
    )  # fmt: skip

    def __init__(self, label: str, address: str, number: int) -> None:  # noqa: PLR0915 - a line for each fact
        self.label = label
        self.address = address
        self.number = number
        """The place on the roster, from 1; 0 while the entry agent has not opened."""
        self.alone = Match((self,), ())
        """What a selector means that means this run only; most do."""
        self._named: Named = ((address, None),)
        self.queue: list[Owed] = []
        """What waits for it, in the order of sending; of the entry agent also what a failed call gave back."""
        self.claimed: list[Owed] = []
        """What it has drained and no call has returned yet."""
        self.opened_at = 0
        """The sequence of the list when it first opened: what is older is replayed."""
        self.seen_to = 0
        """Up to here it has been shown the list."""
        self.backlog_to = 0
        """From `seen_to` to here lies what was sent while it did not read: its backlog."""
        self.holds_reader = False
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

    @property
    def state(self) -> RunState:
        """What the roster says of it, under a policy that knows who is alive."""
        if self.holds_reader:
            return "waiting" if self.waits else "running"
        return "waiting" if self.more or not self.number else "finished"

    def named(self, *, live: bool) -> Named:
        """How a receipt names it when it names it alone. `live`: whether the policy knows who is alive."""
        state = self.state if live else None
        if self._named[0] != (self.address, state):
            self._named = ((self.address, state),)
        return self._named
