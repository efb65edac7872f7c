"""What becomes of background workers when the entry run has answered for good, has failed, or is stopped."""

from typing import Any, Self

import pytest
from pydantic_ai import Agent, RunContext
from pydantic_ai.capabilities import AbstractCapability
from pydantic_ai.toolsets import WrapperToolset
from typing_extensions import override

from restante.bus import BusPolicy
from restante.testing import call, calls, fails, says
from restante.turn import messaging_tools
from tests.turn.crew import Crew, asks, awaits, starts, works
from tests.turn.stage import sends
from tests.turn.test_background import alike

NO_SERVER = OSError("no server")
pytestmark = pytest.mark.anyio


class NoServer(WrapperToolset[Any]):
    """Cannot be reached."""

    @override
    async def __aenter__(self) -> Self:
        raise NO_SERVER


class NotToday(AbstractCapability[Any]):
    """Fails before the run."""

    @override
    async def before_run(self, ctx: RunContext[Any]) -> None:
        raise NO_SERVER


def break_start(crew: Crew, how: str) -> None:
    """Let the runs of the researcher fail before their first model call."""
    model = crew.models["researcher"]
    agent: Agent[Any, Any] = Agent(
        model,
        toolsets=[NoServer(messaging_tools())] if how == "toolset" else [],
        capabilities=[NotToday()] if how == "before_run" else [],
    )
    if how == "instructions":

        @agent.instructions
        async def instructions() -> str:
            raise NO_SERVER

    crew.agents["researcher"] = agent


def answers(*texts: str) -> list[Any]:
    return [says(text) for text in texts]


@pytest.mark.rows("T239", "T368")
async def test_the_answer_is_there_when_the_entry_run_has_ended_and_the_result_when_its_worker_has() -> None:
    crew = Crew(researcher=[says("it is 42", seconds=10)], assistant=[starts("researcher"), *answers("first", "last")])

    async with crew.open() as turn:
        assert await turn.answer() == "last"
        assert crew.states() == {"assistant": "finished", "researcher#1": "running"}
        assert crew.at("bus_closed") == []
        await crew.clock.advance(60)
        result = await turn.result()

    assert (result.outcome, result.output) == ("answered", "last")
    assert crew.at("run_closed", "researcher#1") == crew.at("bus_closed") == [10]
    assert crew.entries.of("answer", "researcher#1") == [{"text": "it is 42"}]
    assert [(run["address"], run["how"]) for run in result.record["runs"]] == [
        ("assistant", "answered"),
        ("researcher#1", "answered"),
    ]
    assert [ran.address for ran in result.runs] == ["assistant", "researcher#1"]


@pytest.mark.rows("T239")
async def test_the_grace_is_told_in_the_journal_with_whom_it_is_for_and_for_how_long() -> None:
    crew = Crew(researcher=alike(works(10)), assistant=[starts("researcher"), *answers("first", "last")])

    await crew.play()

    assert crew.entries.of("grace") == [{"workers": ["researcher#1"], "seconds": 30.0}]


@pytest.mark.rows("T240")
@pytest.mark.parametrize("grace_s", [30, 0])
async def test_a_worker_that_needs_longer_than_the_grace_is_ended_and_what_it_did_not_read_is_reported(
    grace_s: float,
) -> None:
    crew = Crew(
        BusPolicy(grace_s=grace_s),
        researcher=alike(works(60)),
        assistant=[starts("researcher"), works(1), sends("researcher#1", "use the cache"), *answers("first", "last")],
    )

    async with crew.open() as turn:
        await crew.clock.advance(1 + grace_s)
        result = await turn.result()

    assert (result.outcome, result.output) == ("answered", "last")
    assert crew.at("run_closed", "researcher#1") == [1 + grace_s]
    assert crew.how("researcher#1") == "cancelled"
    unmet: Any = [(one.text, one.address, one.reason) for one in result.report.unmet]
    assert unmet == [("use the cache", "researcher#1", "run_ended_first")]
    assert ("researcher#1", "cancelled") in [(run["address"], run["how"]) for run in result.record["runs"]]
    assert [one["outcome"] for one in crew.entries.of("tool_result", "researcher#1")] == ["not_executed"]


@pytest.mark.rows("T241")
async def test_a_stop_during_the_grace_ends_the_workers_at_once_and_keeps_the_answer() -> None:
    crew = Crew(
        researcher=alike(works(20)),
        assistant=[starts("researcher"), works(1), sends("researcher#1", "use the cache"), *answers("first", "last")],
    )

    async with crew.open() as turn:
        await crew.clock.advance(3)
        turn.stop()
        result = await turn.result()

    assert (result.outcome, result.output) == ("answered", "last")
    assert crew.at("bus_closed") == [3]
    assert [(one.text, one.reason) for one in result.report.unmet] == [("use the cache", "stopped")]
    assert result.record["closed"]
    assert {run["how"] for run in result.record["runs"]} == {"answered", "stopped"}


@pytest.mark.rows("T241", "T263")
@pytest.mark.parametrize("waits_by", ["await", "ask"])
async def test_a_stop_during_a_wait_ends_everything_at_once(waits_by: str) -> None:
    wait = awaits("researcher#1") if waits_by == "await" else asks("researcher#1", "which cache?")
    crew = Crew(
        researcher=alike(works(20)),
        assistant=alike(starts("researcher", "researcher"), works(1), sends("researcher#2", "hello"), wait),
    )

    async with crew.open() as turn:
        await crew.clock.advance(3)
        assert crew.states()["assistant"] == "waiting"
        turn.stop()
        result = await turn.result()

    assert (result.outcome, crew.at("bus_closed")) == ("stopped", [3])
    unread = ["hello"] if waits_by == "await" else ["hello", "which cache?"]
    assert [(one.text, one.reason) for one in result.report.unmet] == [(text, "stopped") for text in unread]
    assert {ran.how for ran in result.runs} == {"stopped"}
    assert crew.entries.of("grace") == []
    last = crew.entries.of("tool_result", "assistant")[-1]
    assert last["outcome"] == "not_executed"


@pytest.mark.rows("T242")
@pytest.mark.parametrize(("seconds", "how"), [(25, "answered"), (60, "cancelled")])
async def test_what_a_worker_has_started_belongs_to_the_turn_and_goes_on_without_it(seconds: float, how: str) -> None:
    crew = Crew(
        helper=alike(works(seconds)),
        lead=[starts("helper"), says("the lead is done")],
        assistant=[starts("lead"), works(1), *answers("first", "last")],
    )

    async with crew.open() as turn:
        await crew.clock.advance(2)
        assert crew.how("lead#1") == "answered"
        assert crew.states()["helper#1"] == "running"
        assert "helper#1 (running)" in crew.prompt("assistant", 3)[-1]
        await crew.clock.advance(60)
        await turn.result()

    assert crew.how("helper#1") == how
    assert crew.at("bus_closed") == [25 if how == "answered" else 31]


@pytest.mark.rows("T243", "T365")
async def test_when_the_entry_run_fails_the_workers_get_the_same_grace_without_an_extra_round() -> None:
    crew = Crew(
        researcher=alike(works(60)),
        assistant=[starts("researcher"), works(1), sends("researcher#1", "use the cache"), fails("no more disk")],
    )

    result = await crew.play()

    assert (result.outcome, result.error) == ("failed", "ScriptedFailure: no more disk")
    assert crew.entries.of("extra_round") == []
    assert len(crew.prompts("assistant")) == 4
    assert crew.at("run_closed", "researcher#1") == [31]
    kinds = [one.kind for one in crew.entries if one.kind == "run_failed" or one.facts.get("state") == "undelivered"]
    assert kinds == ["run_failed", "fate"]


@pytest.mark.rows("T108")
async def test_a_worker_cannot_reach_an_entry_run_that_has_answered_for_good_but_one_that_has_its_extra_round() -> None:
    crew = Crew(
        researcher=alike(works(2), sends("assistant", "in time"), works(5), sends("assistant", "too late")),
        assistant=[starts("researcher"), says("first"), says("extra", seconds=3), says("last")],
    )

    result = await crew.play()

    in_time, late = crew.results("send_message", "researcher#1")
    assert in_time["outcome_of_call"] == "ok"
    assert late["said"].startswith("recipient_finished")
    assert "assistant (finished: answered)" in late["said"]
    assert result.output == "last"
    assert result.report.unmet == ()


@pytest.mark.rows("T138")
async def test_words_of_the_person_during_the_grace_may_be_read_by_workers_and_become_the_next_turn() -> None:
    crew = Crew(researcher=alike(works(5)), assistant=[starts("researcher"), *answers("first", "last")])

    async with crew.open() as turn:
        await turn.answer()
        await crew.clock.advance(1)
        assert turn.say("and then?").accepted
        await crew.clock.advance(60)
        result = await turn.result()

    assert crew.prompt("researcher", 1)[1:] == ["and then?"]
    assert [one.text for one in result.report.next_turn] == ["and then?"]
    assert result.report.unmet == ()


async def test_an_exception_in_the_block_of_the_turn_ends_the_workers_at_once() -> None:
    crew = Crew(researcher=alike(works(20)), assistant=[starts("researcher"), *answers("first", "last")])

    async def leave() -> None:
        async with crew.open() as turn:
            await turn.answer()
            raise NO_SERVER

    with pytest.raises(OSError, match="no server"):
        await leave()

    assert crew.how("researcher#1") == "cancelled"
    assert crew.clock.now() == 0


async def test_workers_that_start_others_during_the_grace_do_not_make_it_longer() -> None:
    crew = Crew(
        BusPolicy(grace_s=11),
        helper=alike(works(4)),
        lead=[works(3), starts("helper"), works(3), starts("helper"), works(3), starts("helper"), says("done")],
        assistant=[starts("lead"), *answers("first", "last")],
    )

    await crew.play()

    assert [crew.how(f"helper#{number}") for number in (1, 2, 3)] == ["answered", "answered", "cancelled"]
    assert crew.at("bus_closed") == [11]


@pytest.mark.rows("T104", "B33")
@pytest.mark.parametrize("broken", ["before_run", "toolset", "instructions"])
async def test_mail_for_a_background_worker_that_fails_to_start_is_reported_with_the_error(broken: str) -> None:
    start_and_write = [
        call("spawn", agent="researcher", task="find out", background=True),
        call("send_message", to="researcher#1", text="use the cache"),
    ]
    crew = Crew(researcher=[], assistant=alike(calls(*start_and_write), awaits("researcher#1")))
    break_start(crew, broken)

    result = await crew.play()

    (waited,) = crew.results("await_workers")
    assert (waited["cause"], waited["workers"][0]["how"]) == ("ended", "error")
    assert waited["workers"][0]["error"] == "OSError: no server"
    assert [(one.text, one.reason) for one in result.report.unmet] == [("use the cache", "run_ended_first")]
    (run,) = [run for run in result.record["runs"] if run["address"] == "researcher#1"]
    assert (run["how"], run["error"]) == ("error", "OSError: no server")
    assert ("researcher#1", "error") in [(ran.address, ran.how) for ran in result.runs] or broken != "before_run"
