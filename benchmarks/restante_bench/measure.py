"""Taking a time, and setting it against a floor and a goal."""

import gc
import time
from collections.abc import Callable
from typing import Literal, NamedTuple

ROUNDS = 7
"""How often each thing is measured; the best time counts, since noise only ever adds."""


class Row(NamedTuple):
    """One measurement beside its floor."""

    what: str
    ours: str
    against: str
    floor: str
    ratio: float
    goal: float
    better: Literal["less", "more"]

    @property
    def reached(self) -> bool:
        """Whether the ratio is on the right side of the goal."""
        return self.ratio <= self.goal if self.better == "less" else self.ratio >= self.goal


def best_seconds(act: Callable[[], object], rounds: int = ROUNDS) -> float:
    """Seconds that the act takes at its best."""
    times: list[float] = []
    for _ in range(rounds):
        gc.collect()
        began = time.perf_counter()
        act()
        times.append(time.perf_counter() - began)
    return min(times)


def microseconds(seconds: float) -> str:
    """A duration as people read it."""
    return f"{seconds * 1e6:,.2f} us"


def per_second(rate: float) -> str:
    """A rate as people read it."""
    return f"{rate:,.0f}/s"
