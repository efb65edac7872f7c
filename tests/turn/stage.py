"""A team whose runs wait at gates, so that a test says what happens before what, and nothing depends on time."""

import asyncio
from collections import defaultdict
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any

from pydantic_ai import Agent, FunctionToolset, RunContext, ToolFailed
from pydantic_ai.messages import ModelMessage
from pydantic_ai.tool_manager import ParallelExecutionMode
from pydantic_ai.toolsets import AbstractToolset, ToolsetTool, WrapperToolset
from typing_extensions import override

from restante.bus import BusPolicy, JournalEntry
from restante.bus.entry import Sink
from restante.testing import FakeClock, ScriptedModel, Step, call, calls
from restante.turn import OnText, Turn, TurnOptions, messaging_tools, open_turn, spawn_tools
from tests.turn.playing import PATIENCE_SECONDS, Entries

Script = Sequence[Step] | ScriptedModel


class Impatient(WrapperToolset[Any]):
    """Spawns workers, and cancels the one that it waits for when it is told so."""

    @override
    async def call_tool(
        self, name: str, tool_args: dict[str, Any], ctx: RunContext[Any], tool: ToolsetTool[Any]
    ) -> Any:
        """Cancel within the task that waits, as a limit of time would."""
        try:
            async with asyncio.timeout(None) as self._patience:
                return await super().call_tool(name, tool_args, ctx, tool)
        except TimeoutError:
            raise ToolFailed("It took too long.") from None

    def give_up(self) -> None:
        """The worker that is waited for is cancelled."""
        self._patience.reschedule(0)


class Cast:
    """Agents by their labels, the entry agent last: each may spawn those before it, write, and wait at gates."""

    def __init__(self, policy: BusPolicy, /, **scripts: Script) -> None:
        self.policy = policy
        self.on_text: OnText | None = None
        self.on_entry: Sink = _nothing
        """Told of each entry once it is kept."""
        self.entries = Entries()
        self.models = {label: _model(script) for label, script in scripts.items()}
        self._gates: dict[str, asyncio.Event] = defaultdict(asyncio.Event)
        *self._workers, self.entry = scripts
        self.agents: dict[str, Agent[Any, Any]] = {}
        self.spawning: dict[str, Impatient] = {}
        """What the workers spawn with that may spawn."""
        for label, model in self.models.items():
            self.agents[label] = Agent(model, toolsets=self._toolsets(label))

    def _toolsets(self, label: str) -> list[AbstractToolset[Any]]:
        gates = FunctionToolset[Any]()
        gates.add_function(self.wait_at)
        delegates: Mapping[str, Agent[Any, Any]] = dict(self.agents)
        if not delegates or label == self.entry:
            return [messaging_tools(), gates]
        self.spawning[label] = Impatient(spawn_tools(delegates))
        return [messaging_tools(), gates, self.spawning[label]]

    def _take(self, entry: JournalEntry) -> None:
        self.entries.append(entry)
        self.on_entry(entry)

    async def wait_at(self, gate: str) -> str:
        """The tool with which a run waits until the test opens a gate."""
        await self._gates[gate].wait()
        return "open"

    async def open(self, *gates: str) -> None:
        """Open gates, and let every run get as far as it can."""
        for gate in gates:
            self._gates[gate].set()
        await FakeClock().settle()

    @asynccontextmanager
    async def turn(self, mode: ParallelExecutionMode = "parallel") -> AsyncGenerator[Turn]:
        """A turn of the cast, as far as it comes before the first gates. It cannot hang."""
        workers = {label: self.agents[label] for label in self._workers}
        options = TurnOptions(
            label=self.entry, agents=workers, policy=self.policy, sink=self._take, on_text=self.on_text
        )
        async with asyncio.timeout(PATIENCE_SECONDS):
            with self.agents[self.entry].parallel_tool_call_execution_mode(mode):
                async with open_turn(self.agents[self.entry], "go", options) as turn:
                    await self.open()
                    yield turn

    def prompts(self, label: str) -> list[list[ModelMessage]]:
        """The prompts of all model calls of an agent."""
        return self.models[label].prompts

    def number(self, kind: str, address: str, **facts: object) -> int:
        """The place in the journal of the one entry of this kind, about this run and with these facts."""
        (entry,) = [one for one in self.all(kind, address) if facts.items() <= dict(one.facts).items()]
        return entry.number

    def all(self, kind: str, address: str | None = None) -> list[JournalEntry]:
        """Every entry of this kind, about this run if one is named."""
        return [one for one in self.entries if one.kind == kind and address in (None, one.address)]

    def between(self, first: int, last: int, address: str) -> list[str]:
        """The kinds of what a run did between two places in the journal."""
        return [one.kind for one in self.entries if first < one.number < last and one.address == address]

    def readers(self, text: str) -> list[str | None]:
        """Who has drained a text so far, in order."""
        return [one.address for one in self.entries if one.kind == "delivery" and one.facts["text"] == text]


def _nothing(_: JournalEntry) -> None:
    """Nobody listens."""


def _model(script: Script) -> ScriptedModel:
    return script if isinstance(script, ScriptedModel) else ScriptedModel(*script)


def spawns(*agents: str) -> Step:
    """A round that spawns these, in order."""
    return calls(*(call("spawn", agent=agent, task="work") for agent in agents))


def sends(to: str, text: str) -> Step:
    """A round that sends one message."""
    return calls(call("send_message", to=to, text=text))


def waits(gate: str) -> Step:
    """A round that ends when the test opens the gate."""
    return calls(call("wait_at", gate=gate))
