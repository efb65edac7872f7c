"""A turn whose block is left before it has ended."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing

import pytest

from restante.bus import BusPolicy, JournalEntry
from restante.testing import FakeClock, call, calls, says
from restante.turn import Turn, TurnOptions, TurnResult, open_turn
from tests.turn.playing import BOTH, PATIENCE_SECONDS, Entries, agent

pytestmark = pytest.mark.anyio

both = pytest.mark.parametrize("policy", BOTH, ids=lambda policy: policy.name)


class LongTurn:
    """A turn whose entry run waits for a worker that thinks for a minute, with mail that nobody has read."""

    def __init__(self, policy: BusPolicy) -> None:
        self.clock = FakeClock()
        self.entries = Entries()
        self.turns: list[Turn] = []
        self._before = asyncio.all_tasks()
        researcher = agent(says("never", seconds=60), sleep=self.clock.sleep)
        self.agent = agent(calls(call("list_agents"), call("spawn", agent="researcher", task="x")), says("never"))
        self.options = TurnOptions(agents={"researcher": researcher}, policy=policy, sink=self.entries.append)

    async def begin(self, turn: Turn) -> None:
        """Let it run until all of it waits, and write to it."""
        self.turns.append(turn)
        await self.clock.settle()
        turn.say("are you there?")
        turn.bus.send_external("shop", "an offer", message_id="x1")

    async def events(self) -> AsyncGenerator[JournalEntry]:
        """The turn as a stream of what happens in it, which whoever reads it may leave by `break`."""
        async with open_turn(self.agent, "go", self.options) as turn:
            await self.begin(turn)
            async for entry in turn.events():
                yield entry

    async def assert_over(self) -> TurnResult:
        """Nothing of it goes on, and everything of it is accounted for."""
        assert asyncio.all_tasks() == self._before
        (turn,) = self.turns
        result = await turn.result()
        assert sorted((ran.address, ran.how) for ran in result.runs) == [
            ("assistant", "cancelled"),
            ("researcher#1", "cancelled"),
        ]
        assert turn.say("hello?").code == "turn_closed"
        assert self.entries[-1].kind == "bus_closed"
        assert [entry.number for entry in self.entries] == list(range(1, len(self.entries) + 1))
        assert [facts["outcome"] for facts in self.entries.of("tool_result")] == ["ok", "not_executed"]
        assert {state for _, _, state, _ in self.entries.fates()} == {"undelivered", "carried"}
        books = result.record["books"]
        assert isinstance(books, dict)
        assert (books["accepted"], books["claimed"]) == (0, 0)
        assert [words.text for words in result.report.next_turn] == ["are you there?"]
        assert "an offer" in {unmet.text for unmet in result.report.unmet}
        return result


class Leaves(Exception):
    """What a caller raises."""


@both
@pytest.mark.rows("T357")
async def test_left_by_an_exception_of_the_caller(policy: BusPolicy) -> None:
    long = LongTurn(policy)
    left = Leaves()

    async def leave() -> None:
        async with open_turn(long.agent, "go", long.options) as turn:
            await long.begin(turn)
            raise left

    async with asyncio.timeout(PATIENCE_SECONDS):
        with pytest.raises(Leaves) as caught:
            await leave()

    assert caught.value is left
    await long.assert_over()


@both
@pytest.mark.rows("T357")
@pytest.mark.parametrize("waits", ["the result", "the answer", "nothing"])
async def test_left_by_cancelling_whoever_is_in_it(policy: BusPolicy, waits: str) -> None:
    long = LongTurn(policy)
    begun = asyncio.Event()

    async def stay() -> None:
        async with open_turn(long.agent, "go", long.options) as turn:
            await long.begin(turn)
            begun.set()
            ways = {
                "for the result": turn.result,
                "for the answer": turn.answer,
                "for something else": asyncio.Event().wait,
            }
            await ways[waits]()

    async with asyncio.timeout(PATIENCE_SECONDS):
        staying = asyncio.ensure_future(stay())
        await begun.wait()
        staying.cancel("enough")
        with pytest.raises(asyncio.CancelledError) as caught:
            await staying

    assert caught.value.args == ("enough",)
    await long.assert_over()


@both
@pytest.mark.rows("T357")
async def test_left_by_a_break_of_whoever_reads_what_happens_in_it(policy: BusPolicy) -> None:
    long = LongTurn(policy)

    async with asyncio.timeout(PATIENCE_SECONDS), aclosing(long.events()) as events:
        async for entry in events:
            if entry.kind == "tool_call":
                break

    await long.assert_over()


@both
@pytest.mark.rows("T357")
async def test_left_by_a_timeout_around_it(policy: BusPolicy) -> None:
    long = LongTurn(policy)

    async def run_out_of_time() -> None:
        async with asyncio.timeout(None) as patience, open_turn(long.agent, "go", long.options) as turn:
            await long.begin(turn)
            patience.reschedule(asyncio.get_running_loop().time())

    with pytest.raises(TimeoutError):
        await run_out_of_time()

    await long.assert_over()


async def test_a_break_out_of_the_block_itself_is_no_error_and_so_it_waits_for_the_result() -> None:
    played = agent(calls(call("list_agents")), says("ok"))
    turns: list[Turn] = []

    async with asyncio.timeout(PATIENCE_SECONDS):
        while True:
            async with open_turn(played, "go") as turn:
                turns.append(turn)
                break

    assert (await turns[0].result()).output == "ok"
