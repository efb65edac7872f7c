"""What agents of a configuration hold: the toolsets that come with restante, and those that packages register."""

from restante.running.toolsets.registry import GROUP, Holder, ToolsetFactory, find_toolsets

__all__ = ["GROUP", "Holder", "ToolsetFactory", "find_toolsets"]
