"""Runs that open late: what they still get, what is marked as older than they are, and what they owe."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from restante import BusPolicy, MessageBus
from tests.bus.policies import both
from tests.bus.seen import matched, obliged, replayed, texts


@both
@pytest.mark.rows("T019")
@given(broadcasts=st.integers(0, 20), others=st.lists(st.sampled_from(["coder", "coder#1"]), max_size=10))
def test_a_worker_gets_every_broadcast_of_the_entry_agent_however_late_it_opens(
    policy: BusPolicy, broadcasts: int, others: list[str]
) -> None:
    bus = MessageBus(policy)
    assistant, coder = bus.open_entry("assistant"), bus.open("coder")
    for number in range(broadcasts):
        assistant.send("everyone", f"{number}")
        for to in others[number:]:
            assistant.send(to, "for the coder")
    coder.drain()
    coder.returned()

    worker = bus.open("researcher")

    assert texts(worker.drain()) == [f"{number}" for number in range(broadcasts)]
    assert worker.drain() == ()


@both
@pytest.mark.rows("T019")
def test_a_worker_that_opens_after_everybody_has_ended_still_gets_the_broadcasts(policy: BusPolicy) -> None:
    bus = MessageBus(policy)
    assistant = bus.open_entry("assistant")
    assistant.send("everyone", "one")
    bus.open("coder").close("error")
    assistant.send("everyone", "two")
    assistant.close("answered")

    assert texts(bus.open("researcher").drain()) == ["one", "two"]


@both
@pytest.mark.rows("T004")
def test_what_a_late_reader_gets_stands_in_the_order_of_sending_whatever_it_was_sent_to(policy: BusPolicy) -> None:
    bus = MessageBus(policy)
    assistant, early = bus.open_entry("assistant"), bus.open("researcher")
    for number, to in enumerate(["researcher", "everyone", "researcher", "everyone"]):
        assistant.send(to, f"{number}")

    late = bus.open("researcher")
    assistant.send("researcher", "4")

    assert texts(late.drain()) == texts(early.drain()) == ["0", "1", "2", "3", "4"]


@both
@pytest.mark.rows("T020")
def test_what_is_older_than_the_reader_is_marked_and_nothing_else(policy: BusPolicy) -> None:
    bus = MessageBus(policy)
    assistant, early = bus.open_entry("assistant"), bus.open("researcher")
    assistant.send("everyone", "before")

    late = bus.open("researcher")
    assistant.send("everyone", "after")

    assert replayed(early.drain()) == {"before": False, "after": False}
    deliveries = late.drain()
    assert texts(deliveries) == ["before", "after"]
    assert replayed(deliveries) == {"before": True, "after": False}
    assert [delivery.provenance()["replayed"] for delivery in deliveries] == [True, False]


@both
@pytest.mark.rows("T021")
def test_the_persons_words_reach_a_worker_though_the_entry_agent_has_drained_them(policy: BusPolicy) -> None:
    bus = MessageBus(policy)
    assistant = bus.open_entry("assistant")
    bus.send_person("use the cache")
    assert texts(assistant.drain()) == ["use the cache"]

    assert texts(bus.open("researcher").drain()) == ["use the cache"]


@pytest.mark.rows("T069")
def test_a_later_run_of_the_label_reads_the_message_and_does_not_owe_it() -> None:
    bus = MessageBus()
    assistant, first = bus.open_entry("assistant"), bus.open("researcher")
    receipt = assistant.send("researcher", "check the cache")

    second = bus.open("researcher")

    assert replayed(second.drain()) == {"check the cache": True}
    assert obliged(bus, receipt) == [first.address]


@pytest.mark.rows("T069")
def test_a_later_run_of_the_label_that_does_not_read_is_not_reported() -> None:
    bus = MessageBus()
    assistant, first = bus.open_entry("assistant"), bus.open("researcher")
    assistant.send("researcher", "check the cache")
    bus.open("researcher").close("error")
    first.drain()
    first.returned()

    assert bus.close().unmet == ()


@both
@pytest.mark.rows("T071")
def test_a_receipt_names_those_who_were_there_and_later_runs_read_all_the_same(policy: BusPolicy) -> None:
    bus = MessageBus(policy)
    assistant = bus.open_entry("assistant")
    bus.open("researcher")

    receipt = assistant.send("everyone", "check the cache")
    later = [bus.open(label) for label in ("researcher", "coder", "writer")]

    own = ["assistant"] if policy.own_sends_come_back else []
    assert matched(receipt) == [*own, "researcher#1"]
    assert not any(reader.address in receipt.text for reader in later)
    assert [texts(reader.drain()) for reader in later] == [["check the cache"]] * 3
