"""How the cost of a message grows with the length of the list and the number of readers: it should not."""

import gc
import time
import tracemalloc
from collections.abc import Iterator
from typing import NamedTuple

from restante import MessageBus, Reader

MESSAGES = (1_000, 10_000, 100_000, 1_000_000)
READERS = (10, 100, 1_000)
_BATCH = 10
"""Messages that one drain takes."""


class Cost(NamedTuple):
    """What a message costs on a bus of that size, from its send to its fate."""

    messages: int
    readers: int
    seconds: float
    stored_bytes: float


def costs() -> Iterator[Cost]:
    """Every size, the small ones first."""
    for readers in READERS:
        for messages in MESSAGES:
            yield Cost(messages, readers, _seconds(messages, readers), _bytes(min(messages, 20_000), readers))


def _seconds(messages: int, readers: int) -> float:
    bus = MessageBus()
    scout, crowd = bus.open("scout"), [bus.open("writer") for _ in range(readers)]
    gc.collect()
    began = time.perf_counter()
    _send_and_read(scout, crowd, messages)
    return (time.perf_counter() - began) / messages


def _bytes(messages: int, readers: int) -> float:
    bus = MessageBus()
    scout, crowd = bus.open("scout"), [bus.open("writer") for _ in range(readers)]
    tracemalloc.start()
    before = tracemalloc.get_traced_memory()[0]
    _send_and_read(scout, crowd, messages)
    after = tracemalloc.get_traced_memory()[0]
    tracemalloc.stop()
    return (after - before) / messages


def _send_and_read(scout: Reader, crowd: list[Reader], messages: int) -> None:
    """Each reader in turn gets a few messages, and reads them."""
    for number in range(messages // _BATCH):
        reader = crowd[number % len(crowd)]
        for _ in range(_BATCH):
            scout.send(reader.address, "news")
        reader.drain()
        reader.returned()
