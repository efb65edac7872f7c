"""A turn as it goes, on the terminal: each message with its fate as soon as it is known, and what the agent says."""

from collections import deque
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Self, cast

from rich.console import Console, Group
from rich.live import Live
from rich.text import Text

from restante.bus.entry import JournalEntry
from restante.running.feed import Event, Happened, TurnEnded
from restante.running.pieces import Piece
from restante.surface.cli.approval_line import asked_line, verdict_line
from restante.surface.cli.message_line import SIGNS, TEXT_LIMIT, MessageLine
from restante.surface.cli.saying import Saying
from restante.surface.visible import visible, visible_line

REFUSAL_LIMIT = 300
"""How much of a refusal, in characters."""

_REFUSED = {"send_message": ("refused:", "to"), "ask": ("refused:", "to"), "spawn": ("spawn", "agent")}
"""What a result that is an error means for people, by the tool, and the argument that says who was meant."""
_SHOWN_LINES = 5
"""How many lines may be changing on a terminal of unknown height."""


class TurnView:
    """One turn: lines that are final, shown in order, and after them what may still change.

    The order is that of sending; sends and spawns that came to nothing have their place, too. What the entry agent says
    has its place among them, and of what it is still saying whole lines are final. Rounds of workers are not shown.
    """

    def __init__(self, show: Callable[[Text], None], whole: str = "") -> None:
        """`show` gets each final line; `whole` says how to see a message that is cut, with `{}` for its id."""
        self._show = show
        self._whole = whole
        self._calls: dict[tuple[str | None, str], Mapping[str, Any]] = {}
        self._asked: dict[tuple[str | None, str], object] = {}
        """The arguments of gated calls, by the run and the id of the call."""
        self._lines: deque[MessageLine | Saying | Text] = deque()
        self._of_id: dict[str, MessageLine] = {}
        self._entry: str | None = None
        self._saying: Saying | None = None
        self.working: dict[str, None] = {}
        """The addresses of the runs that have opened and not closed, in the order of opening."""
        self.addresses: dict[str, None] = {}
        """The addresses of all runs that have opened."""

    def take(self, event: Event) -> None:
        """Show an event of the turn, if it is one that people see."""
        if isinstance(event, Happened):
            self.take_entry(event.entry)
        elif isinstance(event, Piece) and event.address == self._entry:
            self._said(event.text)
        elif isinstance(event, TurnEnded):
            self.end(event.turn.answer)

    def take_entry(self, entry: JournalEntry) -> None:
        """Show an entry of the journal, if it is one that people see live."""
        known = self._of_id.get(str(entry.facts.get("message_id")))
        if entry.kind in ("delivery", "fate") and known:
            known.take(entry)
        elif entry.kind in ("run_opened", "run_closed"):
            self._count(entry)
        elif entry.kind in ("model_text", "answer") and entry.address == self._entry:
            self._said_whole(str(entry.facts["text"]), again=entry.kind == "answer")
        elif entry.kind == "grace":
            self._go_on(entry.facts)
        else:
            self._lines.extend(self._lines_of(entry))
        self._settle()

    def end(self, answer: str | None = None) -> None:
        """The turn has ended: show what is left, and the answer unless it was the last thing that the agent said."""
        self.working.clear()
        while self._lines:
            self._print(self._lines.popleft())
        if answer is not None and not (self._saying and self._saying.is_whole(answer)):
            self._show(Text(visible(answer)))
        self._saying = None

    def changing(self, width: int, height: int) -> list[Text]:
        """The lines that may still change, none wider than `width`: the last `height` of them."""
        found: list[Text] = []
        for line in self._lines:
            if isinstance(line, Saying):
                found += line.rest(width, height)
            else:
                found.append(line.text(width) if isinstance(line, MessageLine) else _cut(line, width))
        return found[-height:] if height > 0 else []

    def _lines_of(self, entry: JournalEntry) -> Iterator[MessageLine | Text]:
        facts = entry.facts
        if entry.kind == "message":
            line = self._of_id[str(facts["message_id"])] = MessageLine(facts, self._whole)
            yield line
        elif entry.kind == "spawn":
            how = " in the background" if facts.get("background") else ""
            started = f"+ {facts['address']} starts{how}: {visible_line(str(facts['task']), TEXT_LIMIT)}"
            yield Text(visible_line(started), "dim")
        elif entry.kind == "approval_asked":
            self._asked[entry.address, str(facts["tool_call_id"])] = facts["args"]
            yield asked_line(entry)
        elif entry.kind == "approval":
            yield verdict_line(entry, self._asked.get((entry.address, str(facts["tool_call_id"]))))
        elif entry.kind in _LOOP_SAYS and entry.address == self._entry:
            yield Text(visible_line(f"! {entry.address}: {_LOOP_SAYS[entry.kind]}"), "yellow")
        elif entry.kind == "tool_call" and facts["tool"] in _REFUSED:
            self._calls[entry.address, str(facts["tool_call_id"])] = cast("Mapping[str, Any]", facts["args"])
        elif entry.kind == "tool_result" and facts["outcome"] == "error":
            yield from self._refusal(entry)

    def _refusal(self, entry: JournalEntry) -> Iterator[Text]:
        """A message that was not stored, or a worker that has failed or never started."""
        tool = str(entry.facts["tool"])
        args = self._calls.get((entry.address, str(entry.facts["tool_call_id"])))
        if args is not None:
            named, whom = _REFUSED[tool]
            reason = str(entry.facts["text"]).partition("\n")[0].removesuffix(":")
            said = f"{SIGNS['undelivered']} {named} {entry.address} -> {args.get(whom, '?')}: {reason}"
            yield Text(visible_line(said, REFUSAL_LIMIT), "yellow")

    def _go_on(self, facts: Mapping[str, Any]) -> None:
        """The agent has answered for good: show that now, though mail is under way, and who works on without it."""
        under_way = deque(line for line in self._lines if not _is_settled(line))
        for line in self._lines:
            if _is_settled(line):
                self._print(line)
        self._lines = under_way
        many = len(facts["workers"]) > 1
        self._show(
            Text(
                visible_line(
                    f"{', '.join(facts['workers'])} {'go' if many else 'goes'} on in the background, with"
                    f" {facts['seconds']:g} s left; then {'they are' if many else 'it is'} cancelled."
                ),
                "cyan",
            )
        )

    def _count(self, entry: JournalEntry) -> None:
        address = str(entry.address)
        if entry.kind == "run_closed":
            self.working.pop(address, None)
            return
        self.working[address] = self.addresses[address] = None
        if entry.facts.get("entry"):
            self._entry = address

    def _said(self, piece: str) -> None:
        """The entry agent goes on saying something; an empty piece begins it, or begins it anew."""
        if not piece:
            anew = self._saying.begin_anew() if self._saying and not self._saying.whole else None
            if anew is not None:
                self._show(anew)
            return
        self._open_saying().add(piece)
        self._settle()

    def _said_whole(self, text: str, *, again: bool = False) -> None:
        if again and self._saying and self._saying.is_whole(text):
            return
        if (anew := self._open_saying().end(text)) is not None:
            self._show(anew)

    def _open_saying(self) -> Saying:
        """What the entry agent is saying, or begins to say."""
        if self._saying is None or self._saying.whole:
            self._saying = Saying()
            self._lines.append(self._saying)
        return self._saying

    def _settle(self) -> None:
        while self._lines and _is_settled(self._lines[0]):
            self._print(self._lines.popleft())
        if self._lines and isinstance(self._lines[0], Saying):
            self._print(self._lines[0])

    def _print(self, line: MessageLine | Saying | Text) -> None:
        if isinstance(line, Saying):
            for final in line.take():
                self._show(final)
        else:
            self._show(line if isinstance(line, Text) else line.text())


class LiveView:
    """Shows a turn on a console: on a terminal what may change is changed in place, elsewhere it is shown once it is
    settled. Use it as a context manager; leaving it shows what is left.
    """

    def __init__(self, console: Console) -> None:
        self._console = console
        # Lines are broken between words where people read them, and nowhere in a pipe.
        self._view = TurnView(lambda line: console.print(line, soft_wrap=not console.is_terminal))
        self._live = Live(console=console, auto_refresh=False, transient=True) if console.is_terminal else None

    def __enter__(self) -> Self:
        if self._live:
            self._live.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self._live:
            self._live.stop()
        self._view.end()

    def take(self, event: Event | JournalEntry) -> None:
        """Show what happened, if it is something that people see live."""
        if isinstance(event, JournalEntry):
            self._view.take_entry(event)
        else:
            self._view.take(event)
        if self._live:
            width, height = self._console.size
            self._live.update(Group(*self._view.changing(width, max(height - 1, _SHOWN_LINES))), refresh=True)


_LOOP_SAYS = {
    "nudge": "its answer could not be used, and it is asked again",
    "extra_round": "it has answered while others work in the background, and has one more round to see to them",
    "wrap_up": "its rounds are used up, and this is its last call, without tools",
}
"""What the loop itself says to an agent: no message, and so without the signs of one."""


def _is_settled(line: MessageLine | Saying | Text) -> bool:
    if isinstance(line, Saying):
        return line.whole
    return isinstance(line, Text) or line.settled


def _cut(line: Text, width: int) -> Text:
    line = line.copy()
    line.truncate(width, overflow="ellipsis")
    return line
