"""Addresses and selectors: what a run is called, whom a message is for, and who matches."""

from collections.abc import Sequence

from restante.bus.message import EVERYONE
from restante.bus.run import Run
from restante.names import folded, is_name

THREE_FORMS = "an exact address such as 'researcher#2', a label such as 'researcher', or 'everyone'"


class Directory:
    """Every run that has opened a reader, by address and by label. Addresses are minted here and nowhere else.

    `live`: whether the policy knows who is alive.
    """

    def __init__(self, *, live: bool) -> None:
        self._live = live
        self.runs: list[Run] = []
        self.entry = Run("", live=live)
        """The entry agent's: it may be owed words before it opens."""
        self._by_address: dict[str, Run] = {}
        self._by_label: dict[str, list[Run]] = {}
        self.meant: dict[str, Sequence[Run]] = {EVERYONE: self.runs}
        """The runs by every selector that means one, whether they still read or not. Spelled wrong, it means nobody."""
        self._ordinals: dict[str, int] = {}

    def mint(self, label: str) -> Run:
        """A new run, with the next ordinal of its label. No address is given twice."""
        ordinal = self._ordinals[label] = self._ordinals.get(label, 0) + 1
        return self._enter(Run(label, live=self._live), f"{label}#{ordinal}")

    def enter_entry(self, label: str) -> Run:
        """The entry agent's run, which takes its label as its address when it first opens."""
        if not self.entry.number:
            self.entry.label = label
            self._enter(self.entry, label)
        return self.entry

    def find(self, address: str | None) -> Run | None:
        """The run with that exact address, or None."""
        return self._by_address.get(address) if address else None

    def label_of(self, selector: str) -> str:
        """The label in an address or a label."""
        return selector.partition("#")[0]

    def near(self, selector: str) -> str | None:
        """The exact spelling that would match what was probably meant, if there is one."""
        bare = selector.strip("'\"[]()@ \t\r\n").casefold()
        return next((spelling for spelling in self.meant if folded(spelling) == bare), None)

    def _enter(self, run: Run, address: str) -> Run:
        self.runs.append(run)
        run.mint(address, len(self.runs))
        self._by_address[address] = run
        self.meant[address] = (run,)
        # The entry agent's address is its label as well.
        alike = self.meant[run.label] = self._by_label.setdefault(run.label, [])
        alike.append(run)
        return run


def is_selector(text: str) -> bool:
    """Whether a text has one of the three forms. It may still match nobody."""
    label, hash_sign, ordinal = text.partition("#")
    if not hash_sign:
        return is_name(label) or folded(label) in _LIKE_NAMES
    return is_name(label) and is_ordinal(ordinal)


def is_ordinal(text: str) -> bool:
    """Whether a text is what stands after the `#` of an address: a number from 1, in decimal digits."""
    return text.isascii() and text.isdigit() and not text.startswith("0")


_LIKE_NAMES = frozenset({"everyone", "user", "person", "system", "bus"})
