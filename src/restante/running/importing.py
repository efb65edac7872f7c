"""What a configuration names by import path: an agent that exists already, and what its tools depend on."""

import importlib
import sys
from pathlib import Path
from types import ModuleType
from typing import Any, cast

from pydantic_ai import Agent

from restante.running.toml_table import nearest


class NotImported(Exception):
    """Why an import path gives nothing usable, and what would have worked."""


def import_agent(path: str, folder: Path) -> Agent[Any, Any]:
    """The agent at `module:attribute`. `folder` is looked in after everything that is installed.

    Raises `NotImported`.
    """
    module = _module(path, folder)
    found = _attribute(module, path)
    if not isinstance(found, Agent):
        kind = type(found).__name__
        raise NotImported(f"{path} is a {kind} and no Pydantic AI agent.{_agents_of(module)}")
    agent = cast("Agent[Any, Any]", found)
    if agent.model is None:
        raise NotImported(f"{path} has no model. Give it one where it is made: Agent('openai:gpt-5', ...).")
    return agent


def import_value(path: str, folder: Path) -> object:
    """Whatever stands at `module:attribute`. Raises `NotImported`."""
    return _attribute(_module(path, folder), path)


def _module(path: str, folder: Path) -> ModuleType:
    name = path.partition(":")[0]
    if str(folder) not in sys.path:
        # For good, since a module may import its neighbours as late as it likes.
        sys.path.append(str(folder))
    importlib.invalidate_caches()
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name and (name == error.name or name.startswith(f"{error.name}.")):
            raise NotImported(
                f"there is no module {error.name!r}: neither installed, nor in {folder}, where this file is"
            ) from error
        raise NotImported(f"{name} cannot be imported: {error}. Is it installed?") from error
    except (Exception, SystemExit) as error:
        raise NotImported(f"{name} cannot be imported: {type(error).__name__}: {error}") from error


def _attribute(module: ModuleType, path: str) -> object:
    found: object = module
    for part in path.partition(":")[2].split("."):
        try:
            found = getattr(found, part)
        except AttributeError as error:
            raise NotImported(f"{path}: there is no {part!r}.{_agents_of(module, part)}") from error
    return found


def _agents_of(module: ModuleType, meant: str | None = None) -> str:
    """Which agents the module has: the nearest one first."""
    names = [name for name, value in vars(module).items() if isinstance(value, Agent)]
    if not names:
        return f" {module.__name__} has no agents at its top."
    first = nearest(meant, names) if meant else names[0]
    rest = [name for name in names if name != first]
    return f" The agents of {module.__name__} are: {', '.join([first, *rest])}."
