"""Two background workers in any schedule: one asks the parent that awaits both, the other is redirected by it."""

import os
import re
from collections import Counter
from dataclasses import dataclass, field
from typing import Any

import pytest
from pydantic_ai import Agent, FunctionToolset
from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart, ToolCallPart
from pydantic_ai.models.function import AgentInfo, FunctionModel

from restante.testing import FakeClock
from restante.testing.scripted import prompt_of
from restante.turn import TurnOptions, TurnResult, asking_tools, messaging_tools, open_turn
from tests.turn.playing import Entries
from tests.turn.shuffled import Schedule

SCHEDULES = int(os.environ.get("RESTANTE_REDIRECTS", "20"))

QUESTION = "Paper or ink: which is right?"
REPLY = "The paper: it is from 1612."
REDIRECTION = "Leave the ink: who drew it?"
DATES, INKS = "Date the map.", "Date the map by its ink."
Calls = list[tuple[str, dict[str, Any]]]


def asked_for(calls: Calls) -> ModelResponse:
    """The answer of a model that calls tools."""
    return ModelResponse(parts=[ToolCallPart(tool, args) for tool, args in calls])


def has_called(messages: list[ModelMessage], tool: str) -> bool:
    """Whether the model has called a tool before."""
    return any(
        isinstance(part, ToolCallPart) and part.tool_name == tool
        for message in messages
        if isinstance(message, ModelResponse)
        for part in message.parts
    )


@dataclass
class Scene:
    """The turn under one schedule. The models react to what they read, so that any schedule is one for them."""

    schedule: Schedule
    entries: Entries = field(default_factory=Entries)
    clock: FakeClock = field(default_factory=FakeClock)

    async def play(self) -> TurnResult | None:
        """The result, or None if everything waits and nothing goes on."""
        self.person_speaks_at = self.schedule.random.randrange(3, 60)
        options = TurnOptions(
            agents={"researcher": self._agent(self._researcher)},
            rounds={"researcher": 1_000, "assistant": 30},
            clock=self.clock,
            sink=self._take,
            observer=self,
        )
        async with open_turn(self._agent(self._assistant), "Whose map is it?", options) as self.turn:
            await self.clock.settle()
            if not self.turn.bus.record()["closed"]:
                self.turn.stop()
                return None
            return await self.turn.result()

    def _take(self, entry: Any) -> None:
        self.entries.append(entry)
        if len(self.entries) == self.person_speaks_at:
            self.turn.say("And be quick.", to=self.schedule.random.choice(["everyone", "assistant", "researcher"]))

    def _agent(self, model: Any) -> Agent[Any, Any]:
        return Agent(FunctionModel(model), toolsets=[messaging_tools(), asking_tools(), FunctionToolset([self.look])])

    async def look(self) -> str:
        """Look around."""
        await self.schedule.pause()
        return "nothing"

    async def _assistant(self, messages: list[ModelMessage], _: AgentInfo) -> ModelResponse:
        await self.schedule.pause()
        read = prompt_of(messages)
        asker = re.search(rf"\[message from (\S+)\] {re.escape(QUESTION)}", read)
        if not has_called(messages, "spawn"):
            return asked_for(
                [("spawn", {"agent": "researcher", "task": task, "background": True}) for task in (DATES, INKS)]
            )
        if asker and not has_called(messages, "send_message"):
            other = {"researcher#1": "researcher#2", "researcher#2": "researcher#1"}[asker[1]]
            return asked_for(
                [
                    ("send_message", {"to": asker[1], "text": REPLY}),
                    ("send_message", {"to": other, "text": REDIRECTION}),
                ]
            )
        if re.search(r'"cause":\s*"ended"', read):
            return ModelResponse(parts=[TextPart("Hessel drew it in 1612.")])
        return asked_for([("await_workers", {"addresses": ["researcher#1", "researcher#2"]})])

    async def _researcher(self, messages: list[ModelMessage], _: AgentInfo) -> ModelResponse:
        await self.schedule.pause()
        read = prompt_of(messages)
        if INKS in read:
            return ModelResponse(parts=[TextPart("Hessel.")]) if REDIRECTION in read else asked_for([("look", {})])
        if REPLY in read:
            return ModelResponse(parts=[TextPart("1612.")])
        asked = re.search(r'"question_id":\s*"(m\d+)"', read)
        if asked:
            return asked_for([("await_reply", {"question_id": asked[1]})])
        return asked_for([("ask", {"to": "assistant", "text": QUESTION})])

    async def claimed(self, *_: object, **__: object) -> None:
        """The observer takes its time as well."""
        await self.schedule.pause()

    returned = claimed

    async def failed(self, *_: object, **__: object) -> None:
        """No call fails here."""
        raise AssertionError


@pytest.mark.timeout(0)
@pytest.mark.rows("T200", "T256")
def test_a_worker_is_answered_and_another_redirected_in_every_schedule_and_nothing_is_lost_or_hangs() -> None:
    outcomes: Counter[str] = Counter()
    for seed in range(SCHEDULES):
        schedule = Schedule(seed)
        scene = Scene(schedule)

        result = schedule.play(scene.play)

        assert result is not None, f"seed {seed}: everything waits"
        assert (result.outcome, result.output, result.error) == ("answered", "Hessel drew it in 1612.", None), seed
        assert result.report.unmet == (), seed
        assert {ran.how for ran in result.runs} == {"answered"}, seed
        readers = {facts["text"]: facts for facts in scene.entries.of("delivery")}
        assert {QUESTION, REPLY, REDIRECTION} <= readers.keys(), seed
        assert readers[REPLY]["in_reply_to"], seed
        states = {state for _, _, state, _ in scene.entries.fates()}
        assert states <= {"delivered", "carried"}, seed
        assert {one.text for one in result.report.next_turn} <= {"And be quick."}, seed
        outcomes.update(re.findall(r'"(?:outcome|cause)":"(\w+)"', str(scene.entries)))
    assert outcomes.keys() == {"answered", "mail", "ended"} or SCHEDULES < 20
