"""What becomes of a message: accepted, claimed, and then one of three things that nothing changes any more."""

from typing import get_args

import pytest

from restante import BusPolicy, CloseReport, Fate, MessageBus
from restante.bus.fates import AFTER, FINAL, IN_WORDS, Reason, State
from restante.bus.run import How
from tests.bus.policies import both


def obligation(bus: MessageBus, message_id: str = "m1") -> Fate:
    """The only obligation of a message."""
    (fate,) = [fate for fate in bus.fates(message_id) if fate.obliged]
    return fate


def reasons(report: CloseReport) -> list[tuple[str, str]]:
    """The texts of the unmet messages, and why each was not read."""
    return [(unmet.text, unmet.reason) for unmet in report.unmet]


@both
@pytest.mark.rows("T110")
def test_a_message_is_accepted_then_claimed_then_delivered(policy: BusPolicy) -> None:
    bus = MessageBus(policy)
    worker = bus.open("coder")
    bus.open("researcher").send("coder", "hello")
    seen = [obligation(bus)]

    worker.drain()
    seen.append(obligation(bus))
    worker.returned(call=3)
    seen.append(obligation(bus))

    assert [fate.state for fate in seen] == ["accepted", "claimed", "delivered"]
    assert [fate.call for fate in seen] == [None, None, 3]
    assert bus.close() == ((), ())


@both
@pytest.mark.rows("T111")
def test_a_message_whose_call_failed_for_good_is_reported_with_that_reason(policy: BusPolicy) -> None:
    bus = MessageBus(policy)
    worker = bus.open("coder")
    bus.open("researcher").send("coder", "hello")
    worker.drain()
    worker.failed(call=0)
    worker.close("error", error="boom")

    report = bus.close()

    assert reasons(report) == [("hello", "model_call_failed")]
    assert (obligation(bus).state, obligation(bus).reason) == ("undelivered", "model_call_failed")


@both
@pytest.mark.rows("T110")
def test_a_call_delivers_what_several_drains_took_for_it(policy: BusPolicy) -> None:
    bus = MessageBus(policy)
    worker, writer = bus.open("coder"), bus.open("researcher")
    for text in ("one", "two"):
        writer.send("coder", text)
        worker.drain()

    worker.returned(call=0)

    assert [obligation(bus, message_id).state for message_id in ("m1", "m2")] == ["delivered"] * 2
    assert bus.record()["runs"][0]["read"] == 2


@pytest.mark.rows("T111")
def test_by_default_a_call_that_failed_is_named_with_its_number_for_each_message_that_it_carried() -> None:
    bus = MessageBus()
    worker, writer = bus.open("coder"), bus.open("researcher")
    for text in ("one", "two"):
        writer.send("coder", text)
    worker.drain()

    worker.failed(call=3)

    failed = Fate("coder#1", "undelivered", "model_call_failed", call=3, obliged=True)
    assert [obligation(bus, message_id) for message_id in ("m1", "m2")] == [failed] * 2


@both
@pytest.mark.rows("T012")
@pytest.mark.parametrize("late", [True, False])
def test_a_worker_whose_call_failed_gets_nothing_of_it_again(policy: BusPolicy, late: bool) -> None:
    bus = MessageBus(policy)
    worker = None if late else bus.open("coder")
    bus.open("researcher").send("everyone", "hello")
    worker = worker or bus.open("coder")
    assert len(worker.drain()) == 1

    worker.failed()

    assert (worker.has_mail(), worker.drain()) == (False, ())


@both
@pytest.mark.rows("T371")
def test_a_message_that_was_in_no_request_is_not_delivered(policy: BusPolicy) -> None:
    bus = MessageBus(policy)
    worker, writer = bus.open("coder"), bus.open("researcher")
    writer.send("coder", "kept")
    writer.send("coder", "removed")
    worker.drain()
    worker.returned(["m1"], call=0)
    between = obligation(bus, "m2").state
    worker.close("answered")

    report = bus.close()

    assert between == "claimed"
    assert reasons(report) == [("removed", "run_ended_first")]
    assert obligation(bus, "m1").state == "delivered"


@both
@pytest.mark.rows("T115")
def test_a_message_that_nobody_ever_tried_to_read_was_never_drained(policy: BusPolicy) -> None:
    bus = MessageBus(policy)
    bus.open("coder")
    bus.open("researcher").send("coder", "hello")

    assert reasons(bus.close()) == [("hello", "never_drained")]
    assert (obligation(bus).state, obligation(bus).reason) == ("undelivered", "never_drained")


@both
@pytest.mark.rows("T116")
def test_a_stop_settles_what_waits_and_what_is_claimed(policy: BusPolicy) -> None:
    bus = MessageBus(policy)
    worker, writer = bus.open("coder"), bus.open("researcher")
    writer.send("coder", "claimed")
    worker.drain()
    writer.send("coder", "waiting")
    before = [obligation(bus, message_id).state for message_id in ("m1", "m2")]

    report = bus.close(stopped=True)

    assert before == ["claimed", "accepted"]
    assert reasons(report) == [("claimed", "stopped"), ("waiting", "stopped")]
    assert {obligation(bus, message_id).state for message_id in ("m1", "m2")} == {"undelivered"}


@both
@pytest.mark.rows("T119")
def test_what_was_taken_decides_and_not_where_the_cursors_stand(policy: BusPolicy) -> None:
    bus = MessageBus(policy)
    assistant = bus.open_entry("assistant")
    assistant.send("everyone", "alone")
    assistant.drain()
    bus.send_external("desk", "claimed", message_id="x-1", to="assistant")
    assistant.drain()
    assert assistant.drain() == ()
    assistant.failed()
    assistant.close("error")

    assert [text for text, _ in reasons(bus.close())] == ["alone", "claimed"]
    assert obligation(bus, "x-1").reason == "model_call_failed"


@pytest.mark.rows("T103")
@pytest.mark.parametrize("how", ["error", "cancelled"])
def test_a_worker_that_ends_badly_leaves_its_mail_unread(how: How) -> None:
    bus = MessageBus()
    worker, writer = bus.open("coder"), bus.open("researcher")
    for to in ("coder#1", "coder", "everyone"):
        assert writer.send(to, f"to {to}").accepted

    worker.close(how, error="ValueError: no")

    assert [(line.state, line.how, line.reads) for line in bus.roster() if line.address == "coder#1"] == [
        ("finished", how, False)
    ]
    settled = [obligation(bus, message_id) for message_id in ("m1", "m2", "m3")]
    assert settled == [Fate("coder#1", "undelivered", "run_ended_first", call=None, obliged=True)] * 3


@both
@pytest.mark.parametrize("sender", ["an agent", "the person"])
def test_what_is_claimed_when_the_bus_closes_ended_first_or_is_carried(policy: BusPolicy, sender: str) -> None:
    bus = MessageBus(policy)
    assistant, writer = bus.open_entry("assistant"), bus.open("researcher")
    if sender == "an agent":
        writer.send("assistant", "hello")
    else:
        bus.send_person("hello", to="assistant")
    assistant.drain()

    report = bus.close()

    if sender == "an agent":
        assert (reasons(report), report.next_turn) == ([("hello", "run_ended_first")], ())
    else:
        assert (report.unmet, [words.text for words in report.next_turn]) == ((), ["hello"])


@both
@pytest.mark.parametrize("fails", [True, False])
def test_mail_of_agents_comes_again_where_a_further_entry_run_was_announced(policy: BusPolicy, fails: bool) -> None:
    bus = MessageBus(policy)
    first, writer = bus.open_entry("assistant"), bus.open("researcher")
    writer.send("assistant", "hello")
    first.drain()
    if fails:
        first.failed()
    first.close("error", more=True)
    between = obligation(bus).state

    second = bus.open_entry("assistant")

    assert between == "accepted"
    assert [(one.message.text, one.redelivered) for one in second.drain()] == [("hello", True)]
    second.returned()
    assert bus.close() == ((), ())


def test_by_default_mail_of_agents_is_given_up_where_no_further_entry_run_was_announced() -> None:
    bus = MessageBus()
    first, writer = bus.open_entry("assistant"), bus.open("researcher")
    writer.send("assistant", "hello")
    first.drain()
    first.failed()
    first.close("error")

    assert (obligation(bus).state, obligation(bus).reason) == ("undelivered", "model_call_failed")
    assert bus.open_entry("assistant").drain() == ()
    assert reasons(bus.close()) == [("hello", "model_call_failed")]


@both
def test_what_one_call_did_not_carry_the_next_one_may(policy: BusPolicy) -> None:
    bus = MessageBus(policy)
    worker, writer = bus.open("coder"), bus.open("researcher")
    writer.send("coder", "one")
    writer.send("coder", "two")
    worker.drain()

    worker.returned(["m1"], call=0)
    worker.returned(["m2"], call=1)

    obliged = [fate for message_id in ("m1", "m2") for fate in bus.fates(message_id) if fate.obliged]
    assert [(fate.state, fate.call) for fate in obliged] == [("delivered", 0), ("delivered", 1)]


@both
def test_a_reading_that_did_not_come_about_is_no_fact_of_a_closed_turn(policy: BusPolicy) -> None:
    bus = MessageBus(policy)
    bus.open("coder").send("everyone", "hello")
    late = bus.open("coder")
    late.drain()
    assert [fate.obliged for fate in bus.fates("m1")] == [True, False]

    bus.close()

    assert [(fate.state, fate.obliged) for fate in bus.fates("m1")] == [("undelivered", True)]


@both
@pytest.mark.parametrize("stopped", [False, True])
def test_a_sink_is_told_each_fate_that_the_close_settles(policy: BusPolicy, stopped: bool) -> None:
    told: list[tuple[str, object, object]] = []
    bus = MessageBus(policy, sink=lambda one: told.append((one.kind, one.address, one.facts.get("state"))))
    bus.open_entry("assistant")
    bus.send_person("hello")

    bus.close(stopped=stopped)

    fates = [entry for entry in told if entry[0] == "fate"]
    assert fates == [("fate", "assistant", "undelivered" if stopped else "carried")]


def test_every_reason_has_words_and_nothing_follows_a_final_state() -> None:
    assert set(get_args(Reason)) == IN_WORDS.keys()
    left = {state for changes in AFTER.values() for state in changes}
    assert set(get_args(State)) - left == FINAL
