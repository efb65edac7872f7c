"""The toolsets that a configuration may name, each loaded when an agent names it."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from typing import TYPE_CHECKING, Any

from restante.running.clock import Clock

if TYPE_CHECKING:  # takes its time to load, and a configuration is read without it
    from pydantic_ai.toolsets import AbstractToolset

GROUP = "restante.toolsets"
"""The entry-point group. Each entry is a `ToolsetFactory`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Holder:
    """The agent that a toolset is built for."""

    agent: str
    """Its name."""
    folder: Path | None
    """Its folder, absolute, which is there; None when the file gives it none."""
    clock: Clock
    """The time of the platform: seconds since the epoch."""


ToolsetFactory = Callable[[Holder], "AbstractToolset[Any]"]
"""Builds a toolset for one agent, once, before any turn; its runs share it."""

_SHIPPED = "restante.running.toolsets.shipped"
_OURS = tuple(
    EntryPoint(name=name, value=f"{_SHIPPED}:{name}", group=GROUP) for name in ("asking", "files", "messaging", "time")
)


def find_toolsets() -> Mapping[str, tuple[EntryPoint, ...]]:
    """The toolsets of each name, not loaded yet: several where packages disagree, and only ours for a name of ours."""
    found: dict[str, tuple[EntryPoint, ...]] = {}
    for entry in entry_points(group=GROUP):
        known = found.get(entry.name, ())
        if all(entry.value != other.value for other in known):
            found[entry.name] = (*known, entry)
    return found | {entry.name: (entry,) for entry in _OURS}
