"""An agent that exists already, with what a configuration gives it beside its own."""

from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from typing import Any

from pydantic_ai.agent import AbstractAgent, WrapperAgent
from pydantic_ai.run import AgentRun
from pydantic_ai.toolsets import AbstractToolset

Toolsets = Sequence[AbstractToolset[Any]]


class EquippedAgent(WrapperAgent[Any, Any]):
    """Runs the agent as it is, with further toolsets and with `deps` of its own, whoever starts it."""

    def __init__(self, wrapped: AbstractAgent[Any, Any], toolsets: Toolsets, deps: object = None) -> None:
        super().__init__(wrapped)
        self._more = tuple(toolsets)
        self._deps = deps

    @property
    def toolsets(self) -> Toolsets:
        """What it holds itself, and what it is given."""
        return [*self.wrapped.toolsets, *self._more]

    @asynccontextmanager
    async def iter(self, *args: Any, **options: Any) -> AsyncGenerator[AgentRun[Any, Any]]:  # pyright: ignore[reportIncompatibleMethodOverride]
        """Every way to run an agent comes through here."""
        given: Toolsets = options.pop("toolsets", None) or ()
        if self._deps is not None:
            options["deps"] = self._deps
        async with self.wrapped.iter(*args, toolsets=[*self._more, *given], **options) as run:
            yield run
