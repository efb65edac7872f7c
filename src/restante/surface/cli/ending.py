"""What a person is told when a turn has ended, after its answer: why there is none, and what was not delivered."""

from collections.abc import Iterator

from restante.running.transcript import TurnRecord
from restante.surface.leftovers import Leftovers


def ending(turn: TurnRecord) -> Iterator[str]:
    """A line for each thing there is to tell; none after a turn that was answered and left nothing."""
    left = Leftovers(turn)
    if turn.state == "stopped":
        yield left.stop_notice()
        return
    if turn.state == "interrupted":
        yield "Interrupted: the process ended before this turn did. It is not run again."
    if turn.error is not None:
        yield f"Failed: {turn.error}"
    yield from left.sentences()
