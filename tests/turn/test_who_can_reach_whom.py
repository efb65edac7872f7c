"""Who can reach whom, and when: the person, siblings, parents, workers. What happens before what is said by gates."""

import pytest

from restante.bus import BusPolicy, Receipt
from restante.testing import ScriptedModel, call, calls, says
from tests.turn.playing import BOTH, last_parts
from tests.turn.stage import Cast, sends, spawns, waits

pytestmark = pytest.mark.anyio

both = pytest.mark.parametrize("policy", BOTH, ids=lambda policy: policy.name)
LISTS = call("list_agents")

# The person


@both
@pytest.mark.rows("T188")
@pytest.mark.reach("the person", "the entry agent", "blocking", "its next prompt, in the same turn")
async def test_what_the_person_says_in_a_round_of_the_entry_agent_is_its_next_prompt_in_the_same_turn(
    policy: BusPolicy,
) -> None:
    cast = Cast(policy, assistant=[waits("end of round"), says("hi, bye")])

    async with cast.turn() as turn:
        assert turn.say("also say bye").accepted
        await cast.open("end of round")
        result = await turn.result()

    first, second = cast.prompts("assistant")
    assert (last_parts(first), last_parts(second)) == (["go"], ["result of wait_at", "also say bye"])
    assert (result.output, result.report.next_turn) == ("hi, bye", ())


@both
@pytest.mark.rows("T190")
async def test_what_the_person_says_while_a_reply_is_streamed_neither_waits_for_its_end_nor_begins_a_turn(
    policy: BusPolicy,
) -> None:
    cast = Cast(policy, assistant=[waits("streamed"), says("one two three"), says("hi, bye")])
    heard: list[str] = []
    receipts: list[Receipt] = []

    def listen(_: str, piece: str) -> None:
        heard.append(piece)
        if piece == "two ":
            receipts.append(turn.say("also say bye"))
            heard.append("the person")

    cast.on_text = listen
    async with cast.turn() as turn:
        await cast.open("streamed")
        result = await turn.result()

    assert [piece for piece in heard if piece] == ["one ", "two ", "the person", "three", "hi, ", "bye"]
    assert receipts[0].accepted
    assert last_parts(cast.prompts("assistant")[-1]) == ["also say bye"]
    assert (result.output, result.report.next_turn) == ("hi, bye", ())
    assert len(cast.all("run_opened")) == 1


@both
@pytest.mark.rows("T189")
@pytest.mark.reach("the person", "a worker", "blocking", "at its own next boundary")
async def test_while_the_entry_agent_waits_each_worker_reads_the_person_at_its_own_boundary(policy: BusPolicy) -> None:
    first, second = ([waits("one"), says("1")], [waits("two"), says("2")])
    cast = Cast(
        policy,
        researcher=ScriptedModel.of_runs(first, second),
        assistant=[spawns("researcher", "researcher"), says("ok")],
    )

    async with cast.turn() as turn:
        turn.say("be brief")
        await cast.open()
        assert cast.readers("be brief") == []
        await cast.open("one")
        assert cast.readers("be brief") == ["researcher#1"]
        await cast.open("two")

    assert cast.readers("be brief") == ["researcher#1", "researcher#2", "assistant"]
    assert last_parts(cast.prompts("assistant")[1]) == ["result of spawn", "result of spawn", "be brief"]
    for prompts in cast.prompts("researcher")[-2:]:
        assert last_parts(prompts) == ["result of wait_at", "be brief"]


# Siblings


@both
@pytest.mark.rows("T191")
@pytest.mark.reach("a worker", "its sibling", "blocking", "at its next boundary, with no act of the parent between")
async def test_a_worker_reads_its_sibling_at_its_next_boundary_without_any_act_of_their_parent(
    policy: BusPolicy,
) -> None:
    first = [waits("both run"), sends("researcher#2", "the cache is cold"), waits("end"), says("1")]
    cast = Cast(
        policy,
        researcher=ScriptedModel.of_runs(first, [waits("two"), says("2")]),
        assistant=[spawns("researcher", "researcher"), says("ok")],
    )

    async with cast.turn():
        await cast.open("both run")
        assert cast.readers("the cache is cold") == []
        await cast.open("two")
        assert cast.readers("the cache is cold") == ["researcher#2"]
        assert cast.all("run_closed", "researcher#1") == []
        await cast.open("end")

    sent = cast.number("message", "researcher#1")
    read = cast.number("delivery", "researcher#2")
    assert cast.between(sent, read, "assistant") == []
    assert cast.between(sent, read, "researcher#2") == ["tool_result"]


@both
@pytest.mark.rows("T196")
@pytest.mark.reach("any run that knows its address", "a worker", "any", "at its next boundary, whoever waits for it")
@pytest.mark.parametrize("parent", ["assistant", "lead#1"])
async def test_whoever_knows_the_address_of_a_worker_can_write_to_it_though_its_parent_waits(
    policy: BusPolicy, parent: str
) -> None:
    of_lead = [spawns("coder"), says("led")] if parent == "lead#1" else [says("led")]
    entry = ["researcher", "lead"] if parent == "lead#1" else ["researcher", "coder"]
    cast = Cast(
        policy,
        coder=[waits("coder"), says("coded")],
        lead=of_lead,
        researcher=[waits("all run"), sends("coder#1", "use the cache"), says("found")],
        assistant=[spawns(*entry), says("ok")],
    )

    async with cast.turn() as turn:
        await cast.open("all run")
        lines = {line.address: line.state for line in turn.bus.roster()}
        await cast.open("coder")

    assert cast.entries.results("send_message")[0].startswith("Accepted for coder#1")
    assert cast.readers("use the cache") == ["coder#1"]
    if policy.liveness:
        assert lines[parent] == "waiting"


# A worker, and who waits for it


@both
@pytest.mark.rows("T193")
@pytest.mark.reach("a worker", "its parent", "blocking", "in the round after all results")
async def test_a_parent_reads_its_worker_in_the_round_after_all_results(policy: BusPolicy) -> None:
    first = [sends("assistant", "found it"), says("42")]
    cast = Cast(
        policy,
        researcher=ScriptedModel.of_runs(first, [waits("sibling"), says("43")]),
        assistant=[spawns("researcher", "researcher"), says("ok")],
    )

    async with cast.turn():
        assert cast.entries.story("researcher#1")[-1] == "answers 42"
        assert cast.readers("found it") == []
        await cast.open("sibling")

    assert cast.entries.story("assistant")[5:9] == ["spawn: ok", "spawn: ok", "reads found it", "round 1"]
    assert last_parts(cast.prompts("assistant")[1])[:2] == ["result of spawn"] * 2
    assert last_parts(cast.prompts("assistant")[1])[2:] == ["[message from researcher#1] found it"]


@both
@pytest.mark.rows("T169")
async def test_what_one_worker_wrote_is_read_after_the_values_of_both(policy: BusPolicy) -> None:
    second = [calls(LISTS), waits("second"), calls(LISTS), says("43")]
    cast = Cast(
        policy,
        researcher=ScriptedModel.of_runs([sends("assistant", "look at 42"), says("42")], second),
        assistant=[spawns("researcher", "researcher"), says("ok")],
    )

    async with cast.turn():
        assert cast.all("run_closed", "researcher#1")
        await cast.open("second")

    returned = [entry.number for entry in cast.all("tool_result", "assistant")]
    read = cast.number("delivery", "assistant")
    assert cast.number("answer", "researcher#1") < cast.number("round", "researcher#2", call=2) < read
    assert returned[0] < returned[1] < read
    assert cast.entries.results("spawn") == ["42", "43"]


@both
@pytest.mark.rows("T194")
@pytest.mark.reach("a parent", "a worker that is not there yet", "any", "when it starts, after one round of the parent")
async def test_a_worker_that_is_not_there_yet_reads_the_brief_that_was_broadcast_one_round_earlier(
    policy: BusPolicy,
) -> None:
    brief = calls(LISTS, call("send_message", to="everyone", text="check the cache first"))
    cast = Cast(
        policy,
        researcher=[calls(LISTS), says("cold")],
        assistant=[brief, spawns("researcher"), says("ok")],
    )

    async with cast.turn():
        pass

    read = cast.number("delivery", "researcher#1", text="check the cache first", replayed=True)
    sent = cast.number("message", "assistant")
    rounds = [entry.number for entry in cast.all("round", "assistant")]
    assert [number < read for number in rounds] == [True, True, False]
    assert rounds[0] < sent < rounds[1] < cast.number("spawn", "assistant") < read
    assert cast.entries.results("list_agents", "assistant")[0].startswith("- assistant")


@both
@pytest.mark.rows("T195")
@pytest.mark.reach("a parent", "a worker that is there", "blocking", "not while it waits, and then it has ended")
async def test_while_a_parent_waits_it_acts_on_nothing_and_then_all_that_it_knows_have_returned(
    policy: BusPolicy,
) -> None:
    act = calls(call("send_message", to="researcher#1", text="hurry"), LISTS)
    cast = Cast(
        policy,
        researcher=ScriptedModel.of_runs([waits("one"), says("1")], [waits("two"), says("2")]),
        assistant=[spawns("researcher", "researcher"), act, says("ok")],
    )

    async with cast.turn():
        await cast.open("one")
        assert len(cast.prompts("assistant")) == 1
        assert [entry.kind for entry in cast.entries if entry.address == "assistant"][-1] == "tool_result"
        await cast.open("two")

    spawned = [entry.number for entry in cast.all("spawn", "assistant")]
    returned = [entry.number for entry in cast.all("tool_result", "assistant") if entry.facts["tool"] == "spawn"]
    assert cast.between(spawned[-1], returned[-1], "assistant") == ["tool_result"]
    acted = cast.number("tool_call", "assistant", tool="send_message")
    assert all(entry.number < acted for entry in cast.all("run_closed") if entry.address != "assistant")
    assert cast.readers("hurry") == []


@both
@pytest.mark.rows("T203")
@pytest.mark.reach("a worker's worker", "its parent's sibling", "blocking", "at its next boundary")
@pytest.mark.reach("a worker's worker", "its grandparent", "blocking", "once that need not wait any more")
async def test_the_worker_of_a_worker_reaches_its_uncle_at_once_and_its_ancestors_once_they_need_not_wait(
    policy: BusPolicy,
) -> None:
    to_each = [sends(to, f"to {to}") for to in ("researcher#1", "lead#1", "assistant")]
    cast = Cast(
        policy,
        coder=[waits("all run"), *to_each, waits("coder"), says("coded")],
        lead=[spawns("coder"), waits("lead"), says("led")],
        researcher=[waits("researcher"), waits("researcher ends"), says("found")],
        assistant=[spawns("lead", "researcher"), says("ok")],
    )

    async with cast.turn():
        await cast.open("all run")
        await cast.open("researcher")
        assert cast.readers("to researcher#1") == ["researcher#1"]
        await cast.open("coder")
        assert cast.readers("to lead#1") == ["lead#1"]
        await cast.open("lead")
        assert cast.readers("to assistant") == []
        await cast.open("researcher ends")

    ended = {entry.address: entry.number for entry in cast.all("run_closed")}
    assert cast.number("delivery", "researcher#1") < ended["coder#1"] < cast.number("delivery", "lead#1")
    assert max(ended["lead#1"], ended["researcher#1"]) < cast.number("delivery", "assistant")
