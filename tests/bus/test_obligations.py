"""Who owes it to read a message: by default each that it matched, under classic any one of them."""

import pytest

from restante import BusPolicy, CloseReport, MessageBus
from tests.bus.seen import obliged

CLASSIC = BusPolicy.classic()


def told(report: CloseReport) -> list[tuple[str, str | None, str]]:
    """Text, address and reason of everything that was not read."""
    return [(unmet.text, unmet.address, unmet.reason) for unmet in report.unmet]


@pytest.mark.rows("T109")
def test_those_who_were_there_are_obliged_for_good() -> None:
    bus = MessageBus()
    bus.open("researcher")
    bus.open("researcher")
    receipt = bus.open_entry("assistant").send("researcher", "hello")
    before = obliged(bus, receipt)

    late = bus.open("researcher")
    late.drain()
    late.returned()

    assert before == obliged(bus, receipt) == ["researcher#1", "researcher#2"]
    bus.close()
    assert obliged(bus, receipt) == ["researcher#1", "researcher#2"]


@pytest.mark.rows("T117")
def test_under_classic_any_one_reader_meets_a_message_and_the_miss_of_the_other_is_silent() -> None:
    bus = MessageBus(CLASSIC)
    one, _ = bus.open("researcher"), bus.open("researcher")
    writer = bus.open_entry("assistant")
    writer.send("researcher", "first")
    one.drain()
    one.returned()
    writer.send("researcher", "second")

    assert told(bus.close()) == [("second", None, "never_drained")]


@pytest.mark.rows("T118")
def test_by_default_each_run_that_failed_is_told_of_with_a_reason_of_its_own() -> None:
    bus = MessageBus()
    one, other = bus.open("researcher"), bus.open("researcher")
    writer = bus.open_entry("assistant")
    writer.send("researcher", "first")
    one.drain()
    one.returned()
    writer.send("researcher", "second")
    for reader in (one, other):
        reader.close("error")

    assert told(bus.close()) == [
        ("first", "researcher#2", "run_ended_first"),
        ("second", "researcher#1", "run_ended_first"),
        ("second", "researcher#2", "run_ended_first"),
    ]


@pytest.mark.rows("T118")
def test_the_reasons_of_one_message_may_differ() -> None:
    bus = MessageBus()
    calling, stopped, _ = (bus.open("researcher") for _ in range(3))
    bus.open_entry("assistant").send("researcher", "hello")
    calling.drain()
    calling.failed()
    calling.close("error")
    stopped.close("cancelled")

    assert told(bus.close()) == [
        ("hello", "researcher#1", "model_call_failed"),
        ("hello", "researcher#2", "run_ended_first"),
        ("hello", "researcher#3", "never_drained"),
    ]


@pytest.mark.rows("T120")
def test_a_broadcast_to_nobody_is_told_of_once_and_the_senders_presence_does_not_count() -> None:
    bus = MessageBus()
    assistant = bus.open_entry("assistant")
    assistant.send("everyone", "anybody?")
    assistant.drain()
    assistant.returned()

    assert told(bus.close()) == [("anybody?", None, "never_drained")]


@pytest.mark.rows("T121")
def test_under_classic_the_sender_is_a_reader_like_any_other() -> None:
    bus = MessageBus(CLASSIC)
    assistant = bus.open_entry("assistant")
    assistant.send("everyone", "anybody?")
    assert len(assistant.drain()) == 1
    assistant.returned()

    assert told(bus.close()) == []


@pytest.mark.rows("T122")
def test_runs_that_were_there_are_obliged_one_by_one_whoever_reads_it_later() -> None:
    bus = MessageBus()
    reading, _ = bus.open("researcher"), bus.open("coder")
    writer = bus.open_entry("assistant")
    writer.send("everyone", "first")
    late = bus.open("researcher")
    for reader in (reading, late):
        reader.drain()
        reader.returned()
    late.close("answered")
    writer.send("everyone", "second")

    assert told(bus.close()) == [
        ("first", "coder#1", "never_drained"),
        ("second", "researcher#1", "never_drained"),
        ("second", "coder#1", "never_drained"),
    ]


@pytest.mark.rows("T123")
def test_one_later_run_meets_an_open_obligation_for_all() -> None:
    bus = MessageBus()
    bus.open_entry("assistant").send("everyone", "hello")
    reading, _ = bus.open("researcher"), bus.open("coder")
    reading.drain()
    reading.returned()

    assert told(bus.close()) == []


@pytest.mark.rows("T123")
def test_an_open_obligation_is_told_of_with_the_reason_of_the_last_that_tried() -> None:
    bus = MessageBus()
    bus.open_entry("assistant").send("everyone", "hello")
    only = bus.open("researcher")
    only.drain()
    only.failed(call=3)
    only.close("error")

    assert told(bus.close()) == [("hello", None, "model_call_failed")]
    assert [fate.call for fate in bus.fates("m1")] == [3]


@pytest.mark.rows("T123")
def test_an_open_obligation_stays_claimed_while_one_of_two_that_took_it_may_still_meet_it() -> None:
    bus = MessageBus()
    bus.open_entry("assistant").send("everyone", "hello")
    failing, slow = bus.open("researcher"), bus.open("coder")
    for reader in (failing, slow):
        reader.drain()

    failing.failed()
    between = bus.fates("m1")[0].state
    slow.returned()

    assert between == "claimed"
    assert bus.fates("m1")[0].state == "delivered"
    assert told(bus.close()) == []


@pytest.mark.rows("T105", "B33")
@pytest.mark.parametrize("drains", [False, True])
def test_an_open_obligation_waits_for_the_next_run_when_one_has_failed(drains: bool) -> None:
    bus = MessageBus()
    bus.open_entry("assistant").send("everyone", "check the cache first")
    first = bus.open("researcher")
    if drains:
        first.drain()
        first.failed()
    first.close("error", error="no such model")
    assert [fate.state for fate in bus.fates("m1")] == ["accepted"]

    second = bus.open("researcher")

    assert [delivery.message.text for delivery in second.drain()] == ["check the cache first"]
    second.returned()
    assert told(bus.close()) == []


@pytest.mark.rows("B33")
def test_mail_of_a_run_that_failed_to_start_is_told_of_and_its_error_is_on_record() -> None:
    bus = MessageBus()
    worker = bus.open("researcher")
    bus.open_entry("assistant").send("researcher#1", "hello")

    worker.close("error", error="ValueError: no such model")

    assert told(bus.close()) == [("hello", "researcher#1", "run_ended_first")]
    run = bus.record()["runs"][0]
    assert (run["how"], run["error"]) == ("error", "ValueError: no such model")
