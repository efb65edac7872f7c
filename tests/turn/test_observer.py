"""A host that observes what a run has claimed, and what became of it."""

import asyncio
import logging

import pytest
from pydantic_ai import Agent
from pydantic_ai.models.fallback import FallbackModel

from restante.bus import BusPolicy, Delivery
from restante.testing import FakeClock, ScriptedModel, call, calls, fails, says
from restante.testing.scripted import ScriptedFailure
from restante.turn import MailboxOptions, TurnOptions
from tests.turn.playing import BOTH, DURING, Stage, agent, model_of, play

pytestmark = pytest.mark.anyio

both = pytest.mark.parametrize("policy", BOTH, ids=lambda policy: policy.name)


class Witness:
    """An observer that keeps what it is told, and may raise."""

    def __init__(self, *, raises: bool = False) -> None:
        self.told: list[str] = []
        self._raises = raises

    async def claimed(self, address: str, deliveries: tuple[Delivery, ...]) -> None:
        await self._keep("claimed", address, deliveries)

    async def returned(self, address: str, deliveries: tuple[Delivery, ...]) -> None:
        await self._keep("returned", address, deliveries)

    async def failed(self, address: str, deliveries: tuple[Delivery, ...]) -> None:
        await self._keep("failed", address, deliveries)

    async def _keep(self, moment: str, address: str, deliveries: tuple[Delivery, ...]) -> None:
        self.told.append(f"{moment} {address}: {', '.join(one.message.text for one in deliveries)}")
        await asyncio.sleep(0)
        if self._raises:
            raise OSError("the disk is full")


@both
@pytest.mark.rows("T353")
async def test_what_was_claimed_returns_with_its_call_or_fails_with_it(policy: BusPolicy) -> None:
    stage = Stage(policy)
    witness = Witness()
    models: list[int] = []

    async def step(_: float) -> None:
        models.append(len(witness.told))
        stage.friend.send("worker", f"in call {len(models) - 1}")

    worker = agent(says("hi", seconds=DURING), says("hello", seconds=DURING), fails("boom"), sleep=step)

    with pytest.raises(ScriptedFailure):
        await stage.run(worker, options=MailboxOptions(observer=witness))

    assert witness.told == [
        "claimed worker#1: in call 0",
        "returned worker#1: in call 0",
        "claimed worker#1: in call 1",
        "failed worker#1: in call 1",
    ]
    assert models == [0, 1]


@both
@pytest.mark.rows("T353")
async def test_what_a_call_carries_that_is_made_again_returns_once(policy: BusPolicy) -> None:
    stage = Stage(policy)
    witness = Witness()
    first = ScriptedModel(says("hi", seconds=DURING), fails("boom"), sleep=stage.writes("hello"))
    model = FallbackModel(first, ScriptedModel(says("ok")), fallback_on=ScriptedFailure)

    result = await stage.run(Agent(model), options=MailboxOptions(observer=witness))

    assert result.output == "ok"
    assert witness.told == ["claimed worker#1: hello", "returned worker#1: hello"]


@both
@pytest.mark.rows("T353")
async def test_what_a_call_carries_that_is_cancelled_has_failed(policy: BusPolicy) -> None:
    stage = Stage(policy)
    witness = Witness()
    clock = FakeClock()
    worker = agent(says("hi", seconds=1), says("never", seconds=60), sleep=clock.sleep)

    running = asyncio.ensure_future(stage.run(worker, options=MailboxOptions(observer=witness)))
    await clock.settle()
    stage.friend.send("worker", "hello")
    await clock.advance(1)
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running

    assert len(model_of(worker).prompts) == 2
    assert witness.told == ["claimed worker#1: hello", "failed worker#1: hello"]


@both
@pytest.mark.rows("T353")
async def test_an_observer_that_raises_is_logged_once_and_changes_nothing(
    policy: BusPolicy, caplog: pytest.LogCaptureFixture
) -> None:
    stage = Stage(policy)
    caplog.set_level(logging.ERROR, logger="restante")
    witness = Witness(raises=True)
    worker = agent(says("hi", seconds=DURING), says("ok"), sleep=stage.writes("hello"))

    result = await stage.run(worker, options=MailboxOptions(observer=witness))

    assert result.output == "ok"
    assert witness.told == ["claimed worker#1: hello", "returned worker#1: hello"]
    assert len(caplog.records) == 1
    assert {fate[2] for fate in stage.entries.fates()} == {"delivered"}


async def test_the_observer_of_a_turn_is_told_of_its_workers_too() -> None:
    witness = Witness()
    tells = calls(call("send_message", to="everyone", text="hello"))
    spawns = calls(call("spawn", agent="researcher", task="x"))

    await play(
        agent(tells, spawns, says("ok")),
        options=TurnOptions(agents={"researcher": agent(says("ok"))}, observer=witness),
    )

    assert witness.told == ["claimed researcher#1: hello", "returned researcher#1: hello"]
