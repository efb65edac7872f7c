"""The answer to a send: who was matched, or why nothing was stored. It promises no reading."""

from collections.abc import Sequence
from typing import NamedTuple

from restante.bus.match import Match
from restante.bus.message import Message, quick
from restante.bus.run import Named, Run


class Receipt(NamedTuple):
    """Accepted: who was matched at that moment. Refused: a code and why; then nothing was stored."""

    accepted: bool
    code: str | None
    message_id: str | None
    matched: Named
    not_reached: Named
    words: str = ""
    """A refusal, or what is to be said beside the addresses."""

    @property
    def text(self) -> str:
        """The receipt as a model or a person reads it."""
        if not self.accepted:
            return self.words
        sentences = [_accepted_for(self.matched)]
        if self.words:
            sentences.append(self.words)
        if self.not_reached:
            missed = ", ".join(_named(address, state) for address, state in self.not_reached)
            sentences.append(f"Not reached, since it reads no more: {missed}.")
        sentences.append("Accepted means stored; that anybody will read it is not promised.")
        return " ".join(sentences)


def acceptance(message: Message, match: Match) -> Receipt:
    """The receipt of a message that was stored."""
    reading = match.reading
    matched = reading[0].named if len(reading) == 1 else _named_all(reading)
    missed = _named_all(match.not_reached) if match.not_reached else ()
    words = "" if matched else _words_for_nobody(message)
    return quick(Receipt, (True, None, message.message_id, matched, missed, words))


def _named_all(runs: Sequence[Run]) -> Named:
    return tuple([run.named[0] for run in runs])


def refusal(code: str, words: str) -> Receipt:
    """A receipt that says why nothing was stored, and what would have worked."""
    return Receipt(accepted=False, code=code, message_id=None, matched=(), not_reached=(), words=words)


def _accepted_for(matched: Named) -> str:
    if not matched:
        return "Accepted."
    names = ", ".join(_named(address, state) for address, state in matched)
    return f"Accepted for {names}: {len(matched)} {'address' if len(matched) == 1 else 'addresses'}."


def _named(address: str, state: str | None) -> str:
    return address if state is None else f"{address} ({state})"


def _words_for_nobody(message: Message) -> str:
    if message.origin == "person":
        return "No run is reading now: what the entry agent does not read in this turn becomes the next one."
    return "Nobody else is reading now; runs that open later in this turn will get it."
