"""What becomes of an accepted message, for one address: one table, and the thing that runs through it."""

from typing import TYPE_CHECKING, Literal, NamedTuple

from restante.bus.message import Message

if TYPE_CHECKING:
    from restante.bus.run import Run

State = Literal["accepted", "claimed", "delivered", "undelivered", "carried"]
Reason = Literal["model_call_failed", "run_ended_first", "never_drained", "stopped", "interrupted"]
Cause = Literal["drained", "returned", "put_back", "given_up", "carried"]

AFTER: dict[Cause, dict[State, State]] = {
    "drained": {"accepted": "claimed", "claimed": "claimed"},  # the latter: a shared obligation, by a second reader
    "returned": {"claimed": "delivered"},
    "put_back": {"claimed": "accepted"},
    "given_up": {"accepted": "undelivered", "claimed": "undelivered"},
    "carried": {"accepted": "carried", "claimed": "carried"},
}
"""What each cause makes of each state. `delivered`, `undelivered` and `carried` are final: nothing follows them."""

FINAL: frozenset[State] = frozenset({"delivered", "undelivered", "carried"})

IN_WORDS: dict[str, str] = {
    "model_call_failed": "the model call that carried it failed",
    "run_ended_first": "the run ended before it was read",
    "never_drained": "nobody came to read it before the turn ended",
    "stopped": "the turn was stopped",
    "interrupted": "the process ended before it was read",
}
"""The reasons, as a person reads them."""


class Fate(NamedTuple):
    """What has become of a message for one address, or, without an address, for whoever was to read it."""

    address: str | None
    state: State
    reason: Reason | None
    call: int | None
    """The model call of the run that carried it, counted from 0; None where the driver did not say."""
    obliged: bool
    """False: a run read it that was not obliged to."""

    def in_words(self) -> str:
        """Who, what has become of it, and where it is known why not."""
        why = f" ({IN_WORDS[self.reason]})" if self.reason else ""
        return f"{self.address or 'whoever reads it first'}: {self.state}{why}"


class Owed:
    """One accepted message for one run, or for whoever reads it first (`run` is None), and its state."""

    __slots__ = ("call", "message", "reason", "run", "state")

    obliged = True

    def __init__(self, message: Message, run: "Run | None") -> None:
        self.message = message
        self.run = run
        self.state: State = "accepted"
        self.reason: Reason | None = None
        self.call: int | None = None

    def become(self, cause: Cause) -> None:
        """Move along the table. A final state never changes."""
        self.state = AFTER[cause][self.state]

    @property
    def address(self) -> str | None:
        """Whose it is. None: of whoever reads it first, or of the entry agent, which has not opened."""
        return (self.run.address or None) if self.run else None

    def place(self) -> int:
        """The place of its run in the order of opening, as a key to sort by."""
        return self.run.number if self.run else 0

    def fate(self) -> Fate:
        """The state now. A reason shows only once it is final."""
        reason = self.reason if self.state == "undelivered" else None
        return Fate(self.address, self.state, reason, self.call, self.obliged)


class Reading(Owed):
    """One message for a run that is not obliged to read it, and that may meet a shared obligation."""

    __slots__ = ()

    obliged = False
