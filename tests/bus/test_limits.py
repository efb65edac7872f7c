"""Limits on what agents send: how many broadcasts a turn may have, and how many messages a pair."""

from dataclasses import replace
from itertools import cycle

import pytest

from restante import BusPolicy, MessageBus, Reader, Receipt
from tests.bus.policies import both
from tests.bus.seen import matched, texts


def storm(bus: MessageBus, workers: list[Reader]) -> list[Receipt]:
    """One writes to everyone; each that reads it answers to everyone, and so on until somebody is refused."""
    receipts = [workers[0].send("everyone", "who has the key?")]
    for worker in cycle(workers):
        for _ in worker.drain():
            receipts.append(worker.send("everyone", "not me"))
            if not receipts[-1].accepted:
                return receipts
        worker.returned()
    raise AssertionError(bus.roster())


@both
@pytest.mark.rows("T340", "B74")
def test_a_storm_of_broadcasts_ends_at_the_limit_and_each_receipt_counts_whom_it_reaches(policy: BusPolicy) -> None:
    bus = MessageBus(replace(policy, broadcasts=20))
    workers = [bus.open("worker") for _ in range(10)]

    *accepted, refused = storm(bus, workers)

    addresses = 9 if policy.liveness else 10
    assert [len(matched(receipt)) for receipt in accepted] == [addresses] * 20
    assert all(f"{addresses} addresses" in receipt.text for receipt in accepted)
    assert (refused.accepted, refused.code) == (False, "rate_limited")
    assert "The limit of 20 messages" in refused.text
    assert "had 20" in refused.text
    assert len(bus.record()["messages"]) == 20


def pair(policy: BusPolicy) -> tuple[MessageBus, Reader, Reader]:
    """Two runs that may exchange eight messages."""
    bus = MessageBus(replace(policy, pair_messages=8))
    return bus, bus.open("a"), bus.open("b")


def exchange(a: Reader, b: Reader, count: int) -> None:
    """They exchange that many short notes, no two of them the same."""
    for number in range(count):
        sender, to = (a, b) if number % 3 else (b, a)
        assert sender.send(to.address, f"note {number}").accepted


@both
@pytest.mark.rows("T341", "B77")
@pytest.mark.parametrize("ninth", ["a#1", "b#1"])
def test_the_ninth_message_of_a_pair_is_refused_whoever_sends_it_and_whatever_it_says(
    policy: BusPolicy, ninth: str
) -> None:
    bus, a, b = pair(policy)
    exchange(a, b, 8)
    sender, other = (a, b) if ninth == "a#1" else (b, a)

    receipt = sender.send(other.address, "a different note")

    assert (receipt.accepted, receipt.code) == (False, "rate_limited")
    assert "The limit of 8 messages" in receipt.text
    assert "had 8" in receipt.text
    assert len(bus.record()["messages"]) == 8


@both
@pytest.mark.rows("T341", "B77")
def test_a_label_send_counts_once_for_each_pair_and_is_refused_whole_if_one_is_full(policy: BusPolicy) -> None:
    bus, a, b = pair(policy)
    exchange(a, b, 7)
    second = bus.open("b")
    second.drain()
    assert matched(a.send("b", "the eighth for one, the first for the other")) == ["b#1", "b#2"]

    receipt = a.send("b", "to both")

    assert (receipt.accepted, receipt.code) == (False, "rate_limited")
    assert "between a#1 and b#1" in receipt.text
    assert texts(second.drain()) == ["the eighth for one, the first for the other"]
    assert [a.send("b#2", f"note {number}").accepted for number in range(8)] == [True] * 7 + [False]


@both
@pytest.mark.rows("T341", "B77")
def test_broadcasts_count_on_their_own_limit_only(policy: BusPolicy) -> None:
    bus = MessageBus(replace(policy, pair_messages=2, broadcasts=3))
    a, b = bus.open("a"), bus.open("b")

    broadcasts = [a.send("everyone", "hello").code for _ in range(4)]
    letters = [sender.send(to, "hello").code for sender, to in ((a, "b"), (b, "a"), (a, "b"))]

    assert broadcasts == [None, None, None, "rate_limited"]
    assert letters == [None, None, "rate_limited"]


@both
@pytest.mark.rows("T342", "B74")
def test_only_accepted_messages_of_agents_count(policy: BusPolicy) -> None:
    bus = MessageBus(replace(policy, pair_messages=2, broadcasts=2))
    a, _ = bus.open("a"), bus.open("b")

    for number in range(50):
        for to in ("everyone", "a", "b#1"):
            assert bus.send_person("hello", to=to).accepted
            assert bus.send_external("desk", "hello", message_id=f"x-{to}-{number}", to=to).accepted
        assert [a.send(to, text).accepted for to, text in (("c", "hello"), ("everyone", ""), ("b", "\0"))] == [
            False
        ] * 3

    assert [a.send("everyone", "hello").code for _ in range(3)] == [None, None, "rate_limited"]
    assert [a.send("b#1", "hello").code for _ in range(3)] == [None, None, "rate_limited"]


@both
@pytest.mark.rows("T342", "B74")
def test_the_person_and_senders_from_outside_may_write_when_agents_have_used_up_their_limits(policy: BusPolicy) -> None:
    bus = MessageBus(replace(policy, pair_messages=0, broadcasts=0))
    a, _ = bus.open("a"), bus.open("b")
    assert [a.send(to, "hello").code for to in ("everyone", "b")] == ["rate_limited"] * 2

    for to in ("everyone", "b"):
        assert bus.send_person("hello", to=to).accepted
        assert bus.send_external("desk", "hello", message_id=f"x-{to}", to=to).accepted


@both
@pytest.mark.rows("T341")
def test_a_limit_on_pairs_alone_leaves_messages_to_everyone_without_one(policy: BusPolicy) -> None:
    bus = MessageBus(replace(policy, pair_messages=1))
    a, _ = bus.open("a"), bus.open("b")

    assert [a.send("everyone", "hello").accepted for _ in range(3)] == [True] * 3
    assert [a.send("b", "hello").code for _ in range(2)] == [None, "rate_limited"]


@both
@pytest.mark.rows("T341", "B77")
def test_a_label_send_is_refused_whole_whichever_of_its_pairs_is_full(policy: BusPolicy) -> None:
    bus, a, first = pair(policy)
    exchange(a, bus.open("b"), 8)

    receipt = a.send("b", "to both")

    assert receipt.code == "rate_limited"
    assert "between a#1 and b#2" in receipt.text
    assert first.drain() == ()
