"""The Pydantic AI agents of a configuration: built once, each with the toolsets and the spawn rights that it names."""

import importlib
import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any

from pydantic_ai import Agent
from pydantic_ai.exceptions import UserError
from pydantic_ai.models import Model, infer_model
from pydantic_ai.providers import Provider, infer_provider_class
from pydantic_ai.toolsets import AbstractToolset

from restante.errors import BadConfig
from restante.running.config import SCRIPTED, AgentConfig, Config, ModelConfig
from restante.running.toolsets import SCRIPTS, find_toolsets
from restante.turn import spawn_tools

AnyAgent = Agent[Any, Any]

OPENAI_CHAT = ("openai", "openai-chat")
"""Providers that, at a `base_url` of one's own, mean any server that speaks OpenAI's chat completions."""
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


def build_agents(config: Config) -> Mapping[str, Hosted]:
    """Every agent of the configuration, by name. Raises `BadConfig`, naming the agent, when one cannot be built."""
    workshop = _Workshop(config)
    return MappingProxyType({name: workshop.hosted(name) for name in config.agents})


class _Workshop:
    """Builds agents from one configuration. A script is loaded once, however many agents play from it."""

    def __init__(self, config: Config) -> None:
        self._config = config
        self._scripts: dict[str, Mapping[str, Model]] = {}
        self._workers: dict[str, AnyAgent] = {}

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

    def _agent(self, agent: AgentConfig, more: tuple[AbstractToolset[Any], ...]) -> AnyAgent:
        if agent.agent is not None:
            if more:
                raise _bad(
                    agent.name, "an imported agent that others spawn brings its own spawn tool: give it one there"
                )
            return _imported(agent.name, agent.agent)
        return Agent(
            self._model(agent),
            name=agent.name,
            instructions=agent.instructions,
            description=agent.description or None,
            toolsets=[*_toolsets(agent.tools), *more],
        )

    def _model(self, agent: AgentConfig) -> Model:
        model = agent.model or ""
        if model.startswith(SCRIPTED):
            return self._scripted(agent.name, model.removeprefix(SCRIPTED))
        own = self._config.models.get(model)
        try:
            return _own_model(own) if own else infer_model(model)
        except (UserError, ValueError, TypeError, ImportError) as error:
            raise _bad(agent.name, f"the model {model!r} cannot be used: {error}") from error

    def _scripted(self, agent: str, path: str) -> Model:
        if path not in self._scripts:
            self._scripts[path] = SCRIPTS.load()(Path(path))
        if agent not in self._scripts[path]:
            raise _bad(agent, f"the script {path} has no steps for it; add a list [[{agent}]]")
        return self._scripts[path][agent]


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


def _toolsets(names: Iterable[str]) -> list[AbstractToolset[Any]]:
    known = find_toolsets()
    return [known[name].load()() for name in names]


def _imported(name: str, path: str) -> AnyAgent:
    module, _, attribute = path.partition(":")
    try:
        found: object = importlib.import_module(module)
        for part in attribute.split("."):
            found = getattr(found, part)
    except (ImportError, AttributeError) as error:
        raise _bad(name, f"{path} cannot be imported: {error}") from error
    if not isinstance(found, Agent):
        raise _bad(name, f"{path} is a {type(found).__name__} and no Pydantic AI agent")
    return found  # pyright: ignore[reportUnknownVariableType]


def _bad(agent: str, what: str) -> BadConfig:
    return BadConfig(f"Agent {agent!r}: {what.rstrip('.')}.", field=f"agents.{agent}")
