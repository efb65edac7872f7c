"""Whom a selector means."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from restante.bus.run import Run


class Match(NamedTuple):
    """Whom a selector means at one moment, in the order of opening."""

    reading: Sequence["Run"]
    not_reached: Sequence["Run"]
    """They match, and read no more."""
