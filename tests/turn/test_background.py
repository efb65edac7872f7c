"""Workers that their parent does not wait for: how they start, and how it waits for them or ends them."""

from typing import Any

import pytest

from restante.bus import BusPolicy
from restante.testing import Call, Step, call, calls, fails, says
from restante.turn import TurnOptions
from tests.turn.crew import Crew, asks, awaits, ends, starts, works
from tests.turn.playing import origins_of
from tests.turn.stage import sends

pytestmark = pytest.mark.anyio

LISTS = calls(call("list_agents"))


def taking(*seconds: float) -> list[list[Step]]:
    """A script for each run of an agent: it answers after so many seconds, and says so."""
    return [[says(f"after {one:g} s", seconds=one)] for one in seconds]


def alike(*steps: Step) -> list[Step]:
    """These steps, and an answer whenever one is needed after them."""
    return [*steps, *[says("done")] * 9]


@pytest.mark.rows("T226")
async def test_a_background_spawn_gives_an_address_at_once_that_can_be_listed_written_to_awaited_and_ended() -> None:
    crew = Crew(
        researcher=[[works(5), says("after 5 s")], [works(9)]],
        assistant=alike(
            starts("researcher", "researcher"),
            LISTS,
            sends("researcher#1", "use the cache"),
            awaits("researcher#1"),
            ends("researcher#2"),
        ),
    )
    async with crew.open():
        kinds = [(one.kind, one.address) for one in crew.entries]
        spawned, first_round = kinds.index(("tool_result", "assistant")), kinds.index(("round", "researcher#1"))
        assert spawned < first_round
        await crew.clock.advance(60)

    assert [one["address"] for one in crew.results("spawn")] == ["researcher#1", "researcher#2"]
    assert [one["at_s"] for one in crew.results("spawn")] == [0, 0]
    assert "researcher#1 (running)" in crew.results("list_agents")[0]["said"]
    assert crew.results("send_message")[0]["said"].startswith("Accepted for researcher#1")
    assert crew.results("await_workers")[0]["workers"][0]["text"] == "after 5 s"
    assert crew.results("cancel_worker")[0]["how"] == "cancelled"
    assert [facts["background"] for facts in crew.entries.of("spawn")] == [True, True]


@pytest.mark.rows("T228")
async def test_the_await_of_one_worker_returns_its_text_and_how_it_ended_when_it_has_ended() -> None:
    crew = Crew(researcher=taking(5), assistant=alike(starts("researcher"), awaits("researcher#1")))

    await crew.play()

    (waited,) = crew.results("await_workers")
    assert (waited["at_s"], waited["cause"], waited["mail"]) == (5, "ended", False)
    (worker,) = waited["workers"]
    assert (worker["address"], worker["state"], worker["how"]) == ("researcher#1", "finished", "answered")
    assert worker["text"] == "after 5 s"


async def test_an_answer_of_a_wrap_up_says_so_to_who_awaits_it() -> None:
    crew = Crew(
        options=TurnOptions(rounds={"researcher": 1}),
        researcher=[LISTS, says("half of it")],
        assistant=alike(starts("researcher"), awaits("researcher#1")),
    )

    await crew.play()

    (worker,) = crew.results("await_workers")[0]["workers"]
    assert worker["how"] == "wrap-up"
    assert worker["text"].endswith("may be incomplete:\nhalf of it")


@pytest.mark.rows("T229")
async def test_any_of_three_returns_the_first_that_ends_and_the_states_of_the_others() -> None:
    crew = Crew(
        researcher=taking(8, 3, 9),
        assistant=alike(
            starts("researcher", "researcher", "researcher"),
            awaits("researcher#1", "researcher#2", "researcher#3", mode="any"),
            awaits("researcher#1", "researcher#3"),
        ),
    )

    await crew.play()

    first, rest = crew.results("await_workers")
    assert (first["at_s"], first["cause"]) == (3, "ended")
    assert [one["state"] for one in first["workers"]] == ["running", "finished", "running"]
    assert [one.get("text") for one in first["workers"]] == [None, "after 3 s", None]
    assert rest["at_s"] == 9


@pytest.mark.rows("T229")
async def test_any_of_three_of_which_two_have_ended_returns_both_at_once() -> None:
    crew = Crew(
        researcher=taking(1, 2, 20),
        assistant=alike(
            starts("researcher", "researcher", "researcher"),
            works(5),
            awaits("researcher#1", "researcher#2", "researcher#3", mode="any"),
        ),
    )

    await crew.play()

    (waited,) = crew.results("await_workers")
    assert waited["at_s"] == 5
    assert [one.get("text") for one in waited["workers"]] == ["after 1 s", "after 2 s", None]


@pytest.mark.rows("T230")
async def test_all_returns_when_the_last_has_ended_in_the_order_asked_for() -> None:
    crew = Crew(
        researcher=taking(9, 1, 2),
        assistant=alike(
            starts("researcher", "researcher", "researcher"), awaits("researcher#3", "researcher#1", "researcher#2")
        ),
    )

    await crew.play()

    (waited,) = crew.results("await_workers")
    assert (waited["at_s"], waited["cause"]) == (9, "ended")
    assert [one["address"] for one in waited["workers"]] == ["researcher#3", "researcher#1", "researcher#2"]
    assert [one["text"] for one in waited["workers"]] == ["after 2 s", "after 9 s", "after 1 s"]


@pytest.mark.rows("T231")
async def test_a_timeout_gives_the_results_and_states_there_are_and_the_rest_can_be_awaited_again() -> None:
    crew = Crew(
        researcher=taking(1, 20),
        assistant=alike(
            starts("researcher", "researcher"),
            awaits("researcher#1", "researcher#2", timeout_s=3),
            awaits("researcher#2"),
        ),
    )

    await crew.play()

    late, rest = crew.results("await_workers")
    assert (late["at_s"], late["cause"]) == (3, "timeout")
    assert [one["state"] for one in late["workers"]] == ["finished", "running"]
    assert late["workers"][0]["text"] == "after 1 s"
    assert (rest["at_s"], rest["workers"][0]["text"]) == (20, "after 20 s")


@pytest.mark.rows("T232")
async def test_a_timeout_of_none_looks_only() -> None:
    crew = Crew(researcher=taking(1), assistant=alike(starts("researcher"), awaits("researcher#1", timeout_s=0)))

    await crew.play()

    (waited,) = crew.results("await_workers")
    assert (waited["at_s"], waited["cause"], waited["workers"][0]["state"]) == (0, "timeout", "running")


@pytest.mark.rows("T232")
@pytest.mark.parametrize("timeout_s", [-1, "soon", 3_600.5, True, "5", [1]])
async def test_a_timeout_that_is_none_is_refused_with_its_range_and_nothing_waits(timeout_s: object) -> None:
    crew = Crew(
        researcher=taking(50), assistant=alike(starts("researcher"), awaits("researcher#1", timeout_s=timeout_s))
    )

    await crew.play()

    (refused,) = crew.results("await_workers")
    assert (refused["at_s"], refused["outcome_of_call"]) == (0, "error")
    assert refused["said"].startswith("invalid_arguments: timeout_s is")
    assert "from 0 to 3600" in refused["said"]


async def test_an_await_without_a_timeout_waits_no_longer_than_the_policy_lets_it() -> None:
    crew = Crew(
        BusPolicy(ask_s=50, wait_max_s=50),
        researcher=taking(80),
        assistant=alike(starts("researcher"), awaits("researcher#1")),
    )

    await crew.play()

    (waited,) = crew.results("await_workers")
    assert (waited["at_s"], waited["cause"]) == (50, "timeout")


@pytest.mark.rows("T233")
async def test_only_background_workers_of_ones_own_can_be_awaited_or_ended() -> None:
    named = ["nobody#1", "assistant", "helper#1", "lead"]
    tries: list[Call] = [call("await_workers", addresses=[one]) for one in named]
    tries += [call("await_workers", addresses=[]), *(call("cancel_worker", address=one) for one in [*named, ""])]
    crew = Crew(
        helper=taking(20),
        lead=alike(starts("helper"), works(20)),
        assistant=alike(starts("lead"), starts("lead"), works(1), calls(*tries)),
    )

    await crew.play()

    refused = [*crew.results("await_workers"), *crew.results("cancel_worker")]
    assert len(refused) == len(tries)
    for one in refused:
        assert one["outcome_of_call"] == "error"
        assert one["said"].startswith("not_found: ")
        assert "Yours: lead#1, lead#2." in one["said"]
    assert crew.how("helper#1") == "answered"


@pytest.mark.rows("T234")
async def test_a_worker_that_fails_is_a_result_and_who_waits_goes_on() -> None:
    crew = Crew(
        researcher=[fails("no more disk", seconds=2)],
        assistant=[starts("researcher"), awaits("researcher#1"), says("Pity.")],
    )

    result = await crew.play()

    (waited,) = crew.results("await_workers")
    assert (waited["at_s"], waited["cause"]) == (2, "ended")
    (worker,) = waited["workers"]
    assert (worker["how"], worker["error"]) == ("error", "ScriptedFailure: no more disk")
    assert "text" not in worker
    assert result.output == "Pity."


@pytest.mark.rows("T237", "B96")
async def test_a_result_that_was_handed_over_is_named_by_its_id_and_not_given_again() -> None:
    crew = Crew(
        researcher=taking(2, 4),
        assistant=alike(
            starts("researcher", "researcher"),
            awaits("researcher#1"),
            awaits("researcher#1", "researcher#1", "researcher#2"),
        ),
    )

    await crew.play()

    (first,), (again, other) = (waited["workers"] for waited in crew.results("await_workers"))
    assert first["text"] == "after 2 s"
    assert again["result_id"] == first["result_id"] != other["result_id"]
    assert "already" in again["note"]
    assert "text" not in again
    assert other["text"] == "after 4 s"


@pytest.mark.rows("T238")
async def test_a_worker_that_is_ended_is_ended_with_its_descendants_and_what_it_did_not_read_is_reported() -> None:
    crew = Crew(
        deep=taking(50),
        helper=alike(starts("deep"), works(50)),
        lead=[starts("helper"), works(2), says("done", seconds=50)],
        assistant=alike(
            starts("lead"),
            works(1),
            sends("lead#1", "carried"),
            works(2),
            sends("lead#1", "unread"),
            ends("lead#1"),
            ends("lead#1"),
        ),
    )

    async with crew.open() as turn:
        await crew.clock.advance(3)
        assert {crew.how(address) for address in ("lead#1", "helper#1", "deep#1")} == {"cancelled"}
        result = await turn.result()

    once, again = crew.results("cancel_worker")
    assert (once["how"], again["how"]) == ("cancelled", "cancelled")
    assert "cancelled" in once["note"]
    assert "ended before" in again["note"]
    unmet: Any = [(one.text, one.address, one.reason) for one in result.report.unmet]
    assert unmet == [("carried", "lead#1", "run_ended_first"), ("unread", "lead#1", "run_ended_first")]


@pytest.mark.rows("T238")
async def test_what_a_waited_for_worker_has_started_in_the_background_ends_with_their_ancestor() -> None:
    crew = Crew(
        deep=taking(50),
        helper=alike(starts("deep"), works(50)),
        lead=alike(calls(call("spawn", agent="helper", task="work"))),
        assistant=alike(starts("lead"), works(1), ends("lead#1")),
    )

    async with crew.open() as turn:
        await crew.clock.advance(1)
        assert {crew.how(address) for address in ("lead#1", "helper#1", "deep#1")} == {"cancelled"}
        await turn.result()


@pytest.mark.rows("T238")
async def test_ending_a_worker_that_has_answered_says_so() -> None:
    crew = Crew(researcher=taking(1), assistant=alike(starts("researcher"), works(2), ends("researcher#1")))

    await crew.play()

    (ended,) = crew.results("cancel_worker")
    assert (ended["how"], ended["outcome_of_call"]) == ("answered", "ok")
    assert "ended before" in ended["note"]


@pytest.mark.rows("T244")
async def test_more_background_workers_than_the_limit_are_refused_until_one_ends() -> None:
    crew = Crew(
        researcher=taking(2, *[9] * 8),
        assistant=alike(
            starts(*["researcher"] * 8), starts("researcher"), awaits("researcher#1"), starts("researcher")
        ),
    )

    await crew.play()

    *_, refused, accepted = crew.results("spawn")
    assert refused["outcome_of_call"] == "error"
    assert refused["said"].startswith("rate_limited: at most 8 background workers")
    assert "8 are" in refused["said"]
    assert accepted["address"] == "researcher#9"


@pytest.mark.rows("T366")
@pytest.mark.parametrize(
    "policy", [BusPolicy(background=40), BusPolicy(name="classic", background=40)], ids=lambda policy: policy.name
)
@pytest.mark.parametrize("background", [False, True], ids=["blocking", "background"])
async def test_more_live_runs_than_the_limit_are_refused_until_one_ends(policy: BusPolicy, *, background: bool) -> None:
    one_more = calls(call("spawn", agent="researcher", task="work", background=background))
    crew = Crew(
        policy,
        researcher=taking(2, *[9] * 32),
        assistant=alike(starts(*["researcher"] * 31), one_more, works(3), one_more),
    )

    await crew.play()

    *_, refused, accepted = crew.results("spawn")
    assert refused["outcome_of_call"] == "error"
    assert refused["said"].startswith("rate_limited: at most 32 runs")
    assert "32 are" in refused["said"]
    assert accepted["outcome_of_call"] == "ok"
    assert [facts["address"] for facts in crew.entries.of("spawn")][-1] == "researcher#32"


@pytest.mark.rows("T156")
async def test_what_is_sent_before_the_first_call_of_a_run_is_in_its_first_prompt_without_a_replay_mark() -> None:
    start_and_write = [
        call("spawn", agent="researcher", task="find out", background=True),
        call("send_message", to="researcher#1", text="use the cache"),
    ]
    crew = Crew(researcher=alike(), assistant=alike(calls(*start_and_write), awaits("researcher#1")))
    crew.on_start = lambda: crew.turn.say("and be quick")

    await crew.play()

    assert crew.prompt("assistant", 0) == ["go", "and be quick"]
    assert crew.prompt("researcher", 0) == ["find out", "and be quick", "[message from assistant] use the cache"]
    assert origins_of(crew.prompts("researcher")[0]) == ["agent", "person", "agent"]


@pytest.mark.rows("T067", "B65")
async def test_everyone_is_every_run_that_reads_but_the_sender_and_the_person_is_no_run() -> None:
    crew = Crew(
        researcher=[[works(1), sends("everyone", "hello"), works(9), says("1")], alike(works(9))],
        assistant=alike(starts("researcher", "researcher"), works(9), awaits("researcher#1", "researcher#2")),
    )

    async with crew.open() as turn:
        await crew.clock.advance(2)
        spoken = turn.say("hello, all", to="everyone")
        sent = turn.bus.send_external("ci", "and from me", message_id="x1")
        await crew.clock.advance(60)

    assert [address for address, _ in spoken.matched] == ["assistant", "researcher#1", "researcher#2"]
    assert [address for address, _ in sent.matched] == ["assistant", "researcher#1", "researcher#2"]
    assert crew.entries.of("message", "researcher#1")[0]["matched"] == [
        ["assistant", "running"],
        ["researcher#2", "running"],
    ]


@pytest.mark.rows("T370")
async def test_under_classic_background_workers_are_started_written_to_and_awaited_alike() -> None:
    crew = Crew(
        BusPolicy.classic(),
        researcher=[works(1), *taking(4)[0]],
        assistant=alike(starts("researcher"), sends("researcher#1", "use the cache"), awaits("researcher#1")),
    )

    await crew.play()

    (waited,) = crew.results("await_workers")
    assert (waited["cause"], waited["workers"][0]["text"]) == ("ended", "after 4 s")
    assert crew.prompt("researcher", 1)[1:] == ["[message from assistant] use the cache"]


@pytest.mark.rows("T370")
async def test_under_classic_a_question_to_a_run_that_has_ended_waits_for_its_deadline_and_is_reported() -> None:
    crew = Crew(
        BusPolicy.classic(),
        researcher=taking(1),
        assistant=alike(starts("researcher"), works(2), asks("researcher#1", deadline_s=10)),
    )

    result = await crew.play()

    (asked,) = crew.results("ask")
    assert (asked["at_s"], asked["outcome"]) == (12, "deadline")
    assert [one.text for one in result.report.unmet] == ["which cache?"]
