"""What the runs of a turn used, where the provider tells: tokens, and what they cost."""

from collections.abc import Sequence
from typing import Any, NamedTuple

from restante.bus.entry import JournalEntry

_CENT = 0.01


class Used(NamedTuple):
    """What one run used, or several together."""

    runs: tuple[str, ...]
    """Their addresses."""
    requests: int
    input_tokens: int
    output_tokens: int
    cost_usd: float | None
    """None where nothing tells the price."""

    def in_words(self) -> str:
        """Tokens in and out, and the cost where it is known."""
        tokens = f"{self.input_tokens:,} tokens in, {self.output_tokens:,} out"
        return tokens if self.cost_usd is None else f"{tokens}, {_dollars(self.cost_usd)}"


def used_by_each(entries: Sequence[JournalEntry]) -> list[Used]:
    """What each run used that has ended, in the order in which they ended; none of which no provider tells tokens."""
    used = [_used(str(entry.address), entry.facts) for entry in entries if entry.kind == "usage"]
    return [one for one in used if one.input_tokens or one.output_tokens]


def used_in_all(entries: Sequence[JournalEntry]) -> Used | None:
    """What they used together; None where no provider tells."""
    each = used_by_each(entries)
    if not each:
        return None
    costs = [one.cost_usd for one in each if one.cost_usd is not None]
    return Used(
        runs=tuple(dict.fromkeys(address for one in each for address in one.runs)),
        requests=sum(one.requests for one in each),
        input_tokens=sum(one.input_tokens for one in each),
        output_tokens=sum(one.output_tokens for one in each),
        # A sum without the runs of unknown price would pass for the whole.
        cost_usd=sum(costs) if len(costs) == len(each) else None,
    )


def _used(address: str, facts: Any) -> Used:
    return Used((address,), facts["requests"], facts["input_tokens"], facts["output_tokens"], facts["cost_usd"])


def _dollars(cost: float) -> str:
    return f"${cost:,.2f}" if cost >= _CENT else f"${cost:.4f}"
