"""Questions: one reply, no ring of waits, and what a wait is told."""

from itertools import count
from threading import Barrier, Thread

import pytest

from restante import BusPolicy, MessageBus, Reader, Receipt
from restante.errors import UnknownMessage
from tests.bus.policies import both


def crew(*labels: str, policy: BusPolicy | None = None) -> tuple[MessageBus, list[Reader]]:
    """A bus and a reader of each label."""
    bus = MessageBus(policy)
    return bus, [bus.open(label) for label in labels]


def asked(asker: Reader, to: str, text: str = "which cache?") -> str:
    """The id of a question that was accepted."""
    receipt = asker.question(to, text)
    assert receipt.accepted, receipt.text
    assert receipt.message_id
    return receipt.message_id


@both
def test_a_message_to_the_exact_address_of_who_asked_is_the_reply(policy: BusPolicy) -> None:
    bus, (scout, coder) = crew("scout", "coder", policy=policy)
    question = asked(scout, "coder#1")
    assert [delivery.message.text for delivery in coder.drain()] == ["which cache?"]

    reply = coder.send("scout#1", "the red one")

    assert scout.asked(question).reply_id == reply.message_id
    (delivery,) = scout.drain()
    assert delivery.message.in_reply_to == question
    assert {message["origin"] for message in bus.record()["messages"]} == {"agent"}
    assert {fate.state for fate in bus.fates(question)} == {"claimed"}


@both
@pytest.mark.parametrize("to", ["scout", "everyone"])
def test_a_message_to_a_label_or_to_everyone_is_no_reply_unless_it_says_so(policy: BusPolicy, to: str) -> None:
    _, (scout, coder) = crew("scout", "coder", policy=policy)
    question = asked(scout, "coder#1")
    coder.drain()

    coder.send(to, "the red one")
    assert scout.asked(question).reply_id is None
    assert scout.asked(question).other_mail

    reply = coder.send(to, "I mean you", in_reply_to=question)
    assert scout.asked(question).reply_id == reply.message_id


@both
def test_a_message_that_was_sent_before_the_question_was_read_answers_nothing(policy: BusPolicy) -> None:
    _, (scout, coder) = crew("scout", "coder", policy=policy)
    question = asked(scout, "coder#1")

    coder.send("scout#1", "by the way")

    assert scout.asked(question).reply_id is None
    assert [delivery.message.in_reply_to for delivery in scout.drain()] == [None]


@both
def test_an_address_that_nobody_has_is_refused_as_ever_while_a_question_is_open(policy: BusPolicy) -> None:
    _, (scout, coder) = crew("scout", "coder", policy=policy)
    asked(scout, "coder#1")
    coder.drain()

    assert [coder.send(to, "hello").code for to in ("writer", "writer#1", "coder#2")] == ["not_found"] * 3


@both
def test_what_others_say_to_who_asked_is_no_reply(policy: BusPolicy) -> None:
    bus, (scout, coder, writer) = crew("scout", "coder", "writer", policy=policy)
    question = asked(scout, "coder#1")
    coder.drain()

    writer.send("scout#1", "me too")
    bus.send_person("and me", to="scout#1")
    bus.send_external("desk", "and me", message_id="x-1", to="scout#1")

    assert scout.asked(question).reply_id is None


@both
def test_of_two_questions_to_one_run_the_older_is_answered_first(policy: BusPolicy) -> None:
    _, (scout, coder) = crew("scout", "coder", policy=policy)
    older, newer = asked(scout, "coder#1", "one?"), asked(scout, "coder#1", "two?")
    coder.drain()

    first = coder.send("scout#1", "yes")
    assert (scout.asked(older).reply_id, scout.asked(newer).reply_id) == (first.message_id, None)

    second = coder.send("scout#1", "no")
    assert (scout.asked(older).reply_id, scout.asked(newer).reply_id) == (first.message_id, second.message_id)
    assert coder.send("scout#1", "and more").accepted
    assert [delivery.message.in_reply_to for delivery in scout.drain()] == [older, newer, None]


@both
def test_a_second_reply_to_a_question_is_an_ordinary_message(policy: BusPolicy) -> None:
    _, (scout, coder) = crew("scout", "coder", policy=policy)
    question = asked(scout, "coder#1")
    coder.drain()
    first = coder.send("scout#1", "yes", in_reply_to=question)

    assert coder.send("scout#1", "no, wait", in_reply_to=question).accepted

    assert scout.asked(question).reply_id == first.message_id
    assert scout.asked(question).other_mail


@both
@pytest.mark.rows("T253")
def test_a_question_to_several_is_refused_with_the_addresses_to_choose_from(policy: BusPolicy) -> None:
    bus, (scout, _, _) = crew("scout", "coder", "coder", policy=policy)
    for to in ("coder", "everyone"):
        receipt = scout.question(to, "which cache?")
        assert receipt.code == "ambiguous_target"
        assert "coder#1, coder#2" in receipt.text
    assert bus.record()["messages"] == []


@pytest.mark.rows("T253", "T087")
def test_a_question_to_everyone_is_refused_where_nobody_else_reads() -> None:
    _, (scout,) = crew("scout")
    receipt = scout.question("everyone", "anybody?")
    assert receipt.code == "ambiguous_target"
    assert "nobody else reads now" in receipt.text


@pytest.mark.rows("T253")
def test_a_question_to_everyone_is_refused_where_one_other_reads() -> None:
    _, (scout, _) = crew("scout", "coder")
    assert scout.question("everyone", "anybody?").code == "ambiguous_target"


@both
@pytest.mark.rows("T250")
@pytest.mark.parametrize("deadline_s", [10**400, "9"])
def test_a_deadline_that_no_clock_can_count_is_refused_like_any_other(policy: BusPolicy, deadline_s: float) -> None:
    bus, (scout, _) = crew("scout", "coder", policy=policy)
    assert scout.question("coder#1", "which?", deadline_s=deadline_s).code == "invalid_arguments"
    assert bus.record()["messages"] == []


@both
@pytest.mark.rows("T250")
@pytest.mark.parametrize("deadline_s", [0.25, 3_600])
def test_a_deadline_may_be_short_and_as_long_as_the_longest(policy: BusPolicy, deadline_s: float) -> None:
    _, (scout, _) = crew("scout", "coder", policy=policy)
    assert scout.question("coder#1", "which?", deadline_s=deadline_s).accepted


@both
def test_a_later_run_of_the_label_that_was_asked_does_not_answer_for_the_one_that_was(policy: BusPolicy) -> None:
    bus, (scout, _) = crew("scout", "coder", policy=policy)
    question = asked(scout, "coder")
    late = bus.open("coder")
    late.drain()

    assert late.send("scout#1", "the red one", in_reply_to=question).accepted

    assert scout.asked(question).reply_id is None


@both
def test_an_answer_that_goes_to_somebody_else_is_no_reply(policy: BusPolicy) -> None:
    _, (scout, coder, _) = crew("scout", "coder", "writer", policy=policy)
    question = asked(scout, "coder#1")
    coder.drain()

    assert coder.send("writer#1", "the red one", in_reply_to=question).accepted

    assert scout.asked(question).reply_id is None


@pytest.mark.rows("T252")
@pytest.mark.parametrize(
    ("to", "text"), [("coder#1", "hello?"), ("nobody", "hello?"), ("scout", "hello?"), ("writer#1", " "), ("a b", "?")]
)
def test_a_question_is_refused_as_the_same_send_is(to: str, text: str) -> None:
    bus, (scout, coder, _) = crew("scout", "coder", "writer")
    coder.close("answered")

    question, send = scout.question(to, text), scout.send(to, text)

    assert not question.accepted
    assert (question.code, question.text) == (send.code, send.text)
    assert [line.state for line in bus.roster()] == ["running", "finished", "running"]


@pytest.mark.parametrize("deadline_s", [0, -1, 3_600.1, float("nan"), float("inf"), True])
@pytest.mark.rows("T250")
def test_a_deadline_out_of_its_range_is_refused_with_the_range(deadline_s: float) -> None:
    bus, (scout, coder) = crew("scout", "coder")
    receipt = scout.question("coder#1", "which?", deadline_s=deadline_s)
    assert receipt.code == "invalid_arguments"
    assert "more than 0 and at most 3600 seconds" in receipt.text
    assert coder.drain() == ()
    assert bus.record()["messages"] == []


@pytest.mark.rows("T250")
def test_a_question_without_a_deadline_has_that_of_the_policy() -> None:
    readings = count()
    bus = MessageBus(clock=lambda: next(readings) and 7.0)
    scout, coder = bus.open("scout"), bus.open("coder")
    scout.question("coder#1", "which?")
    scout.question("coder#1", "and which?", deadline_s=5)
    assert [delivery.message.answer_by_s for delivery in coder.drain()] == [307.0, 12.0]


@both
@pytest.mark.rows("T254")
def test_a_ring_of_questions_is_refused_with_its_chain(policy: BusPolicy) -> None:
    bus, (a, b, c, _) = crew("a", "b", "c", "d", policy=policy)
    asked(a, "b#1")
    asked(b, "c#1")
    before = len(bus.record()["messages"])

    back, around = b.question("a#1", "?"), c.question("a#1", "?")

    assert (back.code, around.code) == ("wait_cycle", "wait_cycle")
    assert "a#1 waits for you" in back.text
    assert "a#1 waits for b#1, b#1 waits for you" in around.text
    assert "plain message" in around.text
    assert len(bus.record()["messages"]) == before
    assert c.question("d#1", "?").accepted
    assert c.send("a#1", "plain").accepted


@pytest.mark.rows("T254")
def test_under_classic_a_run_that_asks_itself_is_told_that_this_is_a_ring() -> None:
    _, (a,) = crew("a", policy=BusPolicy.classic())
    receipt = a.question("a#1", "?")
    assert receipt.code == "wait_cycle"
    assert "that is yourself" in receipt.text


@both
@pytest.mark.rows("T254")
def test_of_several_chains_that_close_a_ring_the_one_of_the_run_that_opened_first_is_told(policy: BusPolicy) -> None:
    _, (asker, target, *others) = crew("asker", "target", *"abcdefgh", policy=policy)
    for one in reversed(others):
        asked(target, one.address)
        asked(one, "asker#1")
    assert "target#1 waits for a#1, a#1 waits for you" in asker.question("target#1", "?").text


@both
@pytest.mark.rows("T255")
def test_whoever_waits_for_a_worker_cannot_be_asked_by_it_or_by_its_workers(policy: BusPolicy) -> None:
    _, (parent, child, grandchild) = crew("parent", "child", "grandchild", policy=policy)
    with parent.waiting_for("child#1"):
        with child.waiting_for("grandchild#1"):
            for run in (child, grandchild):
                assert run.question("parent#1", "?").code == "wait_cycle"
                assert run.send("parent#1", "news").accepted
        assert child.question("grandchild#1", "?").accepted
    assert child.question("parent#1", "?").accepted


@both
@pytest.mark.rows("T256")
def test_whoever_waits_for_what_mail_ends_as_well_can_be_asked(policy: BusPolicy) -> None:
    _, (parent, child) = crew("parent", "child", policy=policy)
    with parent.waiting_for():
        assert child.question("parent#1", "?").accepted


@both
@pytest.mark.rows("T257")
def test_of_two_runs_that_ask_each_other_at_once_one_is_refused(policy: BusPolicy) -> None:
    for _ in range(50):
        _, (a, b) = crew("a", "b", policy=policy)
        start = Barrier(2)
        receipts: list[Receipt] = []

        def ask(asker: Reader, to: str, start: Barrier = start, receipts: list[Receipt] = receipts) -> None:
            start.wait()
            receipts.append(asker.question(to, "?"))

        threads = [Thread(target=ask, args=(a, "b#1")), Thread(target=ask, args=(b, "a#1"))]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert sorted(str(receipt.code) for receipt in receipts) == ["None", "wait_cycle"]


@both
@pytest.mark.rows("T258")
def test_a_wait_that_is_over_closes_no_ring(policy: BusPolicy) -> None:
    _, (a, b) = crew("a", "b", policy=policy)
    question = asked(a, "b#1")
    a.wait_no_more(question)
    a.wait_no_more(question)
    assert b.question("a#1", "?").accepted


@both
@pytest.mark.rows("T258")
def test_a_wait_whose_reply_has_come_closes_no_ring_and_another_one_still_does(policy: BusPolicy) -> None:
    _, (a, b) = crew("a", "b", policy=policy)
    first, second = asked(a, "b#1", "one?"), asked(a, "b#1", "two?")
    b.drain()

    b.send("a#1", "yes")
    assert b.question("a#1", "and you?").code == "wait_cycle"
    a.wait_no_more(first)
    assert b.question("a#1", "and you?").code == "wait_cycle"

    b.send("a#1", "no")
    assert a.asked(second).reply_id
    assert b.question("a#1", "and you?").accepted


@both
@pytest.mark.rows("T258")
def test_a_run_that_has_ended_waits_for_nobody(policy: BusPolicy) -> None:
    bus, (a, b, c) = crew("a", "b", "c", policy=policy)
    asked(a, "b#1")
    asked(a, "c#1")
    a.close("cancelled")
    with b.waiting_for("c#1"):
        assert c.question("a#1", "?").code != "wait_cycle"
    if policy.liveness:
        assert bus.roster()[0].state == "finished"


@pytest.mark.rows("T043")
def test_a_run_is_waiting_while_it_asks_and_while_it_waits_for_others() -> None:
    bus, (a, _) = crew("a", "b")

    def state() -> str | None:
        return bus.roster()[0].state

    assert state() == "running"
    question = asked(a, "b#1")
    assert state() == "waiting"
    with a.waiting_for("b#1"):
        a.wait_no_more(question)
        assert state() == "waiting"
    assert state() == "running"
    assert a.wait_again(question).accepted
    assert state() == "waiting"


@pytest.mark.rows("T251")
def test_the_end_of_who_was_asked_is_told_with_how_unless_it_replied_before() -> None:
    _, (a, b, c) = crew("a", "b", "c")
    silent, answered = asked(a, "b#1"), asked(a, "c#1")
    b.close("wrap-up")
    c.drain()
    reply = c.send("a#1", "yes")
    c.close("answered")

    assert (a.asked(silent).ended, a.asked(silent).reply_id) == ("wrap-up", None)
    assert a.asked(answered).reply_id == reply.message_id
    assert a.asked(answered).target == "c#1"


@pytest.mark.rows("T251")
@pytest.mark.parametrize("more", [True, False])
def test_an_entry_agent_that_runs_once_more_has_not_ended_for_who_asked_it(more: bool) -> None:
    bus, (a,) = crew("a")
    entry = bus.open_entry("assistant")
    question = asked(a, "assistant")

    entry.close("answered", more=more)

    assert a.asked(question).ended == (None if more else "answered")


@pytest.mark.rows("T370")
def test_under_classic_nobody_is_known_to_have_ended() -> None:
    _, (a, b) = crew("a", "b", policy=BusPolicy.classic())
    b.close("answered")
    assert a.asked(asked(a, "b#1")).ended is None


@both
@pytest.mark.rows("T260")
def test_the_reply_to_another_question_is_no_other_mail(policy: BusPolicy) -> None:
    _, (a, b, _) = crew("a", "b", "c", policy=policy)
    answered, open_one = asked(a, "b#1"), asked(a, "c#1")
    b.drain()
    b.send("a#1", "yes")
    assert not a.asked(answered).other_mail
    assert not a.asked(open_one).other_mail
    b.send("a#1", "and something else")
    assert a.asked(open_one).other_mail


@both
@pytest.mark.rows("T260")
def test_the_reply_to_somebody_elses_question_is_other_mail(policy: BusPolicy) -> None:
    _, (a, b, c) = crew("a", "b", "c", policy=policy)
    answered, open_one = asked(a, "c#1"), asked(b, "c#1")
    c.drain()

    reply = c.send("everyone", "to both of you", in_reply_to=answered)

    assert (a.asked(answered).reply_id, b.asked(open_one).reply_id) == (reply.message_id, None)
    assert (a.asked(answered).other_mail, b.asked(open_one).other_mail) == (False, True)


@both
@pytest.mark.rows("T369")
def test_only_a_question_of_ones_own_can_be_waited_for_again(policy: BusPolicy) -> None:
    bus, (a, b) = crew("a", "b", policy=policy)
    question = asked(a, "b#1")
    plain = a.send("b#1", "plain").message_id
    assert plain
    for reader, question_id in ((a, "m99"), (a, plain), (b, question)):
        assert reader.wait_again(question_id).code == "invalid_reference"
        with pytest.raises(UnknownMessage):
            reader.asked(question_id)
        reader.wait_no_more(question_id)
    assert [fate.state for fate in bus.fates(question)] == ["accepted"]


@both
@pytest.mark.rows("T369")
def test_waiting_again_is_refused_where_it_would_close_a_ring_and_where_it_would_have_no_end(policy: BusPolicy) -> None:
    bus, (a, b) = crew("a", "b", policy=policy)
    question = asked(a, "b#1")
    a.wait_no_more(question)
    asked(b, "a#1")

    refused = a.wait_again(question)

    assert refused.code == "wait_cycle"
    assert "b#1 waits for you" in refused.text
    assert a.wait_again(question, deadline_s=0).code == "invalid_arguments"
    assert [fate.state for fate in bus.fates(question)] == ["accepted"]
    assert len(bus.record()["messages"]) == 2


@both
@pytest.mark.rows("T367")
def test_an_answered_question_can_be_waited_for_again_whoever_waits_for_whom(policy: BusPolicy) -> None:
    _, (a, b) = crew("a", "b", policy=policy)
    question = asked(a, "b#1")
    b.drain()
    b.send("a#1", "yes")
    a.wait_no_more(question)
    asked(b, "a#1")
    assert a.wait_again(question).accepted


@both
def test_a_ring_is_rung_for_mail_that_matched_and_no_more_when_it_is_stopped(policy: BusPolicy) -> None:
    _, (a, b, c) = crew("a", "b", "c", policy=policy)
    rung: list[str] = []
    stop = a.subscribe(lambda: rung.append("a"))
    c.send("b#1", "not you")
    assert rung == []
    c.send("a#1", "you")
    b.send("everyone", "you, too")
    assert rung == ["a", "a"]
    stop()
    stop()
    c.send("a#1", "you")
    assert rung == ["a", "a"]


@both
def test_a_ring_is_rung_when_who_is_waited_for_ends_and_when_the_turn_does(policy: BusPolicy) -> None:
    bus, (a, b, c) = crew("a", "b", "c", policy=policy)
    rung: list[str] = []
    a.subscribe(lambda: rung.append("a"))
    asked(a, "b#1")
    c.close("answered")
    assert rung == []
    b.close("answered")
    assert rung == ["a"]
    bus.close()
    assert rung == ["a", "a"]


@both
def test_a_ring_may_use_the_bus_and_one_that_raises_is_dropped_and_named(policy: BusPolicy) -> None:
    bus, (a, b) = crew("a", "b", policy=policy)
    broken = RuntimeError("no loop")
    failed: list[str] = []
    drained: list[str] = []

    def drain() -> None:
        drained.extend(delivery.message.text for delivery in a.drain())

    def fail() -> None:
        failed.append("again" if failed else "once")
        raise broken

    a.subscribe(fail)
    a.subscribe(drain)
    assert bus.ring_failure is None
    b.send("a#1", "one")
    b.send("a#1", "two")
    assert drained == ["one", "two"]
    assert bus.ring_failure is broken
    assert failed == ["once"]


@both
def test_the_record_and_the_journal_tell_a_question_from_a_message(policy: BusPolicy) -> None:
    entries: list[object] = []
    bus = MessageBus(
        policy, clock=lambda: 0.0, sink=lambda entry: entries.append(entry.facts.get("answer_by_s", "no message"))
    )
    a, _ = bus.open("a"), bus.open("b")
    a.send("b#1", "plain")
    a.question("b#1", "?", deadline_s=9)
    assert entries == ["no message", "no message", "no message", None, 9.0]
    assert [message["answer_by_s"] for message in bus.record()["messages"]] == [None, 9.0]
