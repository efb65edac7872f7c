"""Asking one other run and waiting for its reply, as the tools do it: a wait always ends, and says why."""

from typing import Any

import pytest
from pydantic_ai import FunctionToolset, RunContext

from restante.bus import BusPolicy
from restante.testing import Step, call, calls, fails, says
from restante.turn import asking_tools, messaging_tools, spawn_tools
from restante.turn.mailbox import mailbox_of
from tests.turn.crew import Crew, asks, awaits, starts, works
from tests.turn.playing import origins_of
from tests.turn.stage import sends
from tests.turn.test_background import alike

pytestmark = pytest.mark.anyio

LISTS = calls(call("list_agents"))
LEAVES = awaits("scout#1", "coder#1", timeout_s=1_000)


def pair(scout: list[Step], coder: list[Step], *, policy: BusPolicy | None = None) -> Crew:
    """A scout and a coder in the background, and an entry run that awaits both."""
    return Crew(policy, scout=scout, coder=coder, assistant=alike(starts("scout", "coder"), *[LEAVES] * 8))


def waits_again(question_id: str, **options: object) -> Step:
    """A round that waits for a reply once more."""
    return calls(call("await_reply", question_id=question_id, **options))


@pytest.mark.rows("T334")
def test_asking_has_exactly_two_tools_that_neither_messaging_nor_spawning_has() -> None:
    asking, messaging, spawning = asking_tools(), messaging_tools(), spawn_tools({})
    assert set(asking.tools) == {"ask", "await_reply"}
    assert set(spawning.tools) == {"spawn", "await_workers", "cancel_worker"}
    assert set(messaging.tools) == {"send_message", "list_agents"}
    assert len({asking.id, messaging.id, spawning.id}) == 3


@pytest.mark.rows("T246")
async def test_a_reply_ends_the_ask_and_is_read_at_the_next_boundary_like_any_message() -> None:
    crew = pair(alike(asks("coder#1", deadline_s=60)), alike(works(2), works(1), sends("scout#1", "the red one")))

    result = await crew.play()

    (asked,) = crew.results("ask")
    assert (asked["at_s"], asked["outcome"], asked["question_id"], asked["reply_id"]) == (3, "answered", "m1", "m2")
    assert "the red one" not in str(asked)
    assert crew.prompt("scout", 1)[1:] == ["[message from coder#1] the red one"]
    question, reply = result.record["messages"]
    assert (question["text"], question["in_reply_to"]) == ("which cache?", None)
    assert (reply["text"], reply["in_reply_to"]) == ("the red one", "m1")
    assert [fate["state"] for message in (question, reply) for fate in message["fates"]] == ["delivered"] * 2
    claimed = [(one.facts["message_id"], one.address) for one in crew.entries if one.kind == "delivery"]
    assert claimed == [("m1", "coder#1"), ("m2", "scout#1")]


@pytest.mark.rows("T247")
@pytest.mark.parametrize("to", ["scout", "everyone"])
async def test_a_message_to_a_label_or_to_everyone_is_mail_and_no_reply(to: str) -> None:
    crew = pair(alike(asks("coder#1")), alike(works(2), sends(to, "the red one"), works(50)))

    await crew.play()

    (asked,) = crew.results("ask")
    assert (asked["at_s"], asked["outcome"]) == (2, "mail")
    assert "reply_id" not in asked
    assert crew.prompt("scout", 1)[1:] == ["[message from coder#1] the red one"]


@pytest.mark.rows("T247")
async def test_a_message_to_everyone_that_says_what_it_answers_is_the_reply() -> None:
    async def reply(ctx: RunContext[Any]) -> str:
        mailbox = mailbox_of(ctx)
        assert mailbox
        return mailbox.reader.send("everyone", "the red one", in_reply_to="m1").text

    crew = pair(alike(asks("coder#1")), alike(works(2), calls(call("reply")), works(50)))
    coder = crew.agents["coder"]
    with coder.override(toolsets=[*coder.toolsets, FunctionToolset([reply])]):
        await crew.play()

    (asked,) = crew.results("ask")
    assert (asked["at_s"], asked["outcome"], asked["reply_id"]) == (2, "answered", "m2")


@pytest.mark.rows("T248")
async def test_of_two_open_questions_to_one_run_the_older_is_answered_and_the_other_waits_on() -> None:
    two = calls(call("ask", to="coder#1", text="one?"), call("ask", to="coder#1", text="two?"))
    crew = pair(alike(two), alike(works(2), sends("scout#1", "yes"), works(5), sends("scout#1", "no")))

    await crew.play()

    first, second = crew.results("ask")
    assert [(one["at_s"], one["outcome"], one["question_id"]) for one in (first, second)] == [
        (2, "answered", "m1"),
        (7, "answered", "m2"),
    ]


@pytest.mark.rows("T249")
async def test_a_deadline_that_passes_is_told_and_the_late_reply_is_an_ordinary_message() -> None:
    crew = pair(
        alike(asks("coder#1", deadline_s=5), works(3)), alike(works(1), works(6), sends("scout#1", "the red one"))
    )

    async with crew.open() as turn:
        await crew.clock.advance(5)
        (asked,) = crew.results("ask")
        assert (asked["at_s"], asked["outcome"], asked["question_id"]) == (5, "deadline", "m1")
        assert "neither a yes nor a no" in asked["note"]
        assert {fate.state for fate in turn.bus.fates("m1")} == {"delivered"}
        await crew.clock.advance(100)
        result = await turn.result()

    late = result.record["messages"][1]
    assert (late["at_s"], late["in_reply_to"]) == (7, "m1")
    assert crew.prompt("scout", 2)[1:] == ["[message from coder#1] the red one"]


@pytest.mark.rows("T249")
async def test_a_question_whose_deadline_has_passed_unread_is_still_owed() -> None:
    crew = pair(alike(asks("coder#1", deadline_s=5)), alike(works(20)))

    async with crew.open() as turn:
        await crew.clock.advance(5)
        assert crew.results("ask")[0]["outcome"] == "deadline"
        assert [(fate.address, fate.state) for fate in turn.bus.fates("m1")] == [("coder#1", "accepted")]
        await crew.clock.advance(100)

    question, notice = crew.prompt("coder", 1)[1:]
    assert question == "[message from scout#1] which cache?"
    assert "has waited for your reply, and no more" in notice


@pytest.mark.rows("T250")
async def test_a_question_without_a_deadline_waits_for_five_minutes() -> None:
    crew = pair(alike(asks("coder#1")), alike(works(400)))

    await crew.play()

    (asked,) = crew.results("ask")
    assert (asked["at_s"], asked["outcome"]) == (300, "deadline")


@pytest.mark.rows("T250")
@pytest.mark.parametrize("deadline_s", [0, -1, 3_600.5, "soon", True])
async def test_a_deadline_out_of_its_range_is_refused_and_nothing_waits(deadline_s: object) -> None:
    crew = pair(
        alike(asks("coder#1", deadline_s=deadline_s), waits_again("m1", deadline_s=deadline_s)), alike(works(9))
    )

    result = await crew.play()

    (refused,) = crew.results("ask")
    assert (refused["at_s"], refused["outcome_of_call"]) == (0, "error")
    assert refused["said"].startswith("invalid_arguments: deadline_s is")
    assert "more than 0 and at most 3600 seconds" in refused["said"]
    assert result.record["messages"] == []


@pytest.mark.rows("T251")
@pytest.mark.parametrize(
    ("last", "how"), [(says("no time"), "answered"), (fails("no more disk"), "error")], ids=["answers", "fails"]
)
async def test_the_end_of_the_one_who_was_asked_ends_the_ask_and_says_how(last: Step, how: str) -> None:
    crew = pair(alike(asks("coder#1", deadline_s=60)), [works(4), last])

    await crew.play()

    (asked,) = crew.results("ask")
    assert (asked["at_s"], asked["outcome"], asked["how"]) == (4, "ended", how)


@pytest.mark.rows("T251")
async def test_a_run_that_replies_and_ends_at_once_has_answered() -> None:
    crew = pair(alike(asks("coder#1")), [works(4), sends("scout#1", "the red one"), says("done")])

    await crew.play()

    assert crew.results("ask")[0]["outcome"] == "answered"


@pytest.mark.rows("T252", "T253")
@pytest.mark.parametrize(
    ("to", "text", "code"),
    [
        ("helper#1", "which?", "recipient_finished"),
        ("nobody", "which?", "not_found"),
        ("scout", "which?", "self_send"),
        ("coder#1", " ", "text_blank"),
        ("coder", "which?", "ambiguous_target"),
        ("everyone", "which?", "ambiguous_target"),
    ],
)
async def test_what_cannot_be_asked_is_refused_at_once_with_a_code_and_nothing_waits(
    to: str, text: str, code: str
) -> None:
    crew = Crew(
        helper=[says("done")],
        coder=alike(works(20)),
        scout=alike(works(1), asks(to, text)),
        assistant=alike(starts("helper", "coder", "coder", "scout"), awaits("scout#1")),
    )

    result = await crew.play()

    (refused,) = crew.results("ask")
    assert (refused["at_s"], refused["outcome_of_call"]) == (1, "error")
    assert refused["said"].startswith(f"{code}: ")
    if code == "ambiguous_target":
        assert "coder#1, coder#2" in refused["said"]
    assert result.record["messages"] == []


@pytest.mark.rows("T254", "B184")
async def test_a_ring_of_asks_is_refused_with_its_chain_and_others_can_still_be_asked() -> None:
    crew = Crew(
        d=alike(works(3), sends("c#1", "yes")),
        c=alike(works(2), asks("a#1"), asks("d#1"), sends("b#1", "yes")),
        b=alike(works(1), asks("a#1"), asks("c#1"), sends("a#1", "yes")),
        a=alike(asks("b#1")),
        assistant=alike(starts("a", "b", "c", "d"), awaits("a#1", "b#1", "c#1", "d#1")),
    )

    result = await crew.play()

    refused = [*crew.results("ask", "b#1")[:1], *crew.results("ask", "c#1")[:1]]
    for one, chain in zip(refused, ["a#1 waits for you", "a#1 waits for b#1, b#1 waits for you"], strict=True):
        assert one["said"].startswith("wait_cycle: ")
        assert chain in one["said"]
        assert "plain message" in one["said"]
    asked = crew.results("ask")
    assert [one["outcome"] for one in asked if "outcome" in one] == ["answered"] * 3
    assert [(one["sender"], one["to"]) for one in result.record["messages"] if one["answer_by_s"]] == [
        ("a#1", "b#1"),
        ("b#1", "c#1"),
        ("c#1", "d#1"),
    ]


@pytest.mark.rows("T255", "B185")
async def test_whoever_waits_in_a_blocking_spawn_cannot_be_asked_from_below_but_written_to() -> None:
    crew = Crew(
        helper=alike(asks("assistant"), sends("assistant", "from deep below")),
        lead=alike(asks("assistant"), sends("assistant", "from below"), calls(call("spawn", agent="helper", task="x"))),
        assistant=alike(calls(call("spawn", agent="lead", task="x"))),
    )

    result = await crew.play()

    for address in ("lead#1", "helper#1"):
        (refused,) = crew.results("ask", address)
        assert refused["said"].startswith("wait_cycle: ")
    assert crew.prompt("assistant", 1)[1:] == [
        "[message from lead#1] from below",
        "[message from helper#1] from deep below",
    ]
    assert result.report == ((), ())


@pytest.mark.rows("T256")
async def test_a_parent_that_awaits_can_be_asked_and_its_reply_ends_the_ask() -> None:
    crew = Crew(
        scout=[works(1), asks("assistant"), says("done")],
        assistant=alike(starts("scout"), awaits("scout#1"), sends("scout#1", "the red one"), awaits("scout#1")),
    )

    await crew.play()

    assert [one["cause"] for one in crew.results("await_workers")] == ["mail", "ended"]
    question, notice = crew.prompt("assistant", 2)[1:]
    assert question == "[message from scout#1] which cache?"
    assert "scout#1 waits for your reply" in notice
    (asked,) = crew.results("ask")
    assert (asked["outcome"], asked["at_s"]) == ("answered", 1)


@pytest.mark.rows("T258")
@pytest.mark.parametrize("ended_by", ["deadline", "mail"])
async def test_who_no_longer_waits_can_be_asked_by_the_one_it_asked(ended_by: str) -> None:
    talk = [sends("scout", "by the way")] if ended_by == "mail" else []
    crew = pair(
        alike(asks("coder#1", deadline_s=5), works(20), sends("coder#1", "yes")),
        alike(works(1), *talk, works(6), asks("scout#1")),
    )

    await crew.play()

    assert crew.results("ask", "scout#1")[0]["outcome"] == ended_by
    assert crew.results("ask", "coder#1")[0]["outcome"] == "answered"


@pytest.mark.rows("T259", "T367")
async def test_other_mail_ends_an_ask_early_and_the_wait_can_be_taken_up_again() -> None:
    crew = pair(alike(asks("coder#1"), waits_again("m1")), alike(works(5), sends("scout#1", "the red one"), works(9)))

    async with crew.open() as turn:
        await crew.clock.advance(2)
        turn.say("be quick", to="scout#1")
        await crew.clock.advance(2_000)
        result = await turn.result()

    (asked,), (again,) = crew.results("ask"), crew.results("await_reply")
    assert (asked["at_s"], asked["outcome"], asked["question_id"]) == (2, "mail", "m1")
    assert "await_reply" in asked["note"]
    assert crew.prompt("scout", 1)[1:] == ["be quick"]
    assert (again["at_s"], again["outcome"]) == (5, "answered")
    assert (again["question_id"], again["reply_id"]) == ("m1", "m3")
    assert [one["text"] for one in result.record["messages"]] == ["which cache?", "be quick", "the red one"]


@pytest.mark.rows("T367")
async def test_a_reply_that_came_while_nobody_waited_is_told_at_once_and_a_second_wait_has_its_own_deadline() -> None:
    crew = pair(
        alike(asks("coder#1", deadline_s=5), waits_again("m1", deadline_s=2), works(20), waits_again("m1")),
        alike(works(10), sends("scout#1", "the red one"), works(50)),
    )

    await crew.play()

    (asked,), (early, late) = crew.results("ask"), crew.results("await_reply")
    assert (asked["at_s"], asked["outcome"]) == (5, "deadline")
    assert (early["at_s"], early["outcome"]) == (7, "deadline")
    assert (late["at_s"], late["outcome"], late["reply_id"]) == (27, "answered", "m2")


@pytest.mark.rows("T367")
async def test_waiting_again_ends_when_the_one_who_was_asked_ends_and_on_other_mail() -> None:
    crew = pair(
        alike(asks("coder#1", deadline_s=1), waits_again("m1"), waits_again("m1")),
        [works(5), sends("scout", "by the way"), works(5), says("done")],
    )

    result = await crew.play()

    assert [(one["at_s"], one["outcome"]) for one in crew.results("await_reply")] == [(5, "mail"), (10, "ended")]
    assert len(result.record["messages"]) == 2


@pytest.mark.rows("T369")
async def test_waiting_for_what_is_no_question_of_ones_own_is_refused() -> None:
    crew = pair(
        alike(sends("coder#1", "plain"), asks("coder#1", deadline_s=1), waits_again("m1"), waits_again("m99")),
        alike(works(5), waits_again("m2"), asks("scout#1")),
    )

    await crew.play()

    refused = crew.results("await_reply")
    assert len(refused) == 3
    for one in refused:
        assert one["said"].startswith("invalid_reference: ")


@pytest.mark.rows("T369")
async def test_waiting_again_for_one_that_meanwhile_waits_for_the_asker_is_refused_with_the_chain() -> None:
    crew = pair(
        alike(works(1), asks("coder#1", deadline_s=1), works(9), waits_again("m1"), sends("coder#1", "yes"), works(9)),
        alike(
            calls(call("ask", to="scout#1", text="why?"), seconds=5), waits_again("m2"), sends("scout#1", "the red one")
        ),
    )

    async with crew.open() as turn:
        await crew.clock.advance(11)
        (refused,) = crew.results("await_reply", "scout#1")
        assert refused["said"].startswith("wait_cycle: ")
        assert "coder#1 waits for you" in refused["said"]
        await crew.clock.advance(1_000)
        result = await turn.result()

    assert result.record["messages"][-1]["in_reply_to"] == "m1"
    assert {fate.state for fate in turn.bus.fates("m1")} == {"delivered"}


@pytest.mark.rows("T260", "B31")
async def test_of_four_asks_in_one_round_two_are_answered_and_two_stay_without_a_reply() -> None:
    four = calls(*(call("ask", to=f"coder#{number}", text="yes or no?", deadline_s=30) for number in (1, 2, 3, 4)))
    replies = [works(5), sends("scout#1", "yes"), works(90), says("done")]
    crew = Crew(
        scout=alike(works(1), four),
        coder=[[works(2), *replies], [works(90)], [works(3), *replies], [works(90)]],
        assistant=alike(starts("scout", *["coder"] * 4), awaits("scout#1")),
    )

    await crew.play()

    asked = {one["asked"]: one for one in crew.results("ask")}
    assert {address: one["outcome"] for address, one in asked.items()} == {
        "coder#1": "answered",
        "coder#2": "deadline",
        "coder#3": "answered",
        "coder#4": "deadline",
    }
    assert len({one["question_id"] for one in asked.values()}) == 4
    assert [asked[f"coder#{number}"]["at_s"] for number in (1, 3, 2, 4)] == [7, 8, 31, 31]


@pytest.mark.rows("T262")
async def test_a_question_reads_as_a_message_and_then_the_bus_says_who_waits_until_when_and_how_to_answer() -> None:
    crew = pair(alike(asks("coder#1", "two\nlines?", deadline_s=60)), alike(works(20)))

    await crew.play()

    question, notice = crew.prompt("coder", 1)[1:]
    assert question == "[message from scout#1] two\n> lines?"
    assert notice.startswith("[notice] scout#1 waits for your reply for 40 s more.")
    assert "To answer, send a message to exactly scout#1" in notice
    assert "m1" in notice
    assert origins_of(crew.prompts("coder")[1]) == ["agent", "agent", "bus"]
    assert [facts["origins"] for facts in crew.entries.of("move", "coder#1")] == [["agent"]]
    assert crew.turn.bus.person_words() == ()


@pytest.mark.rows("T263")
async def test_a_stop_during_an_ask_leaves_its_unread_question_stopped() -> None:
    crew = pair(alike(asks("coder#1")), alike(works(20)))

    async with crew.open() as turn:
        await crew.clock.advance(3)
        turn.stop()
        result = await turn.result()

    assert [(one.text, one.reason) for one in result.report.unmet] == [("which cache?", "stopped")]
    assert [facts["outcome"] for facts in crew.entries.of("tool_result", "scout#1")] == ["not_executed"]


async def test_a_worker_that_is_ended_while_it_asks_waits_for_nobody_any_more() -> None:
    crew = Crew(
        scout=alike(asks("coder#1")),
        coder=alike(works(5), asks("assistant", deadline_s=3)),
        assistant=alike(
            starts("scout", "coder"), works(2), calls(call("cancel_worker", address="scout#1")), awaits("coder#1")
        ),
    )

    await crew.play()

    assert crew.how("scout#1") == "cancelled"
    assert crew.prompt("coder", 1)[1] == "[message from scout#1] which cache?"
    assert crew.turn.bus._questions._waits == []


@pytest.mark.rows("T261")
async def test_a_reply_to_what_never_matched_the_replier_is_refused() -> None:
    said: list[str] = []

    async def reply(ctx: RunContext[Any], question_id: str) -> str:
        mailbox = mailbox_of(ctx)
        assert mailbox
        receipt = mailbox.reader.send("scout#1", "the red one", in_reply_to=question_id)
        said.append(str(receipt.code))
        return receipt.text

    crew = Crew(
        scout=alike(asks("assistant", deadline_s=1)),
        coder=alike(works(2), calls(call("reply", question_id="m1"), call("reply", question_id="m99"))),
        assistant=alike(starts("scout", "coder"), awaits("coder#1")),
    )
    coder = crew.agents["coder"]
    with coder.override(toolsets=[*coder.toolsets, FunctionToolset([reply])]):
        result = await crew.play()

    assert said == ["invalid_reference", "invalid_reference"]
    assert len(result.record["messages"]) == 1
