"""Runs of the entry agent that follow each other in one turn: one address, and nothing read twice or never shown."""

import pytest

from restante import BusPolicy, Fate, JournalEntry, MessageBus
from tests.bus.policies import both
from tests.bus.seen import replayed, texts


@both
def test_what_is_sent_between_two_entry_runs_is_read_by_the_second(policy: BusPolicy) -> None:
    bus = MessageBus(policy)
    first, worker = bus.open_entry("assistant"), bus.open("coder")
    first.drain_or_close()
    worker.send("everyone", "from a worker")
    bus.send_person("from the person")

    second = bus.open_entry("assistant")

    assert texts(second.drain()) == ["from a worker", "from the person"]
    assert second.drain() == ()


def test_by_default_a_broadcast_between_two_entry_runs_is_older_than_the_second() -> None:
    bus = MessageBus()
    first, worker = bus.open_entry("assistant"), bus.open("coder")
    worker.send("everyone", "to the first")
    first.drain()
    first.close("answered")
    worker.send("everyone", "between")

    second = bus.open_entry("assistant")

    assert replayed(second.drain()) == {"between": True}
    second.returned()
    assert [fate.state for fate in bus.fates("m2")] == ["delivered", "delivered"]


@both
def test_mail_for_an_entry_agent_that_has_ended_waits_under_classic_and_is_refused_by_default(
    policy: BusPolicy,
) -> None:
    bus = MessageBus(policy)
    first, worker = bus.open_entry("assistant"), bus.open("coder")
    first.close("answered")

    receipt = worker.send("assistant", "hello")

    assert receipt.code == ("recipient_finished" if policy.liveness else None)
    assert texts(bus.open_entry("assistant").drain()) == ([] if policy.liveness else ["hello"])


def test_by_default_a_second_entry_run_sees_what_the_first_left_and_meets_nothing_by_that() -> None:
    bus = MessageBus()
    first, worker = bus.open_entry("assistant"), bus.open("coder")
    worker.send("assistant", "from a worker")
    bus.send_person("from the person", to="assistant")
    first.close("error")
    given_up = Fate("assistant", "undelivered", "run_ended_first", call=None, obliged=True)

    second = bus.open_entry("assistant")

    assert texts(second.drain()) == ["from a worker", "from the person"]
    second.returned(call=0)
    assert bus.fates("m1") == (given_up, Fate("assistant", "delivered", None, call=0, obliged=False))
    assert [unmet.text for unmet in bus.close().unmet] == ["from a worker"]


@both
def test_a_backlog_that_the_first_entry_run_never_drained_waits_for_the_second(policy: BusPolicy) -> None:
    bus = MessageBus(policy)
    worker = bus.open("coder")
    worker.send("everyone", "before both")
    bus.open_entry("assistant").close("cancelled")
    worker.send("everyone", "between")

    second = bus.open_entry("assistant")

    assert texts(second.drain()) == ["before both", "between"]


@both
def test_what_is_sent_during_the_wrap_up_of_an_entry_run_is_read_once_by_the_next(policy: BusPolicy) -> None:
    bus = MessageBus(policy)
    first, worker = bus.open_entry("assistant"), bus.open("coder")
    worker.send("everyone", "in time")
    assert texts(first.drain_last()) == ["in time"]
    first.returned()
    worker.send("everyone", "in the wrap-up")
    first.close("wrap-up")
    worker.send("everyone", "between")

    second = bus.open_entry("assistant")

    assert texts(second.drain()) == ["in the wrap-up", "between"]
    assert second.drain() == ()


def test_by_default_what_an_entry_run_sends_in_its_wrap_up_does_not_come_back_to_the_next() -> None:
    bus = MessageBus()
    first, _ = bus.open_entry("assistant"), bus.open("coder")
    first.drain_last()
    assert first.send("everyone", "the last words").accepted
    first.close("wrap-up")

    assert bus.open_entry("assistant").drain() == ()


@both
def test_a_broadcast_older_than_the_first_entry_run_is_not_shown_to_the_second_again(policy: BusPolicy) -> None:
    bus = MessageBus(policy)
    worker = bus.open("coder")
    worker.send("everyone", "before both")
    first = bus.open_entry("assistant")
    assert replayed(first.drain()) == {"before both": True}
    first.returned()
    first.close("answered")
    worker.send("everyone", "between")

    assert texts(bus.open_entry("assistant").drain()) == ["between"]


@both
def test_words_said_before_the_entry_agent_opens_are_older_than_it(policy: BusPolicy) -> None:
    bus = MessageBus(policy)
    bus.send_person("before")
    assistant = bus.open_entry("assistant")
    bus.send_person("after")

    assert replayed(assistant.drain()) == {"before": True, "after": False}


@both
@pytest.mark.rows("T135")
@pytest.mark.parametrize("more", [True, False])
def test_words_that_a_cancelled_entry_run_had_claimed_come_again(policy: BusPolicy, more: bool) -> None:
    bus = MessageBus(policy)
    first = bus.open_entry("assistant")
    bus.send_person("hello")
    first.drain()
    first.close("cancelled", more=more)
    assert bus.fates("m1")[0].state == "accepted"

    (delivery,) = bus.open_entry("assistant").drain()

    assert (delivery.message.text, delivery.redelivered) == ("hello", True)


def test_under_classic_mail_whose_call_failed_comes_again_though_no_further_entry_run_was_announced() -> None:
    bus = MessageBus(BusPolicy.classic())
    first, worker = bus.open_entry("assistant"), bus.open("coder")
    worker.send("assistant", "hello")
    first.drain()
    first.failed()
    first.close("error")

    (delivery,) = bus.open_entry("assistant").drain()

    assert (delivery.message.text, delivery.redelivered) == ("hello", True)


def test_a_sink_hears_of_no_fate_of_what_an_entry_run_was_not_obliged_to_read() -> None:
    told: list[JournalEntry] = []
    bus = MessageBus(sink=told.append)
    bus.open("coder").send("everyone", "before the entry agent opens")
    first = bus.open_entry("assistant")
    assert len(first.drain()) == 1
    first.failed()
    first.close("error")

    assert [entry.facts for entry in told if entry.kind == "fate"] == []


@both
def test_the_reader_of_an_entry_run_that_has_ended_acts_no_more_for_the_next(policy: BusPolicy) -> None:
    bus = MessageBus(policy)
    first, worker = bus.open_entry("assistant"), bus.open("coder")
    first.close("answered", more=True)
    second = bus.open_entry("assistant")
    worker.send("assistant", "hello")

    assert (first.has_mail(), first.drain(), first.drain_or_close(), first.drain_last()) == (False, (), (), ())
    assert texts(second.drain()) == ["hello"]
    first.returned()
    first.failed()
    first.close("error")

    assert bus.fates("m1")[0].state == "claimed"
    assert worker.send("assistant", "and one more").accepted
    assert texts(second.drain()) == ["and one more"]


@both
def test_while_an_entry_run_is_open_its_reader_is_given_again(policy: BusPolicy) -> None:
    bus = MessageBus(policy)
    reader = bus.open_entry("assistant")
    assert bus.open_entry("assistant") is reader
    reader.close("answered")
    assert bus.open_entry("assistant") is not reader


@both
def test_how_an_entry_run_ended_is_forgotten_when_the_next_one_begins(policy: BusPolicy) -> None:
    bus = MessageBus(policy)
    bus.open_entry("assistant").close("error", error="boom", more=True)
    ended = bus.record()["runs"][0]

    bus.open_entry("assistant")

    runs = bus.record()["runs"][0]
    assert [(run["how"], run["error"]) for run in (ended, runs)] == [("error", "boom"), (None, None)]


def test_by_default_an_entry_run_that_finds_no_more_mail_has_ended_for_good() -> None:
    bus = MessageBus()
    bus.open_entry("assistant").drain_or_close()

    (line,) = bus.roster()

    assert (line.state, line.how, line.reads) == ("finished", "answered", False)
