"""Whether a message is accepted, and for whom: the checks of a send, in the one order that gives its code."""

from collections.abc import Callable, Sequence

from restante.bus.address import THREE_FORMS, Directory, is_selector
from restante.bus.match import Match
from restante.bus.message import EVERYONE, PERSON, Message
from restante.bus.policy import BusPolicy
from restante.bus.questions import Questions
from restante.bus.receipt import Receipt, refusal
from restante.bus.roster import Line, roster_for_refusal
from restante.bus.run import Run


class Gate:
    """Decides about sends under one policy, and counts what its limits count. It stores nothing."""

    def __init__(
        self,
        policy: BusPolicy,
        directory: Directory,
        questions: Questions,
        known: frozenset[str],
        roster: Callable[[], tuple[Line, ...]],
    ) -> None:
        self._policy = policy
        self._questions = questions
        self._directory = directory
        self._known = known
        self._liveness = policy.liveness
        self.unlimited = policy.broadcasts is None and policy.pair_messages is None
        self._roster = roster
        self._broadcasts = 0
        self._pairs: dict[tuple[str, str], int] = {}

    def misspelled(self, message: Message) -> Receipt | None:
        """A refusal if the selector has none of the three forms."""
        if is_selector(message.to):
            return None
        words = f"{message.to!r} is no address. Write {THREE_FORMS}.{self._what_works(message)}"
        return refusal("invalid_arguments", words)

    def match(
        self, message: Message, sender: Run | None, matching: Sequence[Run], deadline_s: float | None = None
    ) -> Match | Receipt:
        """Who would get it of those that the selector means, or a refusal. With `deadline_s`, a question, it is one."""
        if len(matching) == 1 and (run := matching[0]).reads and run is not sender:
            match = run.alone
        else:
            match = self._split(matching, sender)
        if not match.reading and message.to != EVERYONE:
            return _nobody_reads(message, sender, match, self._roster()) if matching else self._matches_nobody(message)
        if deadline_s is not None and sender and (unfit := self._unfit_question(message, sender, match)):
            return unfit
        return match if self.unlimited else self._within_limits(message, match) or match

    def _unfit_question(self, message: Message, asker: Run, match: Match) -> Receipt | None:
        if message.to != EVERYONE and len(match.reading) == 1:
            return self._questions.cycle_refusal(asker, match.reading[0])
        choices = ", ".join(run.address for run in match.reading) or "nobody else reads now"
        words = f"A question goes to one address, and {message.to!r} may mean several. Ask one of them: {choices}."
        return refusal("ambiguous_target", words)

    def count(self, message: Message, match: Match) -> None:
        """Count an accepted message of an agent: those of nobody else count towards the limits."""
        if message.to == EVERYONE:
            self._broadcasts += 1
        elif self._policy.pair_messages is not None:
            for run in match.reading:
                pair = _pair(message.sender, run.address)
                self._pairs[pair] = self._pairs.get(pair, 0) + 1

    def _split(self, matching: Sequence[Run], sender: Run | None) -> Match:
        if not self._liveness:
            return Match(tuple(matching), ())
        reading = tuple([run for run in matching if run.reads and run is not sender])
        if len(reading) == len(matching):
            return Match(reading, ())
        return Match(reading, tuple([run for run in matching if not run.reads and run is not sender]))

    def _matches_nobody(self, message: Message) -> Receipt:
        words = f"No run of this turn answers to {message.to!r}."
        if self._directory.label_of(message.to) in self._known:
            words += " The name is known, and no such run of it has opened a reader."
        elif message.to in (PERSON, "user"):
            words += " The person reads your answer and is never an addressee."
        return refusal("not_found", words + self._what_works(message))

    def _what_works(self, message: Message) -> str:
        near = self._directory.near(message.to)
        hint = f" Write exactly {near!r}." if near else ""
        return f"{hint} {roster_for_refusal(self._roster(), message.sender)}"

    def _within_limits(self, message: Message, match: Match) -> Receipt | None:
        if message.origin != "agent":
            return None
        limit = self._policy.broadcasts
        if message.to == EVERYONE:
            if limit is None or self._broadcasts < limit:
                return None
            return refusal(
                "rate_limited",
                f"The limit of {limit} messages of agents to everyone is used up: this turn had {self._broadcasts}. "
                "Write to single addresses.",
            )
        return self._pair_refusal(message, match)

    def _pair_refusal(self, message: Message, match: Match) -> Receipt | None:
        limit = self._policy.pair_messages
        if limit is None:
            return None
        for run in match.reading:
            count = self._pairs.get(_pair(message.sender, run.address), 0)
            if count >= limit:
                return refusal(
                    "rate_limited",
                    f"The limit of {limit} messages between {message.sender} and {run.address} is used up: they had "
                    f"{count} in this turn, both directions counted. Nothing was sent to anybody.",
                )
        return None


def _nobody_reads(message: Message, sender: Run | None, match: Match, lines: tuple[Line, ...]) -> Receipt:
    roster = roster_for_refusal(lines, message.sender)
    if not match.not_reached:
        own = f"{message.to!r} is your own address"
        if sender and message.to != sender.address:
            own = f"{message.to!r} means only yourself, {sender.address}"
        return refusal("self_send", f"{own}. {roster}")
    finished = {run.address for run in match.not_reached}
    named = ", ".join(line.in_words() for line in lines if line.address in finished)
    return refusal("recipient_finished", f"No further round will come of {named}. Nothing was stored. {roster}")


def _pair(one: str, other: str) -> tuple[str, str]:
    return (one, other) if one <= other else (other, one)
