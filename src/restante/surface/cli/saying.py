"""What an agent is saying to the person, as it comes: whole lines are final, the last one may go on."""

from collections.abc import Iterator

from rich.console import Console
from rich.text import Text

from restante.surface.visible import visible

_ANEW = "(it begins anew)"


class Saying:
    """One text of a model."""

    def __init__(self) -> None:
        self._text = ""
        self._shown = 0
        """How many of its characters were given out as lines that are final."""
        self.whole = False
        """Nothing is added any more."""

    def add(self, piece: str) -> None:
        """More of it has come."""
        self._text += piece

    def begin_anew(self) -> Text | None:
        """What came so far does not count; a line that says so where some of it was shown."""
        shown, self._shown, self._text = self._shown, 0, ""
        return Text(_ANEW, "dim") if shown else None

    def end(self, text: str) -> Text | None:
        """This is the whole text; a line that says so where something else was shown."""
        anew = None if text.startswith(self._text[: self._shown]) else self.begin_anew()
        self._text, self.whole = text, True
        return anew

    def is_whole(self, text: str) -> bool:
        """Whether it has come to its end as this text."""
        return self.whole and self._text == text

    def take(self) -> Iterator[Text]:
        """The lines that have become final and were not taken before."""
        end = len(self._text) if self.whole else self._text.rfind("\n")
        if end >= self._shown:
            lines = self._text[self._shown : end]
            self._shown = end + 1
            yield Text(visible(lines))

    def rest(self, width: int, height: int) -> list[Text]:
        """The last `height` lines of what is not final yet, wrapped at `width`."""
        # No more of a long text than can be seen is wrapped at each piece.
        left = visible(self._text[self._shown :][-width * (height + 1) :])
        if not left:
            return []
        console = Console(width=width)
        return list(Text(left).wrap(console, width))[-height:]
