"""A turn as it goes, on the terminal: a line for each message, with its fate as soon as it is known."""

from collections import deque
from collections.abc import Iterator, Mapping
from typing import Any, Self, cast

from rich.console import Console, Group
from rich.live import Live
from rich.text import Text

from restante.bus.entry import JournalEntry
from restante.bus.fates import FINAL, IN_WORDS
from restante.surface.visible import visible_line

TEXT_LIMIT = 80
"""How much of a message a line shows, in characters."""

REFUSAL_LIMIT = 300
"""How much of a refusal, in characters."""

Known = tuple[str, str | None]
"""A state, and the reason where it is undelivered."""

SIGNS = {"accepted": "○", "claimed": "◐", "delivered": "✓", "undelivered": "✗", "carried": "→"}
_STYLES = {"accepted": "dim", "claimed": "cyan", "delivered": "green", "undelivered": "red", "carried": "yellow"}


_REFUSED = {"send_message": ("refused:", "to"), "spawn": ("spawn", "agent")}
"""What a result that is an error means for people, by the tool, and the argument that says who was meant."""


class MessageLine:
    """One message and what has become of it, for each address that it is owed to."""

    def __init__(self, facts: Mapping[str, Any]) -> None:
        self._facts = facts
        self._matched = [str(address) for address, _ in facts["matched"]]
        # Where the policy does not know who is alive, the message is owed once, to whoever reads it first.
        owed = self._matched if all(state for _, state in facts["matched"]) else []
        self._fates: dict[str | None, Known] = dict.fromkeys(owed or (None,), ("accepted", None))
        self._readers: list[str] = []

    def take(self, entry: JournalEntry) -> None:
        """Take a delivery or a fate of this message."""
        facts = entry.facts
        if entry.kind == "delivery":
            owed = entry.address if entry.address in self._fates else None
            if self._fates.get(owed) == ("accepted", None):
                self._fates[owed] = ("claimed", None)
        elif facts["obliged"]:
            address = cast("str | None", facts["address"])
            if address not in self._fates:
                self._fates.pop(None, None)  # the person's words, which the entry agent alone is owed
            self._fates[address] = (str(facts["state"]), cast("str | None", facts["reason"]))
        elif facts["state"] == "delivered":
            self._readers.append(str(facts["address"]))

    @property
    def settled(self) -> bool:
        """Whether all that it is owed to has its fate. The person's words may be owed to one more until the end."""
        return self._facts["origin"] != "person" and all(state in FINAL for state, _ in self._fates.values())

    def text(self, width: int | None = None) -> Text:
        """Sender, arrow, addresses, the beginning of the text, and the fates; the text gives way to a `width`."""
        line = Text(visible_line(str(self._facts["sender"])), "bold")
        line.append(" -> ", "not bold dim")
        line.append(visible_line(", ".join(self._matched) or str(self._facts["to"])))
        line.append(": ", "not bold")
        words = Text(visible_line(str(self._facts["text"]), TEXT_LIMIT), "not bold")
        fates = Text("  ").append_text(Text("; ").join(self._known()))
        if width is not None:
            words.truncate(max(0, width - line.cell_len - fates.cell_len), overflow="ellipsis")
        line.append_text(words).append_text(fates)
        line.truncate(width or line.cell_len, overflow="ellipsis")
        return line

    def _known(self) -> Iterator[Text]:
        """One fate for all if it is the same, else one for each address."""
        if len(set(self._fates.values())) == 1:
            state, reason = next(iter(self._fates.values()))
            readers = f" to {', '.join(self._readers)}" if self._readers and state == "delivered" else ""
            yield _fate(state, reason, readers)
            return
        for address, (state, reason) in self._fates.items():
            yield _fate(state, reason, f" for {address}" if address else "")


class LiveView:
    """Prints what happens in a turn while it goes on: on a terminal in place, elsewhere each line once it is settled.

    The order is that of sending; sends and spawns that came to nothing have their place, too. Use it as a context
    manager; leaving it prints what is left.
    """

    def __init__(self, console: Console) -> None:
        self._console = console
        self._calls: dict[tuple[str | None, str], Mapping[str, Any]] = {}
        self._live = Live(console=console, auto_refresh=False, transient=True) if console.is_terminal else None
        self._lines: deque[MessageLine | Text] = deque()
        self._of_id: dict[str, MessageLine] = {}

    def __enter__(self) -> Self:
        if self._live:
            self._live.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self._live:
            self._live.stop()
        while self._lines:
            self._print(self._lines.popleft())

    def take(self, entry: JournalEntry) -> None:
        """Show an entry of the journal, if it is one that people see live."""
        facts = entry.facts
        if entry.kind == "message":
            line = self._of_id[str(facts["message_id"])] = MessageLine(facts)
            self._lines.append(line)
        elif entry.kind in ("delivery", "fate") and (known := self._of_id.get(str(facts["message_id"]))):
            known.take(entry)
        elif entry.kind == "spawn":
            started = f"+ {facts['address']} starts: {visible_line(str(facts['task']), TEXT_LIMIT)}"
            self._lines.append(Text(visible_line(started), "dim"))
        elif entry.kind == "tool_call" and facts["tool"] in _REFUSED:
            self._calls[entry.address, str(facts["tool_call_id"])] = cast("Mapping[str, Any]", facts["args"])
        elif entry.kind == "tool_result" and facts["outcome"] == "error":
            self._take_refusal(entry)
        else:
            return
        self._refresh()

    def _take_refusal(self, entry: JournalEntry) -> None:
        """A message that was not stored, or a worker that has failed or never started."""
        tool = str(entry.facts["tool"])
        args = self._calls.get((entry.address, str(entry.facts["tool_call_id"])))
        if args is not None:
            named, whom = _REFUSED[tool]
            reason = str(entry.facts["text"]).partition("\n")[0].removesuffix(":")
            said = f"{SIGNS['undelivered']} {named} {entry.address} -> {args.get(whom, '?')}: {reason}"
            self._lines.append(Text(visible_line(said, REFUSAL_LIMIT), "yellow"))

    def _refresh(self) -> None:
        while self._lines and (isinstance(self._lines[0], Text) or self._lines[0].settled):
            self._print(self._lines.popleft())
        if self._live:
            width = self._console.width
            texts = (line if isinstance(line, Text) else line.text(width) for line in self._lines)
            self._live.update(Group(*texts), refresh=True)

    def _print(self, line: MessageLine | Text) -> None:
        self._console.print(line if isinstance(line, Text) else line.text(), soft_wrap=True)


def _fate(state: str, reason: str | None, whom: str) -> Text:
    word = "becomes the next turn" if state == "carried" else state
    why = f": {IN_WORDS[reason]}" if reason else ""
    return Text(visible_line(f"{SIGNS[state]} {word}{whom}{why}"), f"not bold {_STYLES[state]}")
