"""Many threads on one bus: one list, one fate each, and no run that ends with mail it could read."""

import inspect
import os
import random
from collections.abc import Callable
from functools import partial
from threading import Lock

import pytest

from restante import BusPolicy, MessageBus, Reader, Receipt
from tests.bus.threads import together

SENDERS = 16
STORMS = int(os.environ.get("RESTANTE_STORMS", "50"))


def read_to_the_end(reader: Reader, way: str) -> set[str]:
    """A run that ends by that way; the ids of what it drained."""
    read: set[str] = set()
    if way == "answered":
        while deliveries := reader.drain_or_close():
            read.update(delivery.message.message_id for delivery in deliveries)
            reader.returned()
        return read
    read.update(delivery.message.message_id for delivery in reader.drain_last())
    reader.returned()
    reader.close("wrap-up")
    return read


@pytest.mark.rows("T007")
def test_no_run_ends_with_mail_that_it_could_read() -> None:
    chance = random.Random(7)
    for _ in range(1000):
        race_a_last_drain(chance)


def race_a_last_drain(chance: random.Random) -> None:
    """Up to 16 threads send to a run that is ending."""
    bus = MessageBus()
    reader = bus.open("coder")
    senders = [bus.open("researcher") for _ in range(chance.randint(1, SENDERS))]
    way = chance.choice(["answered", "wrap-up"])
    to = chance.choice(["coder", "coder#1", "everyone"])
    receipts: list[Receipt] = []
    read: set[str] = set()
    sends = [lambda sender=sender: receipts.append(sender.send(to, "news")) for sender in senders]

    together([*sends, lambda: read.update(read_to_the_end(reader, way))])

    assert read == {receipt.message_id for receipt in receipts if "coder#1" in dict(receipt.matched)}
    assert {receipt.code for receipt in receipts} <= {None, "recipient_finished"}
    assert all(unmet.address != "coder#1" for unmet in bus.close().unmet)


@pytest.mark.rows("T001")
@pytest.mark.parametrize("policy", [BusPolicy(), BusPolicy.classic()], ids=lambda policy: policy.name)
def test_the_books_balance_under_sixteen_threads(policy: BusPolicy) -> None:
    for seed in range(STORMS):
        bus = MessageBus(policy)
        bus.open_entry("assistant")
        accepted: list[str] = []
        lives = [random.Random(seed * 100 + number) for number in range(SENDERS)]
        together([partial(live, bus, chance, accepted) for chance in lives])

        report = bus.close()
        record = bus.record()
        books = record["books"]

        assert sorted(accepted) == sorted(message["message_id"] for message in record["messages"])
        assert books["accepted"] == books["claimed"] == 0
        assert books["accepted_in_all"] == books["delivered"] + books["undelivered"] + books["carried"]
        assert len(report.unmet) <= books["undelivered"]


def live(bus: MessageBus, chance: random.Random, accepted: list[str]) -> None:
    """One run's life: it opens, sends, reads, and ends somehow."""
    reader = bus.open(chance.choice(["researcher", "coder"]))
    for _ in range(6):
        to = chance.choice(["everyone", "researcher", "coder", "assistant", "coder#2"])
        receipt = bus.send_person("go on", to=to) if chance.random() < 0.2 else reader.send(to, "news")
        if receipt.message_id:
            accepted.append(receipt.message_id)
        reader.drain()
        if chance.random() < 0.8:
            reader.returned()
    if chance.random() < 0.5:
        reader.failed()
    reader.close(chance.choice(["answered", "error", "cancelled"]))


@pytest.mark.rows("T006")
@pytest.mark.parametrize("policy", [BusPolicy(), BusPolicy.classic()], ids=lambda policy: policy.name)
def test_one_schedule_played_twice_gives_one_record(policy: BusPolicy) -> None:
    for seed in range(200):
        assert play(policy, seed) == play(policy, seed)


def play(policy: BusPolicy, seed: int) -> tuple[str, str]:
    """A schedule that the seed fixes, with clock readings of its own; the record and what the sink was told."""
    chance = random.Random(seed)
    readings = iter(range(1_000_000))
    told: list[object] = []
    bus = MessageBus(policy, clock=lambda: next(readings) / 8, sink=told.append)
    bus.open_entry("assistant")
    for _ in range(4):
        live(bus, chance, [])
    bus.close(stopped=chance.random() < 0.3)
    return repr(bus.record()), repr(told)


class CountedLock:
    """A lock that counts how often it was taken."""

    def __init__(self) -> None:
        self.taken = 0
        self._lock = Lock()
        self.release, self.locked = self._lock.release, self._lock.locked

    def acquire(self) -> bool:
        self.taken += 1
        return self._lock.acquire()

    def __enter__(self) -> None:
        self.acquire()

    def __exit__(self, *_: object) -> None:
        self.release()


def wait_for(reader: Reader) -> None:
    with reader.waiting_for("scout#1"):
        pass


Act = Callable[[MessageBus, Reader], object]
WITHOUT = {"MessageBus.now_s"}
LOCKS: dict[str, tuple[int, Act]] = {
    "MessageBus.open": (1, lambda bus, _: bus.open("coder")),
    "MessageBus.open_entry": (1, lambda bus, _: bus.open_entry("assistant")),
    "MessageBus.send_person": (1, lambda bus, _: bus.send_person("hello")),
    "MessageBus.send_external": (1, lambda bus, _: bus.send_external("desk", "hello", message_id="x-1")),
    "MessageBus.roster": (1, lambda bus, _: bus.roster()),
    "MessageBus.fates": (1, lambda bus, _: bus.fates("m1")),
    "MessageBus.unread_person": (1, lambda bus, _: bus.unread_person()),
    "MessageBus.person_words": (1, lambda bus, _: bus.person_words()),
    "MessageBus.refusal_of_person": (1, lambda bus, _: bus.refusal_of_person("hello", to="coder")),
    "MessageBus.record": (1, lambda bus, _: bus.record()),
    "MessageBus.close": (1, lambda bus, _: bus.close()),
    "MessageBus.note": (1, lambda bus, _: bus.note("round", "coder#1", {})),
    "Reader.send": (1, lambda _, reader: reader.send("scout", "hello")),
    "Reader.drain": (1, lambda _, reader: reader.drain()),
    "Reader.drain_or_close": (1, lambda _, reader: reader.drain_or_close()),
    "Reader.drain_last": (1, lambda _, reader: reader.drain_last()),
    "Reader.returned": (1, lambda _, reader: reader.returned()),
    "Reader.failed": (1, lambda _, reader: reader.failed()),
    "Reader.close": (1, lambda _, reader: reader.close("answered")),
    "Reader.sends": (1, lambda _, reader: reader.sends()),
    "Reader.has_mail": (1, lambda _, reader: reader.has_mail()),
    "Reader.waiting_for": (2, lambda _, reader: wait_for(reader)),
    "Reader.question": (1, lambda _, reader: reader.question("scout", "and which?")),
    "Reader.wait_again": (1, lambda _, reader: reader.wait_again("m2")),
    "Reader.wait_no_more": (1, lambda _, reader: reader.wait_no_more("m2")),
    "Reader.asked": (1, lambda _, reader: reader.asked("m2")),
    "Reader.subscribe": (2, lambda _, reader: reader.subscribe(list)()),
}


@pytest.mark.parametrize("operation", LOCKS)
def test_every_operation_is_one_step_under_the_one_lock(monkeypatch: pytest.MonkeyPatch, operation: str) -> None:
    lock = CountedLock()
    monkeypatch.setattr("restante.bus.bus.Lock", lambda: lock)
    bus = MessageBus()
    reader, scout = bus.open("coder"), bus.open("scout")
    scout.send("coder", "hello")
    reader.question("scout", "which?")
    times, act = LOCKS[operation]
    before = lock.taken

    act(bus, reader)

    assert lock.taken - before == times
    assert not lock.locked()


def test_every_operation_of_the_bus_is_known_to_take_the_lock_or_not_to() -> None:
    operations = {
        f"{owner.__name__}.{name}"
        for owner in (MessageBus, Reader)
        for name, _ in inspect.getmembers(owner, inspect.isfunction)
        if not name.startswith("_")
    }
    assert operations == LOCKS.keys() | WITHOUT
