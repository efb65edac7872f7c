"""What a sender is told: whom a message was accepted for, and later, if it asks, what became of it."""

import pytest

from restante import BusPolicy, MessageBus
from tests.bus.policies import both
from tests.bus.seen import texts


@pytest.mark.rows("T089", "B27")
def test_a_sender_can_ask_what_became_of_its_message_for_each_address_and_changes_nothing_by_it() -> None:
    bus = MessageBus(clock=lambda: 0.0)
    sender, first, second = bus.open("coder"), bus.open("researcher"), bus.open("researcher")
    receipt = sender.send("researcher", "check the cache")
    first.close("error", error="no more disk")
    second.drain()
    second.returned(call=3)
    before = bus.record()

    fates = bus.fates(receipt.message_id or "")

    assert fates == bus.fates(receipt.message_id or "")
    assert [(fate.address, fate.state, fate.reason) for fate in fates] == [
        ("researcher#1", "undelivered", "run_ended_first"),
        ("researcher#2", "delivered", None),
    ]
    assert [(message.text, found) for message, found in sender.sends()] == [("check the cache", fates)]
    assert bus.record() == before
    assert "check the cache" in bus.close().unmet[0].text


@both
@pytest.mark.rows("T089")
def test_a_run_is_told_of_its_own_sends_and_of_nobody_elses(policy: BusPolicy) -> None:
    bus = MessageBus(policy)
    one, other = bus.open("researcher"), bus.open("researcher")
    one.send("everyone", "mine")
    other.send("everyone", "yours")
    bus.send_person("the person's")

    assert [message.text for message, _ in one.sends()] == ["mine"]
    assert "mine" in texts(other.drain())


@pytest.mark.rows("T084", "B11")
def test_a_send_has_one_outcome_for_a_run_that_works_one_for_one_that_waits_and_one_for_nobody() -> None:
    bus = MessageBus()
    assistant, _, waiting = bus.open_entry("assistant"), bus.open("coder"), bus.open("lead")

    with waiting.waiting_for("coder#1"):
        receipts = [assistant.send(to, "hello") for to in ("coder", "lead", "writer")]

    assert [(receipt.code, receipt.matched) for receipt in receipts] == [
        (None, (("coder#1", "running"),)),
        (None, (("lead#1", "waiting"),)),
        ("not_found", ()),
    ]
    assert len({receipt.text for receipt in receipts}) == 3


@pytest.mark.rows("T081")
def test_a_label_send_reaches_those_that_run_and_names_those_that_it_does_not_reach() -> None:
    bus = MessageBus()
    assistant, _, finished = bus.open_entry("assistant"), bus.open("researcher"), bus.open("researcher")
    finished.close("answered")

    receipt = assistant.send("researcher", "hello")

    assert (receipt.matched, receipt.not_reached) == (
        (("researcher#1", "running"),),
        (("researcher#2", "finished"),),
    )
    assert "Not reached, since it reads no more: researcher#2 (finished)." in receipt.text
    assert [fate.address for fate in bus.fates("m1")] == ["researcher#1"]


@pytest.mark.rows("T083")
def test_a_broadcast_to_finished_runs_only_waits_for_whoever_opens_later() -> None:
    bus = MessageBus()
    assistant, worker = bus.open_entry("assistant"), bus.open("researcher")
    worker.close("answered")

    receipt = assistant.send("everyone", "hello")

    assert (receipt.accepted, receipt.matched) == (True, ())
    assert receipt.not_reached == (("researcher#1", "finished"),)
    assert "Nobody else is reading now" in receipt.text
    assert "researcher#1 (finished)" in receipt.text
    assert [(fate.address, fate.state, fate.obliged) for fate in bus.fates("m1")] == [(None, "accepted", True)]
    assert texts(bus.open("coder").drain()) == ["hello"]


@both
@pytest.mark.rows("T070")
def test_a_receipt_names_whom_the_message_was_accepted_for_and_promises_nothing(policy: BusPolicy) -> None:
    bus = MessageBus(policy)
    sender, *_ = (bus.open(label) for label in ("coder", "researcher", "researcher"))
    hedge = "Accepted means stored; that anybody will read it is not promised."
    running = " (running)" if policy.liveness else ""

    one, two = sender.send("researcher#1", "hello"), sender.send("researcher", "hello")

    assert one.text == f"Accepted for researcher#1{running}: 1 address. {hedge}"
    assert two.text == f"Accepted for researcher#1{running}, researcher#2{running}: 2 addresses. {hedge}"


@both
@pytest.mark.rows("T139")
def test_the_person_is_told_that_words_which_no_run_reads_now_become_the_next_turn(policy: BusPolicy) -> None:
    told = MessageBus(policy).send_person("hello").text

    assert told.startswith("Accepted. No run is reading now: ")
    assert "becomes the next one" in told
    assert "runs that open later" not in told
