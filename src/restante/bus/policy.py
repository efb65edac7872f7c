"""The rules of one bus, as a frozen value: two named policies, and limits."""

from dataclasses import dataclass, fields
from typing import Literal, Self

from restante.errors import BadPolicy

PolicyName = Literal["default", "classic"]


@dataclass(frozen=True, slots=True, kw_only=True)
class BusPolicy:
    """What a bus obeys. `BusPolicy()` is `default`; `BusPolicy.classic()` differs from it in five rules.

    Raises `BadPolicy`, naming field, value and range, when a field is out of its range.
    """

    name: PolicyName = "default"
    rounds: int = 10
    """Model calls of a run before its wrap-up, at least 1. An agent may set its own."""
    agent_extensions: int = 3
    """How often the mail of agents and external senders may move the base of a run's rounds; 0: never."""
    text_limit: int = 20_000
    """The longest text, in code points."""
    report_limit: int = 2_000
    """How much of each text the close report shows, in code points."""
    broadcasts: int | None = None
    """Accepted messages of agents to everyone, in one turn. None: no limit."""
    pair_messages: int | None = None
    """Accepted messages of agents between two addresses, both directions, in one turn. None: no limit."""
    background: int = 8
    """Live background workers in one turn."""
    live_runs: int = 32
    """Live runs in one turn, the entry run and background workers counted."""
    grace_s: float = 30.0
    """Seconds that background workers have after the entry run has answered for good."""
    ask_s: float = 300.0
    """Seconds that a question waits for its reply unless it says otherwise."""
    wait_max_s: float = 3_600.0
    """The longest ask or await, in seconds."""

    def __post_init__(self) -> None:
        if self.name not in ("default", "classic"):
            raise BadPolicy(f"name is {self.name!r}; it is 'default' or 'classic'.", field="name")
        for field in fields(self)[1:]:
            _check(field.name, getattr(self, field.name))
        if self.ask_s > self.wait_max_s:
            words = f"ask_s is {self.ask_s:g}, and no wait is longer than wait_max_s, {self.wait_max_s:g}."
            raise BadPolicy(f"{words} Raise wait_max_s, or lower ask_s.", field="ask_s")

    @classmethod
    def classic(cls, *, rounds: int = 10) -> Self:
        """The five rules of the system that restante describes; every limit is that of `BusPolicy()`."""
        return cls(name="classic", rounds=rounds)

    @property
    def own_sends_come_back(self) -> bool:
        """Whether a run is matched by its own sends."""
        return self.name == "classic"

    @property
    def liveness(self) -> bool:
        """Whether the bus knows which runs can still read."""
        return self.name == "default"

    @property
    def one_reader_meets(self) -> bool:
        """Whether any one matching reader meets a message for all."""
        return self.name == "classic"

    @property
    def any_delivery_moves(self) -> bool:
        """Whether every delivery may move the base of the rounds, whoever sent it."""
        return self.name == "classic"

    @property
    def drains_first(self) -> bool:
        """Whether a run drains before its first model call, too."""
        return self.name == "default"


_AT_LEAST = {"agent_extensions": 0, "grace_s": 0, "background": 0, "broadcasts": 0, "pair_messages": 0}
_MAY_BE_NONE = ("broadcasts", "pair_messages")
_SECONDS = ("grace_s", "ask_s", "wait_max_s")
_AT_MOST = 1_000_000_000


def _check(name: str, value: object) -> None:
    if value is None and name in _MAY_BE_NONE:
        return
    least = _AT_LEAST.get(name, 1)
    kinds = (int, float) if name in _SECONDS else (int,)
    right_kind = isinstance(value, kinds) and not isinstance(value, bool)
    # Not-a-number fails every comparison, so that it is refused here as well.
    if not right_kind or not least <= value <= _AT_MOST:  # type: ignore[operator]
        kind = "a number of seconds" if name in _SECONDS else "a whole number"
        none = ", or None" if name in _MAY_BE_NONE else ""
        raise BadPolicy(f"{name} is {value!r}; it is {kind} from {least} to {_AT_MOST:,}{none}.", field=name)
