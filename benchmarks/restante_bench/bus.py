"""The bus: what a message costs, alone, in a crowd, and in memory."""

import tracemalloc
from collections.abc import Iterator

from restante import MessageBus, Reader
from restante_bench import floors
from restante_bench.measure import Row, best_seconds, microseconds, per_second

TURNS = 20_000
CROWD = 100


def rows() -> Iterator[Row]:
    """Every row of the bus."""
    direct = direct_seconds()
    queue = floors.queue_seconds()
    yield Row("send + drain + fate, direct", microseconds(direct), "asyncio.Queue put + get", microseconds(queue),
              direct / queue, 10, "less")  # fmt: skip
    autogen = floors.autogen_direct_seconds()
    yield Row("the same", microseconds(direct), "autogen-core send_message", microseconds(autogen),
              autogen / direct, 30, "more")  # fmt: skip
    actor = floors.pykka_seconds()
    yield Row("the same", microseconds(direct), "pykka ask", microseconds(actor), actor / direct, 1, "more")
    few, many = first_drain_seconds(1_000), first_drain_seconds(1_000_000)
    yield Row("first drain, 10 of mine among 1,000,000 foreign", microseconds(many), "among 1,000", microseconds(few),
              many / few, 2, "less")  # fmt: skip
    ours, theirs = everyone_rate(), floors.autogen_publish_rate(CROWD)
    yield Row(f"everyone to {CROWD} runs, deliveries", per_second(ours), "autogen-core publish", per_second(theirs),
              ours / theirs, 20, "more")  # fmt: skip
    stored, slotted = stored_bytes(), floors.slotted_bytes()
    yield Row("memory of a message and its obligation", f"{stored:,.0f} bytes", "a slotted object in a list",
              f"{slotted:,.0f} bytes", stored / slotted, 6, "less")  # fmt: skip


def direct_seconds() -> float:
    """Seconds from a send to its fate `delivered`, from one run to another."""

    def turns() -> None:
        bus = MessageBus()
        scout, writer = bus.open("scout"), bus.open("writer")
        for _ in range(TURNS):
            scout.send("writer#1", "news")
            writer.drain()
            writer.returned()

    return best_seconds(turns) / TURNS


def first_drain_seconds(foreign: int) -> float:
    """Seconds of the first drain of a run that opens late, with ten messages for it among many for others."""
    bus = MessageBus()
    scout = bus.open("scout")
    bus.open("other")
    bus.open("writer")
    for number in range(foreign):
        if number % (foreign // 10) == 0:
            scout.send("writer", "news")
        scout.send("other#1", "news")
    late = iter([bus.open("writer") for _ in range(50)])
    return best_seconds(lambda: len(next(late).drain()), rounds=50)


def everyone_rate() -> float:
    """Deliveries a second when one run writes to everyone and each of a crowd reads."""

    def turns() -> None:
        bus = MessageBus()
        scout = bus.open("scout")
        crowd: list[Reader] = [bus.open("writer") for _ in range(CROWD)]
        for _ in range(100):
            scout.send("everyone", "news")
            for reader in crowd:
                reader.drain()
                reader.returned()

    return CROWD * 100 / best_seconds(turns, rounds=3)


def stored_bytes() -> float:
    """Bytes that a delivered message keeps, beyond its text."""
    bus = MessageBus()
    scout, writer = bus.open("scout"), bus.open("writer")
    tracemalloc.start()
    before = tracemalloc.get_traced_memory()[0]
    for _ in range(TURNS):
        scout.send("writer#1", "news")
    writer.drain()
    writer.returned()
    after = tracemalloc.get_traced_memory()[0]
    tracemalloc.stop()
    return (after - before) / TURNS
