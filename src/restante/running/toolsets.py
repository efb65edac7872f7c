"""What a configuration may name and installed packages bring: toolsets, and what plays a script."""

from collections.abc import Mapping
from importlib.metadata import EntryPoint, entry_points

GROUP = "restante.toolsets"
"""The entry-point group. Each entry is a callable without arguments that returns a Pydantic AI toolset."""

_OURS = (EntryPoint(name="messaging", value="restante.turn:messaging_tools", group=GROUP),)

SCRIPTS = EntryPoint(name="scripted", value="restante.testing:load_script", group="restante.models")
"""What makes models of a script. By its path, since `testing` imports everything and nothing imports `testing`."""


def find_toolsets() -> Mapping[str, EntryPoint]:
    """Every toolset by its name, not loaded yet. A package cannot take over a name of ours."""
    registered = {entry.name: entry for entry in entry_points(group=GROUP)}
    return registered | {entry.name: entry for entry in _OURS}
