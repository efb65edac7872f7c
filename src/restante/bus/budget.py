"""How many model calls a run may still make, and how mail moves that."""

from collections.abc import Collection

from restante.bus.policy import BusPolicy
from restante.texts import Origin


class Budget:
    """The rounds of one run. Call k, counted from 0, may be made while `k - base < rounds`; a move sets the base.

    The person's words may move it `rounds` times. Mail of agents and external senders may do so
    `agent_extensions` times by default; under `classic` any delivery may, on the person's counter.
    """

    def __init__(self, policy: BusPolicy, rounds: int | None = None) -> None:
        self.rounds = policy.rounds if rounds is None else rounds
        self.calls = 0
        self.base = 0
        self.moves = 0
        self._policy = policy
        self._person_moves = self.rounds
        self._agent_moves = policy.agent_extensions

    @property
    def left(self) -> int:
        """Calls that may still be made, the wrap-up not counted."""
        return self.rounds - (self.calls - self.base)

    def count_call(self) -> None:
        """A call is made that counts."""
        self.calls += 1

    def move(self, origins: Collection[Origin]) -> bool:
        """Set the base to the next call if its prompt holds mail of these origins; whether it moved.

        Nothing moves before the first call, after the last permitted one, or by notices of the bus.
        """
        if self.calls == 0 or self.left <= 0 or not self._take_move(origins):
            return False
        self.base = self.calls
        self.moves += 1
        return True

    def _take_move(self, origins: Collection[Origin]) -> bool:
        if not any(origin != "bus" for origin in origins):
            return False
        if self._policy.any_delivery_moves or "person" in origins:
            if self._person_moves == 0:
                return False
            self._person_moves -= 1
            return True
        if self._agent_moves == 0:
            return False
        self._agent_moves -= 1
        return True
