"""One message on the terminal: a line with sender, addresses, the beginning of its text, and its fate."""

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any, cast

from rich.text import Text

from restante.bus.entry import JournalEntry
from restante.bus.fates import FINAL, IN_WORDS
from restante.bus.message import EVERYONE
from restante.surface.signs import sign_of
from restante.surface.visible import visible_line

TEXT_LIMIT = 80
"""How much of a message a line shows, in characters."""

IN_PLACE = "Message (mid-turn)"
"""What a delivery begins with where it is shown at its place among the rounds of the run that read it."""

_FATES_SHARE = 3
"""On a narrow terminal fates in words take at most this part of the width."""
_WORDS_LEAST = 12
"""So much of the words is left room for beside the addresses, in cells."""

Known = tuple[str, str | None]
"""A state, and the reason where it is undelivered."""

SIGNS = {"accepted": "○", "claimed": "◐", "delivered": "✓", "undelivered": "✗", "carried": "→"}
_STYLES = {"accepted": "dim", "claimed": "cyan", "delivered": "green", "undelivered": "red", "carried": "yellow"}


class MessageLine:
    """One message and what has become of it, for each address that it is owed to."""

    def __init__(self, facts: Mapping[str, Any], whole: str = "") -> None:
        """`whole` is how one sees all of a text that is cut; `{}` in it is the id of the message."""
        self._facts = facts
        self._whole = whole.format(facts["message_id"])
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
        """Whether all that it is owed to has its fate. The person's words to everyone may be owed to one more."""
        may_be_owed = self._facts["origin"] == "person" and self._facts["to"] == EVERYONE
        return not may_be_owed and all(state in FINAL for state, _ in self._fates.values())

    def text(self, width: int | None = None) -> Text:
        """Sender, arrow, addresses, the beginning of the text, and the fates; the text gives way to a `width`."""
        line = Text(visible_line(str(self._facts["sender"])), "bold")
        line.append(" -> ", "not bold dim")
        line.append(visible_line(", ".join(self._matched) or str(self._facts["to"])))
        line.append(f"{sign_of(self._facts)}: ", "not bold")
        words = Text(self._words(), "not bold")
        fates = Text("  ").append_text(Text("; ").join(self._known()))
        if width is not None and fates.cell_len > width // _FATES_SHARE:
            fates = Text("  ").append_text(Text(" ").join(self._signs()))
        if width is not None:
            left = width - fates.cell_len
            line.truncate(max(0, left - _WORDS_LEAST), overflow="ellipsis")
            words.truncate(max(0, left - line.cell_len), overflow="ellipsis")
        line.append_text(words).append_text(fates)
        line.truncate(width or line.cell_len, overflow="ellipsis")
        return line

    def _signs(self) -> Iterator[Text]:
        """The fates where there is no room for words: each sign, and for how many addresses where they differ."""
        counts = Counter(state for state, _ in self._fates.values())
        for state, count in counts.items():
            yield Text(f"{SIGNS[state]}{count if len(counts) > 1 else ''}", f"not bold {_STYLES[state]}")

    def _words(self) -> str:
        text = str(self._facts["text"])
        shown = visible_line(text, TEXT_LIMIT)
        return f"{shown[:-1]}{self._whole}]" if len(text) > TEXT_LIMIT else shown

    def _known(self) -> Iterator[Text]:
        """One fate for all if it is the same, else one for each address."""
        if len(set(self._fates.values())) == 1:
            state, reason = next(iter(self._fates.values()))
            readers = f" to {', '.join(self._readers)}" if self._readers and state == "delivered" else ""
            yield _fate(state, reason, readers)
            return
        for address, (state, reason) in self._fates.items():
            yield _fate(state, reason, f" for {address}" if address else "")


def _fate(state: str, reason: str | None, whom: str) -> Text:
    word = "becomes the next turn" if state == "carried" else state
    why = f": {IN_WORDS[reason]}" if reason else ""
    return Text(visible_line(f"{SIGNS[state]} {word}{whom}{why}"), f"not bold {_STYLES[state]}")
