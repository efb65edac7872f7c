"""A turn is cancelled, or stopped, at each place where any of its tasks waits. Whatever the place, nothing is lost."""

import asyncio
import os
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import pytest
from pydantic_ai import Agent

from restante.bus import BusPolicy, Delivery, MessageBus
from restante.errors import TurnStopped
from restante.testing import Call, ScriptedModel, call, calls, cancels, says, step_by_step
from restante.turn import Journal, Turn, TurnOptions, TurnResult, asking_tools, messaging_tools, open_turn, spawn_tools
from tests.turn.playing import BOTH, Entries

PLACES = int(os.environ.get("RESTANTE_PLACES", "3"))
"""At how many places of each turn, evenly spread; the most there can be is as many as it has steps."""


async def a_while(_: float) -> None:
    """To be a model's `sleep`: it waits three times."""
    for _turn in range(3):
        await asyncio.sleep(0)


def tells(to: str) -> Call:
    return call("send_message", to=to, text=f"hello, {to}")


def spawns(agent: str, background: bool = False) -> Call:  # noqa: FBT002 - as the tool has it
    return call("spawn", agent=agent, task="do it", background=background)


def ask(whom: str) -> Call:
    return call("ask", to=whom, text="what next?")


class QuickClock:
    """A clock whose seconds last for one turn of the event loop each."""

    def __init__(self) -> None:
        self._now = 0.0

    def now(self) -> float:
        return self._now

    async def sleep(self, seconds: float) -> None:
        for _turn in range(int(seconds)):
            await asyncio.sleep(0)
        self._now += seconds


class Told:
    """An observer that takes its time."""

    def __init__(self) -> None:
        self.moments: dict[str, list[str]] = {}

    async def claimed(self, address: str, deliveries: tuple[Delivery, ...]) -> None:
        await self._keep("claimed", address, deliveries)

    async def returned(self, address: str, deliveries: tuple[Delivery, ...]) -> None:
        await self._keep("returned", address, deliveries)

    async def failed(self, address: str, deliveries: tuple[Delivery, ...]) -> None:
        await self._keep("failed", address, deliveries)

    async def _keep(self, moment: str, address: str, deliveries: tuple[Delivery, ...]) -> None:
        for one in deliveries:
            self.moments.setdefault(f"{one.message.message_id} for {address}", []).append(moment)
        await asyncio.sleep(0)


class Scene:
    """A turn with two workers below one another and one beside them, tools that wait, and mail between all of them.

    In the background: the entry run awaits its workers, which ask it something and one another.
    """

    def __init__(self, policy: BusPolicy, way: str) -> None:
        self.entries = Entries()
        self.told = Told()
        self.turn: Turn | None = None
        self.answer: object = None
        self.result: TurnResult | None = None
        self._policy = replace(policy, ask_s=20, wait_max_s=40, grace_s=20)
        self._way = way

    async def play(self) -> None:
        """The whole turn."""
        journal = Journal(self.entries.append)
        bus = MessageBus(self._policy, sink=journal)
        background = self._way == "background"
        scout = [tells("everyone")], [ask("lead#1") if background else call("work", times=2)]
        options = TurnOptions(
            bus=bus,
            journal=journal,
            agents={"lead": self._lead(), "scout": self._agent(*scout)},
            rounds={"scout": 2},
            observer=self.told,
            on_text=(lambda _, __: None) if self._way == "streamed" else None,
            clock=QuickClock(),
        )
        awaits = call("await_workers", addresses=["lead#1", "scout#1"])
        entry = self._agent(
            [tells("everyone"), call("work", times=1)],
            [spawns("lead", background), spawns("scout", background), call("work", times=4)],
            *([[awaits], [awaits], [awaits]] if background else []),
        )
        async with open_turn(entry, "go", options) as self.turn:
            try:
                self.answer = await self.turn.answer()
            except TurnStopped as stopped:
                self.answer = stopped
            self.result = await self.turn.result()

    def _lead(self) -> Agent[Any, Any]:
        asks = ask("assistant") if self._way == "background" else call("work", times=1)
        coder = self._agent([tells("lead#1"), tells("assistant")], [asks])
        return self._agent([spawns("coder"), tells("scout")], below={"coder": coder})

    def _agent(self, *rounds: list[Call], below: dict[str, Agent[Any, Any]] | None = None) -> Agent[Any, Any]:
        steps = [*(calls(*one, seconds=1) for one in rounds), *[says("all is done", seconds=1)] * 9]
        toolsets = [messaging_tools(), asking_tools(), *([spawn_tools(below)] if below else [])]
        made: Agent[Any, Any] = Agent(ScriptedModel(*steps, sleep=a_while), toolsets=toolsets)

        @made.tool_plain
        async def work(times: int) -> str:
            for time in range(times):
                await asyncio.sleep(0)
                if time == 1 and self.turn is not None:
                    self.turn.say("go on")
                    self.turn.bus.send_external("shop", "an offer", message_id=f"x{len(self.entries)}")
            return "worked"

        return made

    # What holds however it ended

    def assert_whole(self) -> None:
        """Every message has its fate, the journal is whole, and everything that was opened is closed."""
        if self.turn is None:
            return
        entries = self.entries
        assert [entry.number for entry in entries] == list(range(1, len(entries) + 1))
        assert [entry.kind for entry in entries].count("bus_closed") == 1
        assert Counter(entry.address for entry in entries if entry.kind == "run_opened") == Counter(
            entry.address for entry in entries if entry.kind == "run_closed"
        )
        assert self._ids("tool_call") == self._ids("tool_result")
        record = self.turn.bus.record()
        states = {fate["state"] for message in record["messages"] for fate in message["fates"]}
        assert states <= {"delivered", "undelivered", "carried"}
        assert self.turn.say("hello?").code == "turn_closed"
        for moments in self.told.moments.values():
            assert Counter(moments)["claimed"] == Counter(moments)["returned"] + Counter(moments)["failed"]

    def _ids(self, kind: str) -> Counter[tuple[str | None, object]]:
        return Counter((entry.address, entry.facts["tool_call_id"]) for entry in self.entries if entry.kind == kind)

    def assert_stopped(self) -> None:
        """It was stopped, and says so."""
        assert self.result is not None
        assert self.result.outcome == "stopped"
        assert isinstance(self.answer, TurnStopped)
        assert {ran.how for ran in self.result.runs} <= {"stopped", "answered", "wrap-up"}
        assert {fate[3] for fate in self.entries.fates() if fate[2] == "undelivered"} <= {"stopped", "run_ended_first"}


both = pytest.mark.parametrize("policy", BOTH, ids=lambda policy: policy.name)
ways = pytest.mark.parametrize("way", ["plain", "streamed", "background"])


def places(scene: Callable[[], Scene]) -> range:
    """Places evenly spread over all steps of an undisturbed turn."""
    played = scene()
    whole = step_by_step(played.play, at=0)
    assert whole.error is None
    played.assert_whole()
    assert played.result is not None
    assert played.result.output == "all is done"
    apart = max(1, whole.steps // PLACES)
    return range(max(1, apart // 2), whole.steps + 1, apart)


def cancels_twice(main: asyncio.Task[object]) -> None:
    """Cancel it, and once more while it is at that."""
    main.cancel()
    asyncio.get_running_loop().call_soon(main.cancel)


@both
@ways
@pytest.mark.timeout(7200 if PLACES > 100 else 300)
@pytest.mark.rows("T357")
@pytest.mark.parametrize("act", [cancels, cancels_twice])
def test_cancelled_anywhere_a_turn_leaves_nothing_open_and_nothing_unsaid(
    policy: BusPolicy, act: Callable[[asyncio.Task[object]], None], way: str
) -> None:
    make = partial(Scene, policy, way)
    for place in places(make):
        scene = make()
        seen = step_by_step(scene.play, at=place, act=act)

        assert seen.acted, place
        assert isinstance(seen.error, asyncio.CancelledError), place
        assert (seen.outlived, seen.unhandled) == ([], []), place
        scene.assert_whole()


@both
@ways
@pytest.mark.timeout(7200 if PLACES > 100 else 300)
@pytest.mark.rows("T356")
def test_stopped_anywhere_a_turn_leaves_nothing_open_and_nothing_unsaid(policy: BusPolicy, way: str) -> None:
    make = partial(Scene, policy, way)
    for place in places(make):
        scene = make()
        before = len(scene.entries)

        def stop(_: object, scene: Scene = scene) -> None:
            nonlocal before
            if scene.turn is not None:
                before = len(scene.entries)
                scene.turn.stop()

        seen = step_by_step(scene.play, at=place, act=stop)

        assert seen.error is None, place
        assert (seen.outlived, seen.unhandled) == ([], []), place
        scene.assert_whole()
        if before and scene.entries[before - 1].kind != "bus_closed":
            scene.assert_stopped()
