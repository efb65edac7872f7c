"""Questions: who asked whom, what the reply was, and who waits for whom. No ring of runs may wait for each other."""

from collections.abc import Collection, Mapping
from itertools import pairwise
from typing import NamedTuple

from restante.bus.message import Message
from restante.bus.receipt import Receipt, refusal
from restante.bus.run import How, Run


class Asked(NamedTuple):
    """What has become of a question by now."""

    question_id: str
    target: str
    """The address that was asked."""
    reply_id: str | None
    """The message that answered it."""
    ended: How | None
    """How the run that was asked has ended; None while it goes on, and where the policy does not know."""
    other_mail: bool
    """Whether mail waits for the asker that answers none of its questions."""


def deadline_refusal(seconds: object, most_s: float) -> Receipt | None:
    """A refusal unless a question may wait that long: longer than not at all, and not without end."""
    if isinstance(seconds, int | float) and not isinstance(seconds, bool) and 0 < seconds <= most_s:
        return None
    return refusal("invalid_arguments", f"deadline_s is {seconds!r}; it is more than 0 and at most {most_s:g} seconds.")


class Question:
    """A message whose sender waits, or has waited, for one reply."""

    __slots__ = ("asker", "message_id", "reply_id", "target")

    def __init__(self, message_id: str, asker: Run, target: Run) -> None:
        self.message_id = message_id
        self.asker = asker
        self.target = target
        self.reply_id: str | None = None


class Wait(NamedTuple):
    """A run waits: for what only another can do, or without a target for what its mail ends as well."""

    run: Run
    target: Run | None
    question: Question | None
    """Whose reply it waits for, if it does."""


class Questions:
    """Every question of a turn, and every wait that only the other run can end: a reply, or the end of a worker."""

    def __init__(self) -> None:
        self.asked = False
        """Whether there was any question in this turn: without one, nothing can be a reply."""
        self._of_id: dict[str, Question] = {}
        self._open: dict[tuple[Run, Run], list[Question]] = {}
        """Those without a reply, by who asked whom, the oldest first."""
        self._waits: list[Wait] = []

    def ask(self, message_id: str, asker: Run, target: Run) -> None:
        """A question was accepted, and its sender waits from this moment on."""
        self.asked = True
        question = self._of_id[message_id] = Question(message_id, asker, target)
        self._open.setdefault((asker, target), []).append(question)
        self.wait(asker, target, question)

    def find(self, message_id: str, asker: Run) -> Question | None:
        """The run's own question with that id, or None."""
        question = self._of_id.get(message_id)
        return question if question and question.asker is asker else None

    def open_between(self, asker: Run, target: Run) -> Collection[Question]:
        """The questions of one run to another that have no reply, the oldest first."""
        return self._open.get((asker, target), ())

    def take_reply(self, message: Message, sender: Run, matched: Collection[Run]) -> None:
        """An accepted message answers the question that it refers to, if it comes from who was asked to who asked."""
        question = self._of_id.get(message.in_reply_to or "")
        if question and question.target is sender and question.reply_id is None and question.asker in matched:
            question.reply_id = message.message_id
            self._open[question.asker, sender].remove(question)

    def is_reply_to(self, message: Message, asker: Run) -> bool:
        """Whether a message is the reply to a question of that run."""
        question = self._of_id.get(message.in_reply_to or "")
        return question is not None and question.asker is asker and question.reply_id == message.message_id

    # Who waits for whom

    def wait(self, run: Run, target: Run | None, question: Question | None = None) -> None:
        """A run waits from now on."""
        self._waits.append(Wait(run, target, question))
        run.wait(1)

    def wait_no_more(self, run: Run, target: Run | None, question: Question | None = None) -> None:
        """One such wait is over. If there is none, nothing changes."""
        wait = Wait(run, target, question)
        if wait in self._waits:
            self._waits.remove(wait)
            run.wait(-1)

    def forget(self, run: Run) -> None:
        """The run has ended and waits for nothing any more."""
        for wait in [wait for wait in self._waits if wait.run is run]:
            self.wait_no_more(*wait)

    def waiting_for(self, target: Run) -> list[Run]:
        """The runs that wait for this one."""
        return [wait.run for wait in self._waits if wait.target is target]

    def waited_for_by(self, run: Run) -> set[Run]:
        """The runs that this one waits for. A wait for a reply that has come is as good as over."""
        waits = [wait for wait in self._waits if wait.run is run]
        return {wait.target for wait in waits if wait.target and not (wait.question and wait.question.reply_id)}

    def cycle_refusal(self, asker: Run, target: Run) -> Receipt | None:
        """A refusal, with the chain, if the one to be asked waits for the asker, directly or through others."""
        chain = self._chain(target, asker)
        if not chain:
            return None
        links = [f"{run.address} waits for {'you' if then is asker else then.address}" for run, then in pairwise(chain)]
        because = ", ".join(links) or "that is yourself"
        return refusal(
            "wait_cycle",
            f"{target.address} would never answer while you wait: {because}. Nothing was stored. Send it as a plain "
            "message instead, which waits for nothing, and go on.",
        )

    def _chain(self, start: Run, goal: Run) -> list[Run]:
        """The shortest way from one run to another along the waits, both included; empty if there is none."""
        came_from: dict[Run, Run | None] = {start: None}
        to_visit = [start]
        for run in to_visit:
            if run is goal:
                return _way(run, came_from)
            nexts = sorted(self.waited_for_by(run) - came_from.keys(), key=lambda then: then.number)
            came_from.update(dict.fromkeys(nexts, run))
            to_visit.extend(nexts)
        return []


def _way(run: Run | None, came_from: Mapping[Run, Run | None]) -> list[Run]:
    way: list[Run] = []
    while run is not None:
        way.append(run)
        run = came_from[run]
    return way[::-1]
