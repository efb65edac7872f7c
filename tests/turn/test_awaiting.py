"""What ends the wait for background workers early: mail, so that a worker can reach the parent that waits for it."""

import pytest

from restante.bus import BusPolicy, JournalEntry
from restante.testing import call, calls, says
from restante.turn import TurnOptions
from tests.turn.crew import Crew, asks, awaits, starts, works
from tests.turn.playing import origins_of
from tests.turn.stage import sends
from tests.turn.test_background import alike

pytestmark = pytest.mark.anyio


@pytest.mark.rows("T200", "T235")
async def test_a_worker_reaches_the_parent_that_awaits_it_and_reads_what_it_answers() -> None:
    crew = Crew(
        researcher=[works(2), sends("assistant", "which cache?"), works(5), says("done")],
        assistant=alike(
            starts("researcher"),
            awaits("researcher#1"),
            sends("researcher#1", "the red one"),
            awaits("researcher#1"),
        ),
    )

    await crew.play()

    early, late = crew.results("await_workers")
    assert (early["at_s"], early["cause"], early["mail"]) == (2, "mail", True)
    assert early["workers"] == [{"address": "researcher#1", "state": "running"}]
    assert crew.prompt("assistant", 2)[1:] == ["[message from researcher#1] which cache?"]
    assert crew.prompt("researcher", 3)[1:] == ["[message from assistant] the red one"]
    assert (late["at_s"], late["cause"], late["workers"][0]["text"]) == (7, "ended", "done")


@pytest.mark.rows("T235")
async def test_the_words_of_the_person_end_a_wait_and_come_in_the_next_prompt() -> None:
    crew = Crew(researcher=alike(works(9)), assistant=alike(starts("researcher"), awaits("researcher#1")))

    async with crew.open() as turn:
        await crew.clock.advance(3)
        turn.say("be quick", to="assistant")
        await crew.clock.settle()
        (waited,) = crew.results("await_workers")
        assert (waited["at_s"], waited["cause"]) == (3, "mail")
        assert "be quick" not in str(waited)
        assert crew.prompt("assistant", 2)[1:] == ["be quick"]
        assert origins_of(crew.prompts("assistant")[2]) == ["person", "person"]
        await crew.clock.advance(60)


@pytest.mark.rows("T235")
async def test_a_message_from_outside_ends_a_wait() -> None:
    crew = Crew(researcher=alike(works(9)), assistant=alike(starts("researcher"), awaits("researcher#1")))

    async with crew.open() as turn:
        await crew.clock.advance(3)
        turn.bus.send_external("ci", "the build is broken", message_id="x1", to="assistant")
        await crew.clock.settle()
        assert crew.results("await_workers")[0]["cause"] == "mail"
        await crew.clock.advance(60)


@pytest.mark.rows("T235")
async def test_mail_for_others_does_not_end_a_wait() -> None:
    crew = Crew(
        researcher=[[works(1), sends("researcher#2", "not for the parent"), says("1")], [works(4), says("2")]],
        assistant=alike(starts("researcher", "researcher"), awaits("researcher#1", "researcher#2")),
    )

    async with crew.open() as turn:
        await crew.clock.advance(2)
        turn.say("not for you, either", to="researcher#2")
        await crew.clock.advance(10)
        await turn.result()

    assert [(one["at_s"], one["cause"]) for one in crew.results("await_workers")] == [(4, "ended")]


@pytest.mark.rows("T235")
async def test_a_wait_with_mail_that_is_there_already_returns_at_once() -> None:
    crew = Crew(
        researcher=alike(works(9)),
        assistant=alike(starts("researcher"), calls(call("work", seconds=2)), awaits("researcher#1")),
    )

    def write_during_the_call(entry: JournalEntry) -> None:
        if entry.kind == "round" and entry.address == "assistant" and entry.facts["call"] == 2:
            crew.turn.say("be quick", to="assistant")

    crew.on_entry = write_during_the_call
    await crew.play()

    waited = crew.results("await_workers")[0]
    assert (waited["at_s"], waited["cause"], waited["mail"]) == (2, "mail", True)
    assert crew.prompt("assistant", 3)[1:] == ["be quick"]


@pytest.mark.rows("T236")
@pytest.mark.parametrize("moment", ["run_closed", "answer", "usage"])
async def test_the_end_of_a_worker_and_mail_at_the_same_instant_are_one_return(moment: str) -> None:
    crew = Crew(
        researcher=[says("it is 42", seconds=5)],
        assistant=alike(starts("researcher"), awaits("researcher#1")),
    )

    def write(entry: JournalEntry) -> None:
        if entry.kind == moment and entry.address == "researcher#1":
            crew.turn.say("be quick", to="assistant")

    crew.on_entry = write
    await crew.play()

    (waited,) = crew.results("await_workers")
    assert (waited["at_s"], waited["cause"], waited["mail"]) == (5, "ended", True)
    assert waited["workers"][0]["text"] == "it is 42"
    assert crew.prompt("assistant", 2)[1:] == ["be quick"]


@pytest.mark.rows("T043")
async def test_a_run_is_waiting_while_it_awaits_asks_and_spawns_and_running_while_it_calls_and_works() -> None:
    crew = Crew(
        BusPolicy(rounds=20),
        researcher=[[works(100)]],
        helper=alike(works(2)),
        assistant=alike(
            starts("researcher", seconds=2),
            works(2),
            calls(call("spawn", agent="helper", task="help")),
            awaits("researcher#1", timeout_s=2),
            asks("researcher#1", deadline_s=2),
            says("done", seconds=2),
        ),
    )
    states: list[str | None] = []

    async with crew.open():
        for _ in range(6):
            await crew.clock.advance(1)
            states.append(crew.states()["assistant"])
            await crew.clock.advance(1)
        await crew.clock.advance(1_000)

    assert states == ["running", "running", "waiting", "waiting", "waiting", "running"]


@pytest.mark.rows("T199")
@pytest.mark.parametrize("wait", ["poll", "await"])
async def test_a_parent_reaches_the_worker_that_it_waits_for_at_its_next_boundary(wait: str) -> None:
    timeout_s = 0 if wait == "poll" else 1
    crew = Crew(
        researcher=[works(5), works(5), says("done")],
        assistant=alike(
            starts("researcher"),
            awaits("researcher#1", timeout_s=timeout_s),
            sends("researcher#1", "use the cache"),
            awaits("researcher#1"),
        ),
    )

    await crew.play()

    assert [one["cause"] for one in crew.results("await_workers")] == ["timeout", "ended"]
    assert crew.prompt("researcher", 1)[1:] == ["[message from assistant] use the cache"]
    assert crew.entries.of("delivery", "researcher#1")[0]["text"] == "use the cache"


@pytest.mark.rows("T245")
async def test_each_wake_up_is_a_round_and_at_most_as_many_move_the_base_as_the_policy_lets_agents() -> None:
    chatter = [step for _ in range(10) for step in (works(1), sends("assistant", "news"))]
    crew = Crew(
        BusPolicy(rounds=20),
        researcher=[*chatter, works(1_000)],
        assistant=alike(starts("researcher"), *[awaits("researcher#1")] * 10, calls(call("list_agents"))),
        options=TurnOptions(rounds={"assistant": 10, "researcher": 40}),
    )

    await crew.play()

    waits = crew.results("await_workers")
    assert [one["cause"] for one in waits] == ["mail"] * 10
    assert [one["at_s"] for one in waits] == list(range(1, 11))
    assert len(crew.entries.of("move", "assistant")) == 3
    assert len(crew.entries.of("no_move", "assistant")) == 7
    assert len(crew.entries.of("round", "assistant")) == 13


@pytest.mark.rows("T185")
async def test_what_a_child_sends_and_what_answers_a_question_move_the_base_and_a_value_does_not() -> None:
    crew = Crew(
        researcher=[sends("assistant", "news"), works(5), sends("assistant", "the red one"), works(5), says("42")],
        assistant=alike(
            starts("researcher"), works(1), asks("researcher#1"), awaits("researcher#1"), calls(call("list_agents"))
        ),
    )

    await crew.play()

    assert crew.results("ask")[0]["outcome"] == "answered"
    assert crew.results("await_workers")[0]["workers"][0]["text"] == "42"
    assert [(facts["call"], facts["origins"]) for facts in crew.entries.of("move", "assistant")] == [
        (2, ["agent"]),
        (3, ["agent"]),
    ]
    assert crew.entries.of("no_move", "assistant") == []


async def test_a_wait_that_is_over_leaves_no_ring_behind() -> None:
    crew = Crew(
        researcher=alike(works(9)),
        assistant=alike(starts("researcher"), awaits("researcher#1", timeout_s=1), asks("researcher#1", deadline_s=1)),
    )

    async with crew.open() as turn:
        await crew.clock.advance(5)
        assert turn.bus._rings._of_run == {}
        await crew.clock.advance(60)
