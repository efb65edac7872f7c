"""The toolsets that come with restante, as the registry names them."""

from typing import Any

from pydantic_ai.toolsets import AbstractToolset

from restante.running.toolsets.file_tools import file_tools
from restante.running.toolsets.folder import Folder
from restante.running.toolsets.registry import Holder
from restante.running.toolsets.time_tools import time_tools
from restante.turn import asking_tools, messaging_tools


def asking(holder: Holder) -> AbstractToolset[Any]:
    """`ask` and `await_reply`."""
    del holder  # who asks is the run that calls
    return asking_tools()


def files(holder: Holder) -> AbstractToolset[Any]:
    """`list_files`, `read_file` and `write_file` inside the agent's folder. Raises ValueError when it has none."""
    if holder.folder is None:
        raise ValueError(f"agent {holder.agent!r} has no folder")
    return file_tools(Folder(holder.folder))


def messaging(holder: Holder) -> AbstractToolset[Any]:
    """`send_message` and `list_agents`."""
    del holder  # who sends is the run that calls
    return messaging_tools()


def time(holder: Holder) -> AbstractToolset[Any]:
    """`current_time`."""
    return time_tools(holder.clock)
