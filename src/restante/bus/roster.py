"""The roster: who has opened a reader in this turn, in the order of opening, and how it reads."""

from collections.abc import Iterable
from typing import NamedTuple

from restante.bus.message import EVERYONE
from restante.bus.run import How, Run, RunState

SHOWN_LINES = 50
"""How many lines a text shows; the API gives all."""


class Line(NamedTuple):
    """One address. Under `classic` the bus does not know who is alive, and says so by None."""

    address: str
    state: RunState | None
    how: How | None
    """How it ended, once it has finished."""
    reads: bool
    """Whether it can still be reached."""
    last_sent_s: float | None
    """Seconds since it last sent; None: it never did."""

    def in_words(self) -> str:
        """The address and, where it is known, the state."""
        if self.state is None:
            return self.address
        if self.state == "finished":
            return f"{self.address} (finished{f': {self.how}' if self.how else ''})"
        return f"{self.address} ({self.state}{'' if self.reads else ', reads no more'})"


def line_of(run: Run, *, now_s: float, live: bool) -> Line:
    """The line of a run. `live`: whether the policy knows who is alive."""
    age_s = None if run.sent_at_s is None else now_s - run.sent_at_s
    if not live:
        return Line(run.address, None, None, reads=True, last_sent_s=age_s)
    return Line(run.address, run.state, run.how if run.state == "finished" else None, run.reads, age_s)


def roster_text(lines: Iterable[Line], you: str | None = None) -> str:
    """The roster as a model reads it: a line for each address, then one for everyone. `you` marks the caller's own."""
    lines = tuple(lines)
    shown, hidden = _most_useful(lines)
    return "\n".join(
        [
            *(f"- {line.in_words()}{' (you)' if line.address == you else ''}" for line in shown),
            *([f"- and {hidden} more that have finished"] if hidden else []),
            f"- {EVERYONE}: {_meaning_of_everyone(lines, you)}.",
        ]
    )


def roster_for_refusal(lines: Iterable[Line], you: str | None = None) -> str:
    """The roster after a sentence that says whether any address on it would have worked."""
    lines = tuple(lines)
    lead = "You can write to those that read" if _reached_by(lines, you) else "Nobody else is reading now"
    return f"{lead}:\n{roster_text(lines, you)}"


def _meaning_of_everyone(lines: tuple[Line, ...], you: str | None) -> str:
    reached = _reached_by(lines, you)
    if not reached:
        return "nobody else is reading now; runs that open later in this turn will get it"
    if reached[0].state is None:
        return "every one of the above at once"
    excepted = any(line.address == you for line in lines)
    return f"all of the above that still read{', except you' if excepted else ''}"


def _reached_by(lines: tuple[Line, ...], you: str | None) -> list[Line]:
    """Whom the caller can write to. Where the bus does not know who is alive, that is everyone, the caller included."""
    return [line for line in lines if line.state is None or (line.reads and line.address != you)]


def _most_useful(lines: tuple[Line, ...]) -> tuple[tuple[Line, ...], int]:
    """At most `SHOWN_LINES`, in order, those of live runs kept first; and how many are hidden."""
    if len(lines) <= SHOWN_LINES:
        return lines, 0
    live = [line for line in lines if line.state != "finished"]
    over = [line for line in lines if line.state == "finished"]
    kept = set((live + over)[:SHOWN_LINES])
    return tuple(line for line in lines if line in kept), len(lines) - len(kept)
