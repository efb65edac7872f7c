"""The runs of one turn: which are live, how many may be, and what each of them used."""

from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from pydantic_ai.capabilities import AbstractCapability
from pydantic_ai.usage import RunUsage, UsageLimits

from restante.bus.run import How
from restante.turn.approval import Approver
from restante.turn.background import Background
from restante.turn.clock import Clock, MonotonicClock
from restante.turn.streaming import Streaming
from restante.turn.tasks import Tasks


@dataclass(frozen=True, slots=True, kw_only=True)
class Ran:
    """A run that has ended: how, after how many rounds (its wrap-up not counted), and what its model calls used."""

    address: str
    how: How
    rounds: int
    usage: RunUsage


@dataclass(kw_only=True)
class Runs:
    """What the runs of a turn share: the mailbox of the first one makes it, and each spawn hands it on."""

    rounds: Mapping[str, int] = field(default_factory=dict[str, int])
    """How many rounds a label has, where it has its own number."""
    limits: Mapping[str, UsageLimits] = field(default_factory=dict[str, UsageLimits])
    """What a run of a label may use, where that is limited."""
    ended: list[Ran] = field(default_factory=list[Ran])
    """In the order in which they ended."""
    live: set[str] = field(default_factory=set[str])
    """The addresses of the runs that have opened and not ended."""
    stopped: bool = False
    """The person has stopped the turn: a run that is cancelled from here on was stopped."""
    ending: bool = False
    """The turn has been cut off: no run of it takes another step."""
    tasks: dict[str, Tasks] = field(default_factory=dict[str, Tasks])
    """The tasks of each run that goes on."""
    clock: Clock = field(default_factory=MonotonicClock)
    """What waits are measured by."""
    background: Background | None = None
    """The background workers; None where no turn owns their tasks, so that there can be none."""
    approver: Approver | None = None
    """Who decides about gated calls, if any are gated."""
    streaming: Streaming | None = None
    """Who listens to their texts, if anybody does."""

    def listened(self, address: str) -> list[AbstractCapability[Any]]:
        """What a run with this address gets so that its texts are listened to: nothing where nobody listens."""
        return [self.streaming.of(address)] if self.streaming else []

    def limits_of(self, label: str) -> UsageLimits:
        """What a run of this label may use. Its rounds are the bus's to count, and not the library's."""
        return self.limits.get(label) or UsageLimits(request_limit=None)

    def opens(self, address: str) -> None:
        """A run with this address has opened."""
        self.live.add(address)

    def ends(self, ran: Ran) -> None:
        """A run has ended, which makes room for another."""
        self.live.discard(ran.address)
        self.ended.append(ran)

    @asynccontextmanager
    async def whole(self, address: str) -> AsyncGenerator[None]:
        """Around the library's run with this address: when the block is left, no task of it goes on."""
        self.tasks[address] = Tasks()
        try:
            yield
        finally:
            await self.tasks.pop(address).end()

    def joined(self, address: str) -> None:
        """The task that calls is one of the run with this address."""
        if address in self.tasks:
            self.tasks[address].joined_by_this()

    def how(self, address: str) -> How | None:
        """How the run with this address ended last, or None while it has not."""
        return next((ran.how for ran in reversed(self.ended) if ran.address == address), None)

    def usage(self) -> RunUsage:
        """What all model calls of the turn used together."""
        total = RunUsage()
        for ran in self.ended:
            total.incr(ran.usage)
        return total
