"""`restante.toml`: the agents of a team, their models and the limits, parsed once and refused as a whole."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import MappingProxyType

from restante.bus.policy import BusPolicy
from restante.errors import BadAgentName, BadConfig, BadLabel, BadPolicy
from restante.names import check_name, folded
from restante.running.mcp_servers import MCP, McpServer, check_mcp_tools, read_server
from restante.running.toml_lines import KeyPath
from restante.running.toml_places import BUS_LIMITS, OF_OUR_AGENTS, check_variable, only
from restante.running.toml_table import Range, Source, Table, nearest
from restante.running.toolsets import find_toolsets

SCRIPTED = "scripted:"
"""What a model begins with that is played from a file."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """The limits of the platform, under the names that every door gives them."""

    text_max: int = 20_000
    """Code points of a message."""
    submission_id_max: int = 128
    """Code points of a submission id."""
    messages_per_hour: int = 1_000
    """Sends in one conversation, both sides, in any 3,600 seconds."""
    page_default: int = 30
    page_max: int = 100
    """Messages in a page."""
    wait_seconds_max: float = 25.0
    """The longest wait of a read, in seconds."""
    parallel_turns: int = 16
    """Turns at once."""
    turn_max: float = 7_200.0
    """Seconds that a turn may take."""
    approval_wait: float = 300.0
    """Seconds until nobody's answer about a gated call counts as no."""
    body_max: int = 2 * 1024 * 1024
    """Bytes of a request body."""
    json_depth: int = 32
    """Nesting of a request body."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelConfig:
    """`[models.NAME]`: a model under a name of one's own."""

    name: str
    provider: str
    model: str
    base_url: str | None = None
    api_key_env: str | None = None
    """The environment variable that holds the key. The key itself is never part of a configuration."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentConfig:
    """`[agents.NAME]`: who answers under a name."""

    name: str
    description: str = ""
    instructions: str | None = None
    """The words, whether they stood in the file or in one of their own."""
    model: str | None = None
    """A name in `Config.models`, or Pydantic AI's `provider:model`, or `scripted:` and a path that exists."""
    delegates_to: tuple[str, ...] = ()
    rounds: int | None = None
    """Model calls of a run before its wrap-up; None: the policy's."""
    folder: Path | None = None
    tools: tuple[str, ...] = ()
    """The toolsets that it holds, by name; `mcp:NAME` are the tools of a server in `Config.servers`."""
    confirm: tuple[str, ...] = ()
    """The tools of which each call needs a yes, by the names that a model calls."""
    free_text_ask: bool = True
    """Whether others may write to it on the platform."""
    agent: str | None = None
    """`module:attribute` of an existing Pydantic AI agent; then there are no model and no instructions here."""
    deps: str | None = None
    """`module:attribute` of what its tools depend on; only with `agent`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReviewConfig:
    """`[review]`: a model that may say yes to gated calls, where the person's words alone make that plain."""

    model: str
    """As that of an agent; a script has its steps under `review`."""
    automatic: int
    """How many calls of one turn it may allow."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Config:
    """The whole file. Every name in it is known, and nobody delegates in a circle."""

    policy: BusPolicy
    entry: str
    """The agent of `run` and `chat`."""
    agents: Mapping[str, AgentConfig]
    models: Mapping[str, ModelConfig] = field(default_factory=lambda: MappingProxyType({}))
    servers: Mapping[str, McpServer] = field(default_factory=lambda: MappingProxyType({}))
    """`[mcp.NAME]`, by name."""
    review: ReviewConfig | None = None
    limits: Limits = Limits()
    path: Path | None = None
    source: Source | None = field(default=None, repr=False, compare=False)

    def error(self, path: KeyPath, message: str) -> BadConfig:
        """What is wrong about the key at `path`, with its line if this comes from a file."""
        return self.source.error(path, message) if self.source else BadConfig(message, field=".".join(path))


def load_config(path: Path) -> Config:
    """Read `path`. Raises `BadConfig` for the first thing that is wrong, naming the line and what would have worked."""
    return _Reading(path).config()


_RANGES: dict[str, Range] = {
    "text_max": Range(1, 100_000),
    "submission_id_max": Range(1, 256),
    "messages_per_hour": Range(1, 100_000),
    "page_default": Range(1, 100),
    "page_max": Range(1, 100),
    "wait_seconds_max": Range(0, 25, whole=False),
    "parallel_turns": Range(1, 1_000),
    "turn_max": Range(10, 86_400, whole=False),
    "approval_wait": Range(30, 86_400, whole=False),
    "body_max": Range(64 * 1024, 64 * 1024 * 1024),
    "json_depth": Range(8, 128),
}
AUTOMATIC = 5
"""How many calls of one turn a reviewer may allow if the file does not say."""
_ROUNDS = Range(1, 1_000_000_000)
_IMPORT_PATH = re.compile(r"[\w.]+:[\w.]+")


class _Reading:
    """One file on its way to a `Config`."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._folder = path.absolute().parent
        self._source = Source.read(path)
        self._top = self._source.table()

    def config(self) -> Config:
        only(self._top, "the top of the file")
        policy, limits = self._limits()
        models = self._models()
        servers = self._servers()
        agents = self._agents(models, servers)
        return Config(
            policy=policy,
            entry=self._entry(agents),
            agents=MappingProxyType(agents),
            models=MappingProxyType(models),
            servers=MappingProxyType(servers),
            review=self._review(models),
            limits=limits,
            path=self._path,
            source=self._source,
        )

    def _limits(self) -> tuple[BusPolicy, Limits]:
        table = self._top.table("limits")
        only(table, "[limits]")
        classic = self._top.choice("policy", ("default", "classic")) == "classic"
        policy = BusPolicy.classic() if classic else BusPolicy()
        for key in (each for each in table.keys if each in BUS_LIMITS):
            try:
                policy = replace(policy, **{key: table.value(key)})  # pyright: ignore[reportArgumentType]
            except BadPolicy as error:
                table.refuse(key, str(error))
        numbers = {key: table.number(key, _RANGES[key]) for key in table.keys if key in _RANGES}
        limits = replace(Limits(), **numbers)  # pyright: ignore[reportArgumentType]
        if limits.page_default > limits.page_max:
            key = "page_default" if "page_default" in table else "page_max"
            table.refuse(key, f"page_default is {limits.page_default}; it is at most page_max, {limits.page_max}.")
        return policy, limits

    def _models(self) -> dict[str, ModelConfig]:
        table = self._top.table("models")
        return {name: _model(name, table.table(name)) for name in table.keys}

    def _servers(self) -> dict[str, McpServer]:
        table = self._top.table("mcp")
        return {name: read_server(name, table.table(name), self._folder) for name in table.keys}

    def _review(self, models: Mapping[str, ModelConfig]) -> ReviewConfig | None:
        if "review" not in self._top:
            return None
        table = self._top.table("review")
        only(table, "[review]")
        automatic = table.number("automatic", Range(1, 1_000))
        return ReviewConfig(model=self._model_of(table, models), automatic=int(automatic or AUTOMATIC))

    def _agents(self, models: Mapping[str, ModelConfig], servers: Mapping[str, McpServer]) -> dict[str, AgentConfig]:
        table = self._top.table("agents")
        if not table.keys:
            self._top.refuse(None, "There is no agent. Add a table [agents.assistant].")
        _check_names(table)
        agents = {name: self._agent(name, table.table(name), models) for name in table.keys}
        for name, agent in agents.items():
            _check_toolsets(agent, table.table(name).table("tools"), servers)
        _check_delegation(table, agents)
        return agents

    def _agent(self, name: str, table: Table, models: Mapping[str, ModelConfig]) -> AgentConfig:
        only(table, "[agents.NAME]")
        theirs = _their_agent(table)
        rounds = table.number("rounds", _ROUNDS)
        return AgentConfig(
            name=name,
            description=table.text("description") or "",
            instructions=self._instructions(table),
            model=None if theirs else self._model_of(table, models),
            delegates_to=table.texts("delegates_to"),
            rounds=None if rounds is None else int(rounds),
            folder=self._folder_of(table),
            tools=_tools(table.table("tools")),
            confirm=table.table("tools").texts("confirm"),
            free_text_ask=_free_text_ask(table.table("capabilities")),
            agent=theirs,
            deps=_import_path(table, "deps"),
        )

    def _folder_of(self, table: Table) -> Path | None:
        name = table.text("folder")
        if name is None:
            return None
        folder = self._folder / name
        if not name or self._folder.resolve().is_relative_to(folder.resolve()):
            words = 'could change it and read what is beside it. Give it a folder of its own, like "work/NAME".'
            table.refuse("folder", f"folder is {name!r}, which holds {self._path.name}: the agent {words}")
        return folder

    def _instructions(self, table: Table) -> str | None:
        words, name = table.text("instructions"), table.text("instructions_file")
        if name is None:
            return words
        if words is not None:
            table.refuse("instructions_file", "Give instructions or instructions_file, and not both.")
        try:
            return (self._folder / name).read_bytes().decode()
        except OSError as error:
            table.refuse("instructions_file", f"{self._folder / name} cannot be read: {error.strerror}.")
        except UnicodeDecodeError as error:
            table.refuse("instructions_file", f"{self._folder / name} is not UTF-8 at byte {error.start}.")

    def _model_of(self, table: Table, models: Mapping[str, ModelConfig]) -> str:
        model = table.text("model")
        forms = 'a name in [models], "provider:model", or "scripted:FILE"'
        if model is None:
            table.refuse(None, f"{table.title} has no model. Give it one: {forms}.")
        if model.startswith(SCRIPTED):
            script = self._folder / model.removeprefix(SCRIPTED)
            if not script.is_file():
                table.refuse("model", f"There is no script {script}. The path is relative to this file.")
            return f"{SCRIPTED}{script}"
        if model not in models and ":" not in model:
            known = f" The nearest one is {nearest(model, models)!r}." if models else ""
            table.refuse("model", f"{model!r} is no model: not {forms}.{known}")
        return model

    def _entry(self, agents: Mapping[str, AgentConfig]) -> str:
        entry = self._top.text("entry")
        if entry is None:
            self._top.refuse(
                None, f'entry is missing: which agent do you talk to? Write entry = "{next(iter(agents))}".'
            )
        if entry not in agents:
            self._top.refuse(
                "entry", f"entry is {entry!r}, which is no agent. The nearest one is {nearest(entry, agents)!r}."
            )
        return entry


def _model(name: str, table: Table) -> ModelConfig:
    only(table, "[models.NAME]")
    provider, model = table.text("provider"), table.text("model")
    if not provider or not model:
        table.refuse(None, f'{table.title} needs both, like provider = "openai" and model = "gpt-5".')
    if ":" in name:
        table.refuse(None, f"A model's own name has no colon, and {name!r} does.")
    base_url = table.text("base_url")
    if base_url is not None and not base_url.startswith(("http://", "https://")):
        table.refuse("base_url", f"base_url is {base_url!r}; it begins with http:// or https://.")
    variable = check_variable(table, "api_key_env")
    return ModelConfig(name=name, provider=provider, model=model, base_url=base_url, api_key_env=variable)


def _import_path(table: Table, key: str) -> str | None:
    path = table.text(key)
    if path is not None and not _IMPORT_PATH.fullmatch(path):
        table.refuse(key, f"{key} is {path!r}; it is an import path like 'shop.agents:billing'.")
    return path


def _their_agent(table: Table) -> str | None:
    path = _import_path(table, "agent")
    if path is None:
        if "deps" in table:
            table.refuse("deps", f"deps is for an agent by import path, and {table.title} names none.")
        return None
    for key in OF_OUR_AGENTS:
        if key in table:
            table.refuse(key, f"{table.title} is {path}, which brings its own {key}. Leave out one of the two.")
    return path


def _tools(table: Table) -> tuple[str, ...]:
    only(table, "[agents.NAME.tools]")
    return table.texts("available")


def _check_toolsets(agent: AgentConfig, table: Table, servers: Mapping[str, McpServer]) -> None:
    known = find_toolsets()
    for name in agent.tools:
        if name.startswith(MCP):
            check_mcp_tools(table, name, servers)
        elif name not in known:
            installed = ", ".join((*sorted(known), f'"{MCP}NAME" for a server [mcp.NAME]'))
            words = f"Agent {agent.name!r} names the toolset {name!r}. The nearest one is {nearest(name, known)!r}."
            table.refuse("available", f"{words} Installed are: {installed}.")
        elif len(known[name]) > 1:
            brought = " and ".join(sorted(entry.value for entry in known[name]))
            table.refuse(
                "available", f"Several packages bring a toolset {name!r}: {brought}. Keep one of them installed."
            )
    if "files" in agent.tools and agent.folder is None:
        words = f"Agent {agent.name!r} has the toolset 'files' and no folder."
        table.refuse("available", f'{words} Add to [agents.{agent.name}]: folder = "work/{agent.name}".')


def _free_text_ask(table: Table) -> bool:
    only(table, "[agents.NAME.capabilities]")
    switch = table.switch("free_text_ask")
    return switch is None or switch


def _check_names(table: Table) -> None:
    by_folded: dict[str, str] = {}
    for name in table.keys:
        try:
            check_name(name)
        except BadLabel as error:
            table.refuse(name, f"Agent {name!r}: {error}", BadAgentName)
        earlier = by_folded.setdefault(folded(name), name)
        if earlier != name:
            words = f"Agents {earlier!r} and {name!r} differ in letter case alone. Rename one of them."
            table.refuse(name, words, BadAgentName)


def _check_delegation(table: Table, agents: Mapping[str, AgentConfig]) -> None:
    for agent in agents.values():
        for name in agent.delegates_to:
            if name not in agents:
                words = f"Agent {agent.name!r} delegates to {name!r}, which is no agent."
                table.table(agent.name).refuse("delegates_to", f"{words} The nearest one is {nearest(name, agents)!r}.")
    for agent in agents.values():
        if cycle := _cycle_through(agent.name, agents):
            words = f"Agents may not delegate in a circle: {' -> '.join(cycle)}."
            table.table(agent.name).refuse("delegates_to", f"{words} Leave out one of these.")


def _cycle_through(name: str, agents: Mapping[str, AgentConfig]) -> tuple[str, ...] | None:
    """The shortest way from an agent back to itself, or None."""
    ways: list[tuple[str, ...]] = [(name,)]
    seen: set[str] = set()
    for way in ways:
        for further in agents[way[-1]].delegates_to:
            if further == name:
                return (*way, name)
            if further not in seen:
                seen.add(further)
                ways.append((*way, further))
    return None
