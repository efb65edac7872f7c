"""ONE PROCESS. Owns every long-lived task; holds no fact that is not also a row."""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from restante.running.agents import Hosted, build_agents
    from restante.running.clock import Clock, SystemClock
    from restante.running.config import Config, Limits, load_config
    from restante.running.platform import Platform, open_platform
    from restante.running.toolsets import Holder, ToolsetFactory

__all__ = [
    "Clock", "Config", "Holder", "Hosted", "Limits", "Platform", "SystemClock", "ToolsetFactory", "build_agents",
    "load_config", "open_platform",
]  # fmt: skip

_MODULES = {
    "agents": ("Hosted", "build_agents"),
    "clock": ("Clock", "SystemClock"),
    "config": ("Config", "Limits", "load_config"),
    "platform": ("Platform", "open_platform"),
    "toolsets": ("Holder", "ToolsetFactory"),
}


def __getattr__(name: str) -> object:
    """Load what is asked for: agents take seconds to load, and a command that only reads mail needs none."""
    for module, names in _MODULES.items():
        if name in names:
            return getattr(import_module(f"{__name__}.{module}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
