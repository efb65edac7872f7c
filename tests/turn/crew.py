"""A team that works in the background and asks, on a clock that stands still until the test moves it."""

import asyncio
import json
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any

from pydantic_ai import Agent, FunctionToolset
from pydantic_ai.messages import ModelMessage

from restante.bus import BusPolicy, JournalEntry
from restante.bus.entry import Sink
from restante.testing import FakeClock, ScriptedModel, Step, call, calls
from restante.turn import Turn, TurnOptions, TurnResult, asking_tools, messaging_tools, open_turn, spawn_tools
from tests.turn.playing import PATIENCE_SECONDS, Entries, last_parts

LONG_S = 100_000.0
"""By then, every turn of these tests is over."""

Script = Sequence[Step] | Sequence[Sequence[Step]]
"""The steps of every run of an agent, or those of its first run, its second, and so on."""


class Crew:
    """Agents by their labels, the entry agent last: each may write and ask, and spawn those before it.

    Their models think on the clock of the turn, and so does the tool `work(seconds)` that all of them have.
    """

    def __init__(self, policy: BusPolicy | None = None, options: TurnOptions | None = None, **scripts: Script) -> None:
        self.clock = FakeClock()
        self.entries = Entries()
        self.policy = policy
        self.options = options or TurnOptions()
        self.models = {label: self._model(script) for label, script in scripts.items()}
        self.agents: dict[str, Agent[Any, Any]] = {}
        for label, model in self.models.items():
            spawning = [spawn_tools(dict(self.agents))] if self.agents and label != list(scripts)[-1] else []
            toolsets = [messaging_tools(), asking_tools(), FunctionToolset([self.work]), *spawning]
            self.agents[label] = Agent(model, toolsets=toolsets)
        *self._workers, self.entry = scripts
        self.turn: Turn
        self.on_start: Callable[[], object] = lambda: None
        """Called when the turn is there and no run has taken a step."""
        self.on_entry: Sink = lambda _: None
        """Told of each entry once it is kept."""

    def _model(self, script: Script) -> ScriptedModel:
        first = script[0] if script else ()
        if isinstance(first, Step):
            return ScriptedModel(*[step for step in script if isinstance(step, Step)], sleep=self.clock.sleep)
        return ScriptedModel.of_runs(*[run for run in script if not isinstance(run, Step)], sleep=self.clock.sleep)

    async def work(self, seconds: float) -> str:
        """The tool that takes its time."""
        await self.clock.sleep(seconds)
        return "worked"

    def _take(self, entry: JournalEntry) -> None:
        self.entries.append(entry)
        self.on_entry(entry)

    @asynccontextmanager
    async def open(self) -> AsyncGenerator[Turn]:
        """A turn of the crew, as far as it comes without time. It cannot hang."""
        workers = {label: self.agents[label] for label in self._workers}
        options = replace(
            self.options, label=self.entry, agents=workers, policy=self.policy, clock=self.clock, sink=self._take
        )
        async with asyncio.timeout(PATIENCE_SECONDS), open_turn(self.agents[self.entry], "go", options) as self.turn:
            self.on_start()
            await self.clock.settle()
            yield self.turn

    async def play(self) -> TurnResult:
        """The whole turn, however long it takes on its clock."""
        async with self.open() as turn:
            await self.clock.advance(LONG_S)
            return await turn.result()

    # What has happened

    def results(self, tool: str, address: str | None = None) -> list[dict[str, Any]]:
        """What a tool gave, each time, with `at_s`: the seconds of the clock at which it did."""
        found = [one for one in self._of("tool_result", address) if one.facts["tool"] == tool]
        return [
            {"at_s": one.at_s, **_read(str(one.facts["text"])), "outcome_of_call": one.facts["outcome"]}
            for one in found
        ]

    def at(self, kind: str, address: str | None = None) -> list[float]:
        """When each entry of a kind came, in seconds of the clock."""
        return [one.at_s for one in self._of(kind, address)]

    def how(self, address: str) -> object:
        """How a run has ended."""
        (closed,) = self._of("run_closed", address)
        return closed.facts["how"]

    def prompt(self, label: str, call: int) -> list[str]:
        """What was new in the prompt of a model call of an agent, from 0, over all its runs."""
        return last_parts(self.models[label].prompts[call])

    def prompts(self, label: str) -> list[list[ModelMessage]]:
        """The prompts of all model calls of an agent."""
        return self.models[label].prompts

    def states(self) -> dict[str, str | None]:
        """The roster as it is now."""
        return {line.address: line.state for line in self.turn.bus.roster()}

    def _of(self, kind: str, address: str | None = None) -> list[JournalEntry]:
        return [one for one in self.entries if one.kind == kind and address in (None, one.address)]


def _read(text: str) -> dict[str, Any]:
    return json.loads(text) if text.startswith("{") else {"said": text}


def starts(*agents: str, seconds: float = 0.0) -> Step:
    """A round that spawns these in the background, in order."""
    return calls(*(call("spawn", agent=agent, task="work", background=True) for agent in agents), seconds=seconds)


def awaits(*addresses: str, **options: object) -> Step:
    """A round that waits for background workers."""
    return calls(call("await_workers", addresses=list(addresses), **options))


def ends(*addresses: str) -> Step:
    """A round that cancels background workers."""
    return calls(*(call("cancel_worker", address=address) for address in addresses))


def asks(to: str, text: str = "which cache?", **options: object) -> Step:
    """A round that asks one question."""
    return calls(call("ask", to=to, text=text, **options))


def works(seconds: float) -> Step:
    """A round whose tool takes that long."""
    return calls(call("work", seconds=seconds))
