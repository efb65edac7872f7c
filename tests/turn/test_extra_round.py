"""The extra round of an entry run that answers while background workers go on: await them, end them, leave them."""

from typing import Any

import pytest
from pydantic_ai import Agent
from pydantic_ai.usage import UsageLimits

from restante.bus import BusPolicy
from restante.testing import Step, call, calls, fails, says
from restante.turn import TurnOptions
from tests.turn.crew import Crew, awaits, ends, starts, works
from tests.turn.playing import origins_of
from tests.turn.test_background import alike

pytestmark = pytest.mark.anyio

LISTS = calls(call("list_agents"))


def crew_of(*steps: Step, rounds: int = 10, seconds: float = 10, options: TurnOptions | None = None) -> Crew:
    """An entry run that starts two workers, and what it does then."""
    return Crew(
        BusPolicy(rounds=rounds),
        options,
        researcher=[[works(seconds), says("it is 42")], [works(seconds + 10), says("it is 43")]],
        assistant=[starts("researcher", "researcher"), *steps],
    )


@pytest.mark.rows("T363")
@pytest.mark.parametrize("rounds", [10, 2])
async def test_an_entry_run_that_answers_while_workers_go_on_is_told_so_in_one_more_round(rounds: int) -> None:
    crew = crew_of(says("first"), says("last", seconds=3), rounds=rounds)

    async with crew.open() as turn:
        await crew.clock.advance(1)
        parts = crew.prompt("assistant", 2)
        assert len(parts) == 1
        for words in ("[notice]", "researcher#1 (running)", "researcher#2 (running)", "await", "cancel", "leave"):
            assert words in parts[0]
        assert origins_of(crew.prompts("assistant")[2])[-1] == "bus"
        assert crew.entries.of("grace") == []
        await crew.clock.advance(60)
        result = await turn.result()

    assert crew.at("grace") == [3]
    assert result.output == "last"
    assert len(crew.entries.of("round", "assistant")) == 2
    assert crew.entries.of("move", "assistant") == crew.entries.of("wrap_up", "assistant") == []
    assert [facts["text"] for facts in crew.entries.of("extra_round")] == parts
    assert result.runs[0].rounds == 2
    assert crew.how("assistant") == "answered"


@pytest.mark.rows("T363")
async def test_mail_that_waits_comes_before_the_notice_and_moves_no_base() -> None:
    crew = crew_of(says("first", seconds=2), says("last"), rounds=2)

    async with crew.open() as turn:
        await crew.clock.advance(1)
        turn.say("be quick", to="assistant")
        await crew.clock.advance(60)
        result = await turn.result()

    first, notice = crew.prompt("assistant", 2)
    assert first == "be quick"
    assert notice.startswith("[notice]")
    assert crew.entries.of("move", "assistant") == []
    assert result.report == ((), ())
    assert result.output == "last"


@pytest.mark.rows("T364")
@pytest.mark.parametrize("rounds", [10, 2])
async def test_if_it_says_nothing_then_its_earlier_answer_stands(rounds: int) -> None:
    crew = crew_of(says("first"), says("", seconds=3), rounds=rounds)

    result = await crew.play()

    assert (result.outcome, result.output) == ("answered", "first")
    assert crew.at("grace") == [3]
    assert crew.how("assistant") == "answered"
    assert len(crew.prompts("assistant")) == 3


@pytest.mark.rows("T364")
async def test_if_it_awaits_a_worker_then_it_goes_on_with_what_is_left_of_its_rounds() -> None:
    crew = crew_of(says("first"), awaits("researcher#1"), LISTS, says("last"), rounds=4)

    result = await crew.play()

    (waited,) = crew.results("await_workers")
    assert (waited["at_s"], waited["workers"][0]["text"]) == (10, "it is 42")
    assert len(crew.entries.of("round", "assistant")) == 4
    assert crew.entries.of("wrap_up", "assistant") == []
    assert crew.at("grace") == [10]
    assert result.output == "last"
    assert crew.how("researcher#2") == "answered"


@pytest.mark.rows("T364")
async def test_if_it_awaits_a_worker_with_no_rounds_left_then_its_wrap_up_follows() -> None:
    crew = crew_of(says("first"), awaits("researcher#1"), says("last"), rounds=2)

    result = await crew.play()

    (waited,) = crew.results("await_workers")
    assert (waited["at_s"], waited["workers"][0]["text"]) == (10, "it is 42")
    assert len(crew.entries.of("round", "assistant")) == 2
    assert len(crew.entries.of("wrap_up", "assistant")) == 1
    assert (result.output, crew.how("assistant")) == ("last", "wrap-up")
    assert crew.at("grace") == [10]


@pytest.mark.rows("T364")
async def test_a_wrap_up_after_it_that_fails_leaves_the_earlier_answer() -> None:
    crew = crew_of(says("first"), awaits("researcher#1"), fails("no more disk"), rounds=2)

    result = await crew.play()

    assert (result.outcome, result.output) == ("answered", "first")


@pytest.mark.rows("T365")
async def test_there_is_one_extra_round_however_often_it_answers_and_however_many_workers_go_on() -> None:
    crew = crew_of(says("first"), awaits("researcher#1"), says("second"), *[says("more")] * 5)

    result = await crew.play()

    assert len(crew.entries.of("extra_round")) == 1
    assert result.output == "second"


@pytest.mark.rows("T365")
async def test_there_is_none_for_a_run_that_answers_when_no_worker_goes_on() -> None:
    crew = crew_of(awaits("researcher#1"), ends("researcher#2"), says("last"))

    result = await crew.play()

    assert crew.entries.of("extra_round") == crew.entries.of("grace") == []
    assert (result.output, crew.at("bus_closed")) == ("last", [10])


@pytest.mark.rows("T365")
async def test_there_is_none_for_a_run_that_is_stopped() -> None:
    crew = crew_of(says("first", seconds=5))

    async with crew.open() as turn:
        await crew.clock.advance(1)
        turn.stop()

    assert crew.entries.of("extra_round") == []
    assert len(crew.prompts("assistant")) == 2


async def test_a_worker_gets_none_when_it_answers_while_its_own_workers_go_on() -> None:
    crew = Crew(
        helper=alike(works(10)), lead=[starts("helper"), says("x")], assistant=alike(starts("lead"), awaits("lead#1"))
    )

    await crew.play()

    assert crew.entries.of("extra_round", "lead#1") == []
    assert crew.at("run_closed", "lead#1") == [0]


@pytest.mark.rows("T364")
async def test_if_the_model_fails_in_it_the_earlier_answer_stands() -> None:
    crew = crew_of(says("first"), fails("no more disk"))

    result = await crew.play()

    assert (result.outcome, result.output) == ("answered", "first")
    assert crew.how("assistant") == "answered"


async def test_mail_of_an_extra_round_that_failed_is_reported() -> None:
    crew = crew_of(says("first", seconds=2), fails("no more disk"))

    async with crew.open() as turn:
        await crew.clock.advance(1)
        turn.bus.send_external("ci", "the build is broken", message_id="x1", to="assistant")
        await crew.clock.advance(60)
        result = await turn.result()

    assert result.output == "first"
    assert [(one.text, one.reason) for one in result.report.unmet] == [("the build is broken", "model_call_failed")]


async def test_if_a_limit_of_use_forbids_it_the_earlier_answer_stands() -> None:
    limits = {"assistant": UsageLimits(request_limit=2)}
    crew = crew_of(says("first"), options=TurnOptions(usage_limits=limits))

    result = await crew.play()

    assert (result.outcome, result.output, result.error) == ("answered", "first", None)
    assert crew.at("grace") == [0]


async def test_a_turn_that_is_listened_to_has_the_same_journal() -> None:
    pieces: list[str] = []
    journals: list[list[tuple[object, ...]]] = []

    def listen(_: str, piece: str) -> None:
        pieces.append(piece)

    for on_text in (None, listen):
        crew = crew_of(says("first"), awaits("researcher#1"), says("last"), options=TurnOptions(on_text=on_text))

        await crew.play()

        own = [one for one in crew.entries if one.address == "assistant" and one.kind != "usage"]
        journals.append([(one.at_s, one.kind, dict(one.facts)) for one in own])

    assert journals[0] == journals[1]
    assert {"first", "last"} <= set(pieces)


async def test_mail_that_comes_during_it_gets_its_round() -> None:
    crew = crew_of(says("first"), says("extra", seconds=3), says("last"))

    async with crew.open() as turn:
        await crew.clock.advance(1)
        turn.say("one thing more", to="assistant")
        await crew.clock.advance(60)
        result = await turn.result()

    assert crew.prompt("assistant", 3) == ["one thing more"]
    assert result.output == "last"
    assert len(crew.entries.of("extra_round")) == 1


async def test_workers_that_are_started_in_it_have_the_grace() -> None:
    crew = crew_of(says("first"), starts("researcher"), says("last"), seconds=5)

    result = await crew.play()

    assert result.output == "last"
    assert crew.entries.of("grace")[0]["workers"] == ["researcher#1", "researcher#2", "researcher#3"]
    assert crew.how("researcher#3") == "answered"


async def test_a_run_with_an_output_type_gives_its_output_anew_or_keeps_it() -> None:
    def final(number: int) -> Step:
        return calls(call("final_result", response=number))

    for steps, output in (
        ([final(1), final(2)], 2),
        ([final(1), says("")], 1),
        ([final(1), awaits("researcher#1"), final(3)], 3),
    ):
        crew = crew_of(*steps)
        entry = crew.agents["assistant"]
        structured: Agent[Any, int] = Agent(entry.model, output_type=int, toolsets=list(entry.toolsets))
        crew.agents["assistant"] = structured

        result = await crew.play()

        assert result.output == output
