"""Whom a selector means."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from restante.bus.run import Run


@dataclass(frozen=True, slots=True)
class Match:
    """Whom a selector means at one moment, in the order of opening."""

    reading: Sequence["Run"]
    not_reached: Sequence["Run"]
    """They match, and read no more."""
