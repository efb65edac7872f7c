"""What a sink is told, and what becomes of one that misbehaves."""

import pytest

from restante import BusPolicy, JournalEntry, MessageBus
from tests.bus.policies import both


@both
def test_a_sink_that_raises_is_told_nothing_more_and_the_bus_goes_on_and_says_why(policy: BusPolicy) -> None:
    told: list[str] = []

    def full(entry: JournalEntry) -> None:
        told.append(entry.kind)
        if entry.kind == "message":
            raise OSError("disk full")

    bus = MessageBus(policy, sink=full)
    scout, coder = bus.open("scout"), bus.open("coder")

    assert scout.send("coder", "one").accepted
    assert scout.send("coder", "two").accepted

    assert [delivery.message.text for delivery in coder.drain()] == ["one", "two"]
    assert told == ["run_opened", "run_opened", "message"]
    assert str(bus.sink_failure) == "disk full"


def test_a_sink_that_raises_nothing_has_no_failure() -> None:
    bus = MessageBus(sink=lambda _: None)
    bus.open("scout")
    assert bus.sink_failure is None


@both
def test_a_sink_may_ask_the_bus_and_send_on_it_and_the_order_holds(policy: BusPolicy) -> None:
    told: list[int] = []

    def curious(entry: JournalEntry) -> None:
        told.append(entry.number)
        if entry.kind == "run_opened" and entry.address == "coder#1":
            assert [line.address for line in bus.roster()] == ["coder#1"]
            bus.send_person("welcome", to="coder")

    bus = MessageBus(policy, sink=curious)
    coder = bus.open("coder")

    assert [delivery.message.text for delivery in coder.drain()] == ["welcome"]
    assert told == list(range(1, len(told) + 1))


@pytest.mark.parametrize("kind", ["round", "tool_call"])
def test_what_the_turn_notes_shares_the_numbers_of_the_bus(kind: str) -> None:
    told: list[JournalEntry] = []
    bus = MessageBus(sink=told.append)
    coder = bus.open("coder")

    bus.note(kind, coder.address, {"call": 0})
    bus.note(kind, None, {"call": 1})

    assert [(entry.number, entry.kind, entry.address) for entry in told[1:]] == [(2, kind, "coder#1"), (3, kind, None)]
    assert bus.record()["runs"][0][f"{kind}s"] == 1
