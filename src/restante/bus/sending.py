"""Whether a message is accepted, and for whom: the checks of a send, in the one order that gives its code."""

from collections.abc import Callable
from typing import NamedTuple

from restante.bus.address import THREE_FORMS, Directory, Match, is_selector
from restante.bus.message import EVERYONE, PERSON
from restante.bus.policy import BusPolicy
from restante.bus.receipt import Receipt, refusal
from restante.bus.roster import Line, reachable_text
from restante.bus.run import Run
from restante.texts import Origin


class Sending(NamedTuple):
    """What somebody wants to send. `run` is the run that sends; None for the person and for external senders."""

    run: Run | None
    sender: str
    origin: Origin
    to: str
    text: str
    message_id: str | None = None
    """Of an external message, which brings its own."""
    in_reply_to: str | None = None
    token: str | None = None
    reply_address: str | None = None


class Gate:
    """Decides about sends under one policy, and counts what its limits count. It stores nothing."""

    def __init__(
        self, policy: BusPolicy, directory: Directory, known: frozenset[str], roster: Callable[[], tuple[Line, ...]]
    ) -> None:
        self._policy = policy
        self._directory = directory
        self._known = known
        self._liveness = policy.liveness
        self._roster = roster
        self._broadcasts = 0
        self._pairs: dict[tuple[str, str], int] = {}

    def misspelled(self, sending: Sending) -> Receipt | None:
        """A refusal if the selector has none of the three forms."""
        if is_selector(sending.to):
            return None
        words = f"{sending.to!r} is no address. Write {THREE_FORMS}.{self._what_works(sending)}"
        return refusal("invalid_arguments", words)

    def match(self, sending: Sending, matching: list[Run]) -> Match | Receipt:
        """Who would get it of those that the selector means, or a refusal."""
        if not matching and sending.to != EVERYONE:
            return self._matches_nobody(sending)
        match = self._split(matching, sending.run)
        if not match.reading and sending.to != EVERYONE:
            return _nobody_reads(sending, match, self._roster())
        return self._within_limits(sending, match) or match

    def count(self, sending: Sending, match: Match) -> None:
        """An accepted message of an agent counts towards the limits."""
        if sending.origin != "agent":
            return
        if sending.to == EVERYONE:
            self._broadcasts += 1
        elif self._policy.pair_messages is not None:
            for run in match.reading:
                pair = _pair(sending.sender, run.address)
                self._pairs[pair] = self._pairs.get(pair, 0) + 1

    def _split(self, matching: list[Run], sender: Run | None) -> Match:
        if not self._liveness:
            return Match(matching.copy(), [])
        reading = [run for run in matching if run.reads and run is not sender]
        if len(reading) == len(matching):
            return Match(reading, [])
        return Match(reading, [run for run in matching if not run.reads and run is not sender])

    def _matches_nobody(self, sending: Sending) -> Receipt:
        words = f"No run of this turn answers to {sending.to!r}."
        if self._directory.label_of(sending.to) in self._known:
            words += " The name is known, and no such run of it has opened a reader."
        elif sending.to in (PERSON, "user"):
            words += " The person reads your answer and is never an addressee."
        return refusal("not_found", words + self._what_works(sending))

    def _what_works(self, sending: Sending) -> str:
        near = self._directory.near(sending.to)
        hint = f" Write exactly {near!r}." if near else ""
        return f"{hint} {reachable_text(self._roster(), sending.sender)}"

    def _within_limits(self, sending: Sending, match: Match) -> Receipt | None:
        if sending.origin != "agent":
            return None
        limit = self._policy.broadcasts
        if sending.to == EVERYONE:
            if limit is None or self._broadcasts < limit:
                return None
            return refusal(
                "rate_limited",
                f"The limit of {limit} messages of agents to everyone is used up: this turn had {self._broadcasts}. "
                "Write to single addresses.",
            )
        return self._pair_refusal(sending, match)

    def _pair_refusal(self, sending: Sending, match: Match) -> Receipt | None:
        limit = self._policy.pair_messages
        if limit is None:
            return None
        for run in match.reading:
            count = self._pairs.get(_pair(sending.sender, run.address), 0)
            if count >= limit:
                return refusal(
                    "rate_limited",
                    f"The limit of {limit} messages between {sending.sender} and {run.address} is used up: they had "
                    f"{count} in this turn, both directions counted. Nothing was sent to anybody.",
                )
        return None


def _nobody_reads(sending: Sending, match: Match, lines: tuple[Line, ...]) -> Receipt:
    reachable = reachable_text(lines, sending.sender)
    if not match.not_reached:
        own = f"{sending.to!r} is your own address" if sending.run else "You are the only one there"
        if sending.run and sending.to != sending.run.address:
            own = f"{sending.to!r} means only yourself, {sending.run.address}"
        return refusal("self_send", f"{own}. {reachable}")
    finished = {run.address for run in match.not_reached}
    named = ", ".join(line.in_words() for line in lines if line.address in finished)
    return refusal("recipient_finished", f"No further round will come of {named}. Nothing was stored. {reachable}")


def _pair(one: str, other: str) -> tuple[str, str]:
    return (one, other) if one <= other else (other, one)
