"""The Pydantic AI agents of a configuration: built once, each with the toolsets and the spawn rights that it names."""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.metadata import EntryPoint
from pathlib import Path
from types import MappingProxyType
from typing import Any, cast

from pydantic_ai import Agent
from pydantic_ai.exceptions import UserError
from pydantic_ai.models import Model, infer_model
from pydantic_ai.providers import Provider, infer_provider_class
from pydantic_ai.toolsets import AbstractToolset, FunctionToolset

from restante.errors import BadConfig
from restante.running.clock import Clock, SystemClock
from restante.running.config import SCRIPTED, AgentConfig, Config, ModelConfig
from restante.running.equipped import EquippedAgent
from restante.running.importing import NotImported, import_agent, import_value
from restante.running.mcp_servers import MCP
from restante.running.toml_table import nearest
from restante.running.toolsets import Holder, find_toolsets
from restante.running.toolsets.mcp_tools import mcp_tools
from restante.turn import reviewing, spawn_tools
from restante.turn.approval import Review

AnyAgent = Agent[Any, Any]
AnyToolset = AbstractToolset[Any]

SCRIPTS = EntryPoint(name="scripted", value="restante.testing:load_script", group="restante.models")
"""What makes models of a script. By its path, since `testing` imports everything and nothing imports `testing`."""

OPENAI_CHAT = ("openai", "openai-chat")
"""Providers that, at a `base_url` of one's own, mean any server that speaks OpenAI's chat completions."""
_MCP_EXTRA = {"fastmcp", "mcp", "mcp_types"}


class NoSteps(ValueError):
    """A script has nothing to play for somebody."""


NO_KEY = "none"
"""The key that is sent to a server of one's own for which none is configured."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Hosted:
    """An agent as the platform runs it."""

    name: str
    description: str
    agent: AnyAgent
    delegates: Mapping[str, AnyAgent]
    """Whom its turns may spawn, by name."""
    rounds: int | None
    """Model calls of a run before its wrap-up; None: the policy's."""
    free_text_ask: bool
    """Whether others may write to it on the platform."""


def build_agents(config: Config, clock: Clock | None = None) -> Mapping[str, Hosted]:
    """Every agent of the configuration, by name, with tools that go by this clock; None: that of the machine.

    Makes the folders of agents that name one. Raises `BadConfig`, naming line and agent, when one cannot be built.
    """
    workshop = _Workshop(config, clock or SystemClock())
    return MappingProxyType({name: workshop.hosted(name) for name in config.agents})


def build_reviewer(config: Config) -> Review | None:
    """The reviewer of gated calls, if the configuration names a model for it. Raises `BadConfig`."""
    if config.review is None:
        return None
    model, path = config.review.model, ("review", "model")
    try:
        return reviewing(_Workshop(config, SystemClock()).model(model, "review"))
    except (UserError, ValueError, TypeError, ImportError) as error:
        raise config.error(path, f"The model {model!r} of [review] cannot be used: {error}") from error


class _Workshop:
    """Builds agents from one configuration. A script is loaded once, however many agents play from it."""

    def __init__(self, config: Config, clock: Clock) -> None:
        self._config = config
        self._clock = clock
        self._scripts: dict[str, Mapping[str, Model]] = {}
        self._workers: dict[str, AnyAgent] = {}
        self._held: dict[str, tuple[AnyToolset, ...]] = {}

    def hosted(self, name: str) -> Hosted:
        agent = self._config.agents[name]
        return Hosted(
            name=name,
            description=agent.description,
            agent=self._agent(agent, ()),
            delegates=MappingProxyType({worker: self._worker(worker) for worker in agent.delegates_to}),
            rounds=agent.rounds,
            free_text_ask=agent.free_text_ask,
        )

    def _worker(self, name: str) -> AnyAgent:
        """An agent as others spawn it: it holds its own spawn tool, where the platform gives one to an entry run."""
        if name not in self._workers:
            agent = self._config.agents[name]
            # Nobody delegates in a circle, so this ends.
            delegates = {worker: self._worker(worker) for worker in agent.delegates_to}
            self._workers[name] = self._agent(agent, (spawn_tools(delegates),) if delegates else ())
        return self._workers[name]

    def _agent(self, agent: AgentConfig, more: tuple[AnyToolset, ...]) -> AnyAgent:
        toolsets = (*self._toolsets(agent), *more)
        self._check_confirm(agent, toolsets)
        if agent.agent is not None:
            return self._imported(agent, agent.agent, toolsets)
        return Agent(
            self._model(agent),
            name=agent.name,
            instructions=agent.instructions,
            description=agent.description or None,
            toolsets=toolsets,
        )

    def _check_confirm(self, agent: AgentConfig, toolsets: tuple[AnyToolset, ...]) -> None:
        """Refuse a tool that is to need a yes and that it has not. What servers and own agents bring is not known."""
        spawning = {"spawn", "await_workers", "cancel_worker"} if agent.delegates_to else set[str]()
        known = spawning.union(*(each.tools for each in toolsets if isinstance(each, FunctionToolset)))
        servers = tuple(f"{name.removeprefix(MCP)}__" for name in agent.tools if name.startswith(MCP))
        others = sum(not isinstance(each, FunctionToolset) for each in self._toolsets(agent)) > len(servers)
        for tool in agent.confirm:
            if tool not in known and not tool.startswith(servers) and not others and agent.agent is None:
                has = f"It has: {', '.join(sorted(known))}." if known else "It has none."
                near = f" The nearest one is {nearest(tool, known)!r}." if known else ""
                raise self._bad(agent, "tools.confirm", f"it has no tool {tool!r} that could need a yes.{near} {has}")

    def _imported(self, agent: AgentConfig, path: str, toolsets: tuple[AnyToolset, ...]) -> AnyAgent:
        folder = (self._config.path or Path()).absolute().parent
        key = "agent"
        try:
            found = import_agent(path, folder)
            key = "deps"
            deps = import_value(agent.deps, folder) if agent.deps else None
        except NotImported as error:
            raise self._bad(agent, key, str(error)) from error
        # The library's classes for agents have no common name that its `Agent` and its wrappers share.
        return cast("AnyAgent", EquippedAgent(found, toolsets, deps)) if toolsets or agent.deps else found

    def _toolsets(self, agent: AgentConfig) -> tuple[AnyToolset, ...]:
        """What it holds, built once: an agent that others spawn stands there twice, with and without its spawn tool."""
        if agent.name not in self._held:
            holder = Holder(agent=agent.name, folder=self._folder(agent), clock=self._clock)
            self._held[agent.name] = tuple(self._toolset(agent, name, holder) for name in agent.tools)
        return self._held[agent.name]

    def _toolset(self, agent: AgentConfig, name: str, holder: Holder) -> AnyToolset:
        try:
            if name.startswith(MCP):
                return mcp_tools(self._config.servers[name.removeprefix(MCP)])
            (entry,) = find_toolsets()[name]
            built: object = entry.load()(holder)
        except Exception as error:
            raise self._bad(agent, "tools.available", _why_not(name, error)) from error
        if not isinstance(built, AbstractToolset):
            what = f"gives a {type(built).__name__} and no Pydantic AI toolset"
            raise self._bad(agent, "tools.available", f"the toolset {name!r} ({entry.value}) {what}")
        return cast("AnyToolset", built)

    def _folder(self, agent: AgentConfig) -> Path | None:
        if agent.folder is not None:
            try:
                agent.folder.mkdir(parents=True, exist_ok=True)
            except OSError as error:
                words = f"its folder {agent.folder} cannot be made: {error.strerror}"
                raise self._bad(agent, "folder", words) from error
        return agent.folder

    def _model(self, agent: AgentConfig) -> Model:
        model = agent.model or ""
        try:
            return self.model(model, agent.name)
        except NoSteps as error:
            raise self._bad(agent, "model", str(error)) from error
        except (UserError, ValueError, TypeError, ImportError) as error:
            raise self._bad(agent, "model", f"the model {model!r} cannot be used: {error}") from error

    def model(self, model: str, player: str) -> Model:
        """The model of this name; of a script, that which plays the steps of `player`. Raises what is wrong with it."""
        if model.startswith(SCRIPTED):
            return self._scripted(model.removeprefix(SCRIPTED), player)
        own = self._config.models.get(model)
        return _own_model(own) if own else infer_model(model)

    def _scripted(self, path: str, player: str) -> Model:
        if path not in self._scripts:
            self._scripts[path] = SCRIPTS.load()(Path(path))
        if player not in self._scripts[path]:
            raise NoSteps(f"the script {path} has no steps for it; add a list [[{player}]]")
        return self._scripts[path][player]

    def _bad(self, agent: AgentConfig, key: str, what: str) -> BadConfig:
        path = ("agents", agent.name, *key.split("."))
        return self._config.error(path, f"Agent {agent.name!r}: {what.rstrip('.')}.")


def _own_model(own: ModelConfig) -> Model:
    key = _key_of(own)
    if own.base_url is not None and own.provider in OPENAI_CHAT:
        return _openai_compatible(own, key)

    def provider_of(name: str) -> Provider[Any]:
        given = {"base_url": own.base_url, "api_key": key}
        return infer_provider_class(name)(**{field: value for field, value in given.items() if value is not None})

    return infer_model(f"{own.provider}:{own.model}", provider_of)


def _openai_compatible(own: ModelConfig, key: str | None) -> Model:
    from pydantic_ai.models.openai import OpenAIChatModel  # noqa: PLC0415 - an optional extra
    from pydantic_ai.providers.openai import OpenAIProvider  # noqa: PLC0415

    # Servers of one's own know chat completions; OpenAI's newer protocol few of them.
    return OpenAIChatModel(own.model, provider=OpenAIProvider(base_url=own.base_url, api_key=key or NO_KEY))


def _key_of(own: ModelConfig) -> str | None:
    if own.api_key_env is None:
        return None
    key = os.environ.get(own.api_key_env)
    if not key:
        raise ValueError(f"its key is to be in the environment variable {own.api_key_env}, which is not set")
    return key


def _why_not(name: str, error: Exception) -> str:
    """Why a toolset could not be built, and which extra it lacks."""
    missing = (error.name or "").partition(".")[0] if isinstance(error, ImportError) else ""
    if name.startswith(MCP) and missing in _MCP_EXTRA:
        return f"{name!r} needs the extra mcp. Install it: pip install 'restante[mcp]'"
    return f"the toolset {name!r} cannot be built: {type(error).__name__}: {error}"
