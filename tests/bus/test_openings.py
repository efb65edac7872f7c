"""Readers that open and close while others send: each message finds them at one moment, and at no other."""

from functools import partial

import pytest

from restante import BusPolicy, MessageBus, Reader, Receipt
from tests.bus.policies import both
from tests.bus.seen import matched, obliged, texts
from tests.bus.threads import together

SENDS = 32
REPETITIONS = 30


def numbered(bus: MessageBus, receipts: list[Receipt], number: int) -> None:
    """One of many sends, to the label `researcher` or to everyone."""
    sender = bus.open("coder")
    receipts.append(sender.send("researcher" if number % 2 else "everyone", f"{number}"))


def opened_amid_sends(bus: MessageBus) -> tuple[Reader, list[Receipt]]:
    """`researcher#2`, opened while threads send, and what the senders were told."""
    bus.open("researcher")
    receipts: list[Receipt] = []
    opened: list[Reader] = []
    sends = [partial(numbered, bus, receipts, number) for number in range(SENDS)]
    half = SENDS // 2
    together([*sends[:half], lambda: opened.append(bus.open("researcher")), *sends[half:]])
    return opened[0], receipts


@both
@pytest.mark.rows("T102", "B18")
def test_a_reader_that_opens_amid_sends_was_matched_or_reads_them_as_replayed(policy: BusPolicy) -> None:
    moments: set[int] = set()
    for _ in range(REPETITIONS):
        reader, receipts = opened_amid_sends(MessageBus(policy))

        read = {one.message.message_id: one.replayed for one in reader.drain()}

        assert read == {receipt.message_id: reader.address not in matched(receipt) for receipt in receipts}
        assert len(read) == SENDS
        moments.add(sum(read.values()))
    assert len(moments) > 1, "no reader opened amid the sends"


@pytest.mark.rows("T102", "B18")
def test_a_reader_owes_exactly_what_matched_it() -> None:
    for _ in range(REPETITIONS):
        bus = MessageBus()
        _, receipts = opened_amid_sends(bus)

        assert [obliged(bus, receipt) for receipt in receipts] == [matched(receipt) for receipt in receipts]


@both
@pytest.mark.rows("B18")
def test_what_was_accepted_is_waiting_claimed_or_settled_at_each_moment(policy: BusPolicy) -> None:
    bus = MessageBus(policy)
    receipts: list[Receipt] = []
    balances: list[bool] = []

    def check() -> None:
        for _ in range(200):
            books = bus.record()["books"]
            balances.append(books.pop("accepted_in_all") == sum(books.values()))

    def come_and_go() -> None:
        for number in range(20):
            reader = bus.open("researcher")
            reader.drain()
            if number % 2:
                reader.returned()
            reader.close("answered")

    together([*(partial(numbered, bus, receipts, number) for number in range(SENDS)), come_and_go, check])
    bus.close()

    assert all(balances)
    books = bus.record()["books"]
    assert books["accepted"] == books["claimed"] == 0
    assert books["accepted_in_all"] == books["delivered"] + books["undelivered"]
    assert len(bus.record()["messages"]) == sum(receipt.accepted for receipt in receipts)


def sent_amid_an_end() -> tuple[MessageBus, list[Receipt], set[str]]:
    """Threads send to `researcher`, of which one run is ending: their receipts, and what that run read."""
    bus = MessageBus()
    ending, _ = bus.open("researcher"), bus.open("researcher")
    receipts: list[Receipt] = []
    read: set[str] = set()

    def end() -> None:
        while deliveries := ending.drain_or_close():
            read.update(one.message.message_id for one in deliveries)
            ending.returned()

    def send() -> None:
        receipts.append(bus.open("coder").send("researcher", "hello"))

    together([*[send] * 8, end, *[send] * 8])
    return bus, receipts, read


@pytest.mark.rows("T101")
def test_a_label_send_and_the_end_of_one_run_are_decided_from_one_snapshot() -> None:
    for _ in range(REPETITIONS):
        bus, receipts, read = sent_amid_an_end()

        for receipt in receipts:
            in_time = receipt.message_id in read
            assert matched(receipt) == obliged(bus, receipt)
            assert matched(receipt) == (["researcher#1", "researcher#2"] if in_time else ["researcher#2"])
            assert receipt.not_reached == (() if in_time else (("researcher#1", "finished"),))


@pytest.mark.rows("T101")
@pytest.mark.parametrize("closes_first", [True, False])
def test_the_run_that_closed_first_is_not_reached_and_never_obliged(closes_first: bool) -> None:
    bus = MessageBus()
    ending, writer = bus.open("researcher"), bus.open("coder")
    bus.open("researcher")
    if closes_first:
        ending.close("answered")

    receipt = writer.send("researcher", "hello")
    ending.close("answered")

    reached = ["researcher#2"] if closes_first else ["researcher#1", "researcher#2"]
    assert matched(receipt) == obliged(bus, receipt) == reached
    assert receipt.not_reached == ((("researcher#1", "finished"),) if closes_first else ())
    assert [unmet.address for unmet in bus.close().unmet] == reached


@pytest.mark.rows("T107", "B225")
def test_between_two_runs_of_the_entry_agent_its_address_waits_and_the_next_one_reads() -> None:
    bus = MessageBus()
    first, worker = bus.open_entry("assistant"), bus.open("coder")
    first.close("answered", more=True)

    receipt = worker.send("assistant", "it is done")
    second = bus.open_entry("assistant")

    assert receipt.accepted
    assert receipt.matched == (("assistant", "waiting"),)
    assert texts(second.drain()) == ["it is done"]
    second.returned()
    assert bus.close() == ((), ())
