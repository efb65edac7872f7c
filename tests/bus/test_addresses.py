"""Addresses: minted when a reader opens and never otherwise, in order, and never given twice."""

import pytest

from restante import BusPolicy, MessageBus
from tests.bus.policies import both
from tests.bus.seen import addresses, matched, texts


@both
@pytest.mark.rows("T031", "B45")
def test_two_runs_of_a_label_are_told_apart_by_address_and_reached_together_by_label(policy: BusPolicy) -> None:
    bus = MessageBus(policy)
    assistant, first, second = bus.open_entry("assistant"), bus.open("researcher"), bus.open("researcher")
    assistant.send("researcher#2", "for the second")
    assistant.send("researcher", "for both")

    assert texts(first.drain()) == ["for both"]
    assert texts(second.drain()) == ["for the second", "for both"]


@both
@pytest.mark.rows("T036", "B10")
@pytest.mark.parametrize("to", ["coder", "coder#1"])
def test_a_name_that_is_known_and_has_opened_no_run_is_told_from_one_that_is_there(policy: BusPolicy, to: str) -> None:
    bus = MessageBus(policy, labels=["assistant", "coder", "researcher"])
    assistant, _ = bus.open_entry("assistant"), bus.open("researcher")

    receipt = assistant.send(to, "hello")

    assert (receipt.accepted, receipt.code) == (False, "not_found")
    assert "The name is known, and no such run of it has opened a reader." in receipt.text
    assert addresses(bus) == ["assistant", "researcher#1"]


@both
@pytest.mark.rows("T037")
def test_ordinals_are_decimal_and_the_roster_keeps_the_order_of_opening(policy: BusPolicy) -> None:
    bus = MessageBus(policy)

    opened = [bus.open("researcher").address for _ in range(12)]

    assert opened == [f"researcher#{number}" for number in range(1, 13)]
    assert addresses(bus) == opened


@both
@pytest.mark.rows("T038")
def test_each_label_counts_for_itself(policy: BusPolicy) -> None:
    bus = MessageBus(policy)
    for label in ("researcher", "coder", "researcher"):
        bus.open(label)

    assert addresses(bus) == ["researcher#1", "coder#1", "researcher#2"]


@both
@pytest.mark.rows("T040")
def test_the_address_of_a_run_that_has_ended_is_never_given_again(policy: BusPolicy) -> None:
    bus = MessageBus(policy)
    bus.open("researcher").close("answered")

    assert [bus.open("researcher").address for _ in range(2)] == ["researcher#2", "researcher#3"]
    assert addresses(bus) == ["researcher#1", "researcher#2", "researcher#3"]


@both
@pytest.mark.rows("T045")
def test_only_opening_a_reader_mints_an_address(policy: BusPolicy) -> None:
    bus = MessageBus(policy, labels=["writer"])
    assistant, worker = bus.open_entry("assistant"), bus.open("researcher")
    before = addresses(bus)

    for act in (
        lambda: worker.send("everyone", "hello"),
        lambda: worker.send("writer#1", "hello"),
        lambda: bus.send_external("desk", "hello", message_id="x-1"),
        lambda: bus.send_person("hello", to="writer"),
        assistant.drain,
        bus.roster,
        lambda: worker.close("answered"),
        assistant.drain_or_close,
        bus.close,
    ):
        act()
        assert addresses(bus) == before


@both
@pytest.mark.rows("T046")
def test_the_entry_agent_has_one_line_without_ordinal_however_often_it_opens(policy: BusPolicy) -> None:
    bus = MessageBus(policy)

    first = bus.open_entry("assistant")
    again = bus.open_entry("assistant")
    again.close("answered", more=True)
    last = bus.open_entry("assistant")

    assert [reader.address for reader in (first, again, last)] == ["assistant"] * 3
    assert addresses(bus) == ["assistant"]


@both
@pytest.mark.rows("T047", "B96")
@pytest.mark.parametrize("more", [True, False])
def test_a_second_entry_run_does_not_read_again_what_the_first_has_read(policy: BusPolicy, more: bool) -> None:
    bus = MessageBus(policy)
    first, worker = bus.open_entry("assistant"), bus.open("researcher")
    worker.send("assistant", "found it")
    bus.send_person("hello")
    assert texts(first.drain()) == ["found it", "hello"]
    first.returned()
    first.close("answered", more=more)
    bus.send_person("one more thing")

    second = bus.open_entry("assistant")

    assert texts(second.drain()) == ["one more thing"]


@both
@pytest.mark.rows("T035")
def test_what_has_opened_no_reader_is_matched_by_nothing(policy: BusPolicy) -> None:
    bus = MessageBus(policy, labels=["loner"])
    assistant, _ = bus.open_entry("assistant"), bus.open("researcher")

    assert [assistant.send(to, "hello").code for to in ("loner", "loner#1")] == ["not_found"] * 2
    assert "loner" not in str(matched(assistant.send("everyone", "hello")))
    assert not any(address.startswith("loner") for address in addresses(bus))
