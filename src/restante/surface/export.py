"""A chat as Markdown, made from its stored journal and from nothing else."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from restante.bus.entry import JournalEntry
from restante.bus.message import Message
from restante.running.transcript import Transcript, TurnRecord
from restante.surface.leftovers import Leftovers
from restante.surface.markdown import Block, Shown, apart, code, fence, lead, quote
from restante.surface.signs import in_short, said_by, sign_of

SHOWN_LIMIT = 2_000
"""How much of each text a plain export shows, in code points."""

_ENDS = {
    "queued": "**Waiting:** this turn has not started.",
    "running": "**Running:** this turn has not ended.",
    "stopped": "**Stopped:** the person stopped this turn.",
    "interrupted": "**Interrupted:** the process ended before this turn did. It is not run again.",
}


def export_chat(chat: Transcript, *, full: bool = False) -> str:
    """The chat in Markdown. A plain export says what it shortened and by how much; a full one shortens nothing."""
    shown = Shown(None if full else SHOWN_LIMIT)
    title = [f"# Chat with {chat.agent}"]
    facts = [f"{code(chat.chat_id)}, begun {chat.created_at}"]
    named = [] if chat.title is None else lead("**Title:**", chat.title, shown)
    turns = [[f"## Turn {number}"] for number in range(1, len(chat.turns) + 1)]
    blocks = [title, named, facts]
    for heading, turn in zip(turns, chat.turns, strict=True):
        blocks += [heading, *TurnExport(turn, shown).blocks()]
    return "\n".join(apart(blocks)) + "\n"


class TurnExport:
    """One turn as blocks: what began it, what its runs did, the answer, and what was not delivered."""

    def __init__(self, turn: TurnRecord, shown: Shown) -> None:
        self._turn = turn
        self._shown = shown
        self._of_run: dict[str, list[JournalEntry]] = {}
        self._results: dict[tuple[str, str], list[JournalEntry]] = {}
        self._messages: dict[str, JournalEntry] = {}
        self._workers: list[str] = []
        self._entry: str | None = None
        for entry in turn.entries:
            self._take(entry)

    def _take(self, entry: JournalEntry) -> None:
        if entry.kind == "message":
            self._messages[str(entry.facts["message_id"])] = entry
        if entry.address is None:
            return
        self._of_run.setdefault(entry.address, []).append(entry)
        if entry.kind == "run_opened" and entry.facts["entry"]:
            self._entry = entry.address
        elif entry.kind == "run_opened":
            self._workers.append(entry.address)
        elif entry.kind == "tool_result":
            self._results.setdefault((entry.address, str(entry.facts["tool_call_id"])), []).append(entry)

    def blocks(self) -> Iterator[Block]:
        """The blocks in the order in which they are read."""
        for message in self._turn.cause:
            yield self._cause(message)
        spawned = {str(entry.facts["address"]) for entry in self._turn.entries if entry.kind == "spawn"}
        if self._entry:
            yield from self._run(self._entry)
        for worker in self._workers:
            if worker not in spawned:
                yield from self._card(worker, None)
        yield from self._end()

    def _cause(self, message: Message) -> Block:
        if message.origin == "person":
            return lead("**Person:**", message.text, self._shown)
        return lead(f"**Message:** {_marker(message.sender)}", message.text, self._shown)

    def _run(self, address: str) -> Iterator[Block]:
        entries = self._of_run.get(address, [])
        for place, entry in enumerate(entries):
            if entry.kind == "spawn":
                background = bool(entry.facts.get("background"))
                yield from self._card(str(entry.facts["address"]), str(entry.facts["task"]), background=background)
            elif entry.kind == "delivery":
                yield self._delivery(entry)
            elif entry.kind == "tool_call":
                yield self._tool_call(entry)
            elif self._comes_at_the_end(address, entries[place:]):
                continue
            elif block_of := _BLOCKS.get(entry.kind):
                yield block_of(entry, self._shown)

    def _delivery(self, entry: JournalEntry) -> Block:
        facts = entry.facts
        sign = "**Message (mid-turn):**"
        if facts["origin"] != "person":
            message = self._messages.get(str(facts["message_id"]), entry)
            sign = f"{sign} {_marker(facts['sender'], replayed=facts['replayed'])}{sign_of(message.facts)}"
        return lead(sign, str(facts["text"]), self._shown)

    def _card(self, worker: str, task: str | None, *, background: bool = False) -> Iterator[Block]:
        heading = f"**Sub-agent ({worker}){' in the background' if background else ''}:**"
        answer = self._answer_of(worker)
        yield [heading] if task is None else lead(heading, task, self._shown)
        ends = [] if answer is None else lead("**Answer:**", answer, self._shown)
        yield quote(apart([*self._run(worker), ends]))

    def _tool_call(self, call: JournalEntry) -> Block:
        result = self._result_of(call)
        return apart(
            [
                [f"**Tool call: {code(str(call.facts['tool']))}**"],
                fence(self._shown.json(call.facts["args"]), "json"),
                ["*not finished*"] if result is None else fence(self._shown.marked(str(result["text"]))),
                ["*not executed*"] if result and result["outcome"] == "not_executed" else [],
            ]
        )

    def _result_of(self, call: JournalEntry) -> Mapping[str, Any] | None:
        """The first result under its id that came after it: there are models that use an id again."""
        results = self._results.get((call.address or "", str(call.facts["tool_call_id"])), [])
        return next((result.facts for result in results if result.number > call.number), None)

    def _comes_at_the_end(self, address: str, rest: Sequence[JournalEntry]) -> bool:
        """Whether the first of these is shown there: the answer of a run, or why the turn failed."""
        kind, text = rest[0].kind, rest[0].facts.get("text")
        if kind == "run_failed":
            return address == self._entry and self._turn.error is not None
        goes_on = any(later.kind in ("model_text", "tool_call") for later in rest[1:])
        return kind == "model_text" and not goes_on and text == self._answer_of(address)

    def _answer_of(self, address: str | None) -> str | None:
        """What the run answered; of the entry agent what the turn has as its answer."""
        if address == self._entry and self._turn.answer is not None:
            return self._turn.answer
        answers = [str(entry.facts["text"]) for entry in self._of_run.get(address or "", ()) if entry.kind == "answer"]
        return answers[-1] if answers else None

    def _end(self) -> Iterator[Block]:
        answer = self._answer_of(self._entry)
        if answer is not None:
            yield lead("**Answer:**", answer, self._shown)
        if self._turn.state in _ENDS:
            yield [_ENDS[self._turn.state]]
        if self._turn.error is not None:
            yield lead("**Failed:**", self._turn.error, self._shown)
        yield from (_grace(entry) for entry in self._turn.entries if entry.kind == "grace")
        left = Leftovers(self._turn)
        for message in left.waiting():
            yield quote(lead(f"**Not read yet:** {_who_to_whom(message)}", str(message.facts["text"]), self._shown))
        for before, text, after in left.undelivered():
            yield quote(lead(f"**Undelivered:** {before}", text, self._shown, after))
        for text in left.carried():
            yield quote(lead("**Not read, and so the next turn:**", text, self._shown))


def _marker(sender: object, *, replayed: object = False) -> str:
    return f"[message from {sender}{', sent before you started' if replayed else ''}]"


def _who_to_whom(message: JournalEntry) -> str:
    return f"{message.facts['sender']} -> {message.facts['to']}{sign_of(message.facts)}:"


def _grace(entry: JournalEntry) -> Block:
    facts: Mapping[str, Any] = entry.facts
    return [f"*In the background there went on, with {facts['seconds']:g} s left: {', '.join(facts['workers'])}*"]


def _asked(entry: JournalEntry, shown: Shown) -> Block:
    del shown
    facts = entry.facts
    return [f"**Waits for a yes:** {code(str(facts['tool']))} with {code(in_short(facts['args']))}"]


def _verdict(entry: JournalEntry, shown: Shown) -> Block:
    facts = entry.facts
    words = f"**{'Allowed' if facts['allowed'] else 'Refused'}:** {code(str(facts['tool']))}, {said_by(facts)}"
    return [f"{words}."] if facts["reason"] is None else lead(f"{words}:", str(facts["reason"]), shown)


def _round(entry: JournalEntry, shown: Shown) -> Block:
    del shown
    return [f"*Round {int(str(entry.facts['call'])) + 1}*"]


def _wrap_up(entry: JournalEntry, shown: Shown) -> Block:
    del entry, shown
    return ["*Wrap-up: the rounds are used up, and this call has no tools*"]


def _extra_round(entry: JournalEntry, shown: Shown) -> Block:
    return lead("**One more round:**", str(entry.facts["text"]), shown)


def _nudge(entry: JournalEntry, shown: Shown) -> Block:
    return lead("**The loop asks again:**", str(entry.facts["text"]), shown)


def _model_text(entry: JournalEntry, shown: Shown) -> Block:
    return lead(f"**{entry.address}:**", str(entry.facts["text"]), shown)


def _run_failed(entry: JournalEntry, shown: Shown) -> Block:
    return lead("**Failed:**", str(entry.facts["error"]), shown)


def _run_closed(entry: JournalEntry, shown: Shown) -> Block:
    how = str(entry.facts["how"])
    return [] if how in ("answered", "error") else lead("**Ended:**", _HOW[how], shown)


_HOW = {
    "wrap-up": "its rounds were used up, so that its answer may be incomplete.",
    "cancelled": "it was cancelled.",
    "stopped": "the person stopped the turn.",
}
_BLOCKS: Mapping[str, Callable[[JournalEntry, Shown], Block]] = {
    "round": _round,
    "nudge": _nudge,
    "wrap_up": _wrap_up,
    "extra_round": _extra_round,
    "approval_asked": _asked,
    "approval": _verdict,
    "model_text": _model_text,
    "run_failed": _run_failed,
    "run_closed": _run_closed,
}
"""What an entry of a run looks like. Other kinds are shown by what they belong to, or not at all."""
