"""What the dispatch of a round's calls makes of who acts, reads and sends when."""

from dataclasses import replace
from typing import get_args

import pytest
from pydantic_ai.tool_manager import ParallelExecutionMode

from restante.bus import BusPolicy
from restante.testing import ScriptedModel, Step, call, calls, fails, says
from restante.testing.scripted import prompt_of
from tests.turn.playing import BOTH, last_parts
from tests.turn.stage import Cast, sends, spawns, waits

pytestmark = pytest.mark.anyio

both = pytest.mark.parametrize("policy", BOTH, ids=lambda policy: policy.name)
MODES: tuple[ParallelExecutionMode, ...] = get_args(ParallelExecutionMode)
LISTS = call("list_agents")


@both
@pytest.mark.rows("T165")
async def test_a_parent_goes_on_when_the_slowest_of_its_tools_has_returned(policy: BusPolicy) -> None:
    three = calls(LISTS, call("wait_at", gate="slow"), LISTS)
    cast = Cast(policy, assistant=[three, says("ok")])

    async with cast.turn() as turn:
        turn.say("hello")
        await cast.open()
        assert len(cast.all("tool_result")) == 2
        assert (len(cast.prompts("assistant")), cast.readers("hello")) == (1, [])
        await cast.open("slow")

    results = ["result of list_agents", "result of wait_at", "result of list_agents"]
    assert last_parts(cast.prompts("assistant")[1]) == [*results, "hello"]
    slow = cast.number("tool_result", "assistant", tool="wait_at")
    assert slow < cast.number("delivery", "assistant") < cast.number("round", "assistant", call=1)


@both
@pytest.mark.rows("T167")
async def test_of_spawns_that_are_dispatched_one_at_a_time_the_next_starts_when_the_last_has_ended(
    policy: BusPolicy,
) -> None:
    researcher = [[waits(f"end of {number}"), says(number)] for number in "123"]
    cast = Cast(
        policy,
        researcher=ScriptedModel.of_runs(*researcher),
        assistant=[spawns("researcher", "researcher", "researcher"), says("ok")],
    )

    async with cast.turn("sequential"):
        await cast.open("end of 1")
        opened = [entry.address for entry in cast.all("run_opened")]
        assert opened == ["assistant", "researcher#1", "researcher#2"]
        assert len(cast.prompts("researcher")) == 3
        assert len(cast.prompts("assistant")) == 1
        await cast.open("end of 2", "end of 3")

    assert cast.entries.results("spawn") == ["1", "2", "3"]


@both
@pytest.mark.rows("T197")
@pytest.mark.parametrize("mode", MODES)
async def test_a_parent_never_sends_between_the_start_and_the_end_of_a_blocking_spawn(
    policy: BusPolicy, mode: ParallelExecutionMode
) -> None:
    def send(text: str) -> Step:
        to_all = call("send_message", to="everyone", text=text)
        return calls(to_all, to_all)

    worker = [calls(LISTS), sends("assistant", "done"), says("ok")]
    cast = Cast(
        policy,
        researcher=worker,
        assistant=[
            send("0"),
            spawns("researcher", "researcher"),
            send("2"),
            spawns("researcher"),
            send("4"),
            says("ok"),
        ],
    )

    async with cast.turn(mode):
        pass

    starts = [entry.number for entry in cast.all("spawn", "assistant")]
    ends = [entry.number for entry in cast.all("tool_result", "assistant") if entry.facts["tool"] == "spawn"]
    messages = cast.all("message", "assistant")
    assert (len(starts), len(ends), len(messages)) == (3, 3, 6)
    for sent in messages:
        assert sum(start < sent.number for start in starts) == sum(end < sent.number for end in ends)
        rounds = [entry.facts["call"] for entry in cast.all("round", "assistant") if entry.number < sent.number]
        assert rounds[-1] == int(str(sent.facts["text"]))


@pytest.mark.rows("T201")
async def test_under_classic_one_worker_at_a_time_hears_itself_and_writes_to_whoever_has_ended() -> None:
    first = [sends("researcher", "is anybody there?"), says("1")]
    second = [sends("researcher#1", "I am"), says("2")]
    cast = Cast(
        BusPolicy.classic(),
        researcher=ScriptedModel.of_runs(first, second),
        assistant=[spawns("researcher", "researcher"), says("ok")],
    )

    async with cast.turn("sequential") as turn:
        result = await turn.result()

    asked, answered = cast.all("message")
    assert (asked.facts["matched"], answered.facts["matched"]) == ([["researcher#1", None]], [["researcher#1", None]])
    assert cast.readers("is anybody there?") == ["researcher#1", "researcher#2"]
    assert cast.number("delivery", "researcher#2", text="is anybody there?", replayed=True)
    assert cast.number("delivery", "researcher#1", text="is anybody there?", replayed=False)
    assert [(unmet.sender, unmet.text) for unmet in result.report.unmet] == [("researcher#2", "I am")]


@pytest.mark.rows("T202")
@pytest.mark.reach("any run that knows its address", "a run that has ended", "any", "refused at once")
async def test_one_worker_at_a_time_cannot_mean_itself_and_is_told_that_the_other_has_ended() -> None:
    first = [sends("researcher", "is anybody there?"), sends("everyone", "I was here"), says("1")]
    second = [sends("researcher#1", "I am"), says("2")]
    cast = Cast(
        BusPolicy(),
        researcher=ScriptedModel.of_runs(first, second),
        assistant=[spawns("researcher", "researcher"), says("ok")],
    )

    async with cast.turn("sequential") as turn:
        result = await turn.result()

    answers = [text.split()[0] for text in cast.entries.results("send_message")]
    assert answers == ["self_send:", "Accepted", "recipient_finished:"]
    (broadcast,) = cast.all("message")
    assert broadcast.facts["matched"] == [["assistant", "waiting"]]
    assert cast.readers("I was here") == ["researcher#2", "assistant"]
    assert cast.number("delivery", "researcher#2", replayed=True)
    assert result.report.unmet == ()


@both
@pytest.mark.rows("T216")
@pytest.mark.parametrize("mode", ["sequential", "parallel"])
@pytest.mark.parametrize("ending", ["answered", "error", "cancelled"])
async def test_three_levels_down_each_sends_under_its_own_address_before_and_after_its_worker(
    policy: BusPolicy, mode: ParallelExecutionMode, ending: str
) -> None:
    def around(worker: str) -> list[Step]:
        return [sends("everyone", "before"), spawns(worker), sends("everyone", "after"), says("ok")]

    last = {"answered": says("ok"), "error": fails("boom"), "cancelled": waits("never opened")}[ending]
    cast = Cast(
        policy,
        tester=[sends("everyone", "before"), last],
        coder=around("tester"),
        lead=around("coder"),
        assistant=around("lead"),
    )

    async with cast.turn(mode) as turn:
        if ending == "cancelled":
            cast.spawning["coder"].give_up()
        result = await turn.result()

    assert [ran.how for ran in result.runs] == [ending, "answered", "answered", "answered"]
    down = ["assistant", "lead#1", "coder#1", "tester#1"]
    assert [(entry.facts["text"], entry.facts["sender"]) for entry in cast.all("message")] == [
        *(("before", sender) for sender in down),
        *(("after", sender) for sender in reversed(down[:-1])),
    ]


@both
@pytest.mark.rows("T151", "B78")
async def test_what_is_sent_in_the_third_of_twenty_rounds_is_first_in_the_fourth_prompt(policy: BusPolicy) -> None:
    rounds = [*[calls(LISTS)] * 2, waits("third round"), *[calls(LISTS)] * 16, says("ok")]
    cast = Cast(replace(policy, rounds=20), assistant=rounds)

    async with cast.turn() as turn:
        turn.say("look here")
        await cast.open("third round")

    prompts = cast.prompts("assistant")
    assert len(prompts) == 20
    assert ["look here" in prompt_of(prompt) for prompt in prompts] == [False] * 3 + [True] * 17
    assert last_parts(prompts[3]) == ["result of wait_at", "look here"]
