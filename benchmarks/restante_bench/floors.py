"""What others take for the same: the queue of the standard library, an actor, and the runtime of autogen-core."""

import asyncio
import tracemalloc
from dataclasses import dataclass

import pykka
from autogen_core import (
    AgentId,
    MessageContext,
    RoutedAgent,
    SingleThreadedAgentRuntime,
    TopicId,
    TypeSubscription,
    message_handler,
)

from restante_bench.measure import best_seconds

TURNS = 20_000


def queue_seconds() -> float:
    """`asyncio.Queue`: put_nowait and get_nowait of one item."""

    async def turns() -> None:
        queue: asyncio.Queue[str] = asyncio.Queue()
        for _ in range(TURNS):
            queue.put_nowait("news")
            queue.get_nowait()

    return best_seconds(lambda: asyncio.run(turns())) / TURNS


class _Actor(pykka.ThreadingActor):
    def on_receive(self, message: object) -> object:
        return message


def pykka_seconds() -> float:
    """pykka: ask an actor, which answers."""
    actor = _Actor.start()
    try:
        return best_seconds(lambda: [actor.ask("news") for _ in range(1_000)]) / 1_000
    finally:
        actor.stop()


@dataclass
class News:
    """What autogen-core carries."""

    text: str


class _Listener(RoutedAgent):
    @message_handler
    async def on_news(self, message: News, ctx: MessageContext) -> None:
        del message, ctx


def autogen_direct_seconds() -> float:
    """autogen-core: send a message to one agent, and wait until it has been handled."""

    async def turns(count: int) -> None:
        runtime = SingleThreadedAgentRuntime()
        await _Listener.register(runtime, "listener", lambda: _Listener("listens"))
        runtime.start()
        for _ in range(count):
            await runtime.send_message(News("news"), AgentId("listener", "one"))
        await runtime.stop()

    return best_seconds(lambda: asyncio.run(turns(500)), rounds=3) / 500


def autogen_publish_rate(listeners: int) -> float:
    """autogen-core: deliveries a second when a message is published to many agents."""

    async def turns(count: int) -> None:
        runtime = SingleThreadedAgentRuntime()
        for number in range(listeners):
            name = f"listener{number}"
            await _Listener.register(runtime, name, lambda: _Listener("listens"))
            await runtime.add_subscription(TypeSubscription("news", name))
        runtime.start()
        for _ in range(count):
            await runtime.publish_message(News("news"), TopicId("news", "one"))
        await runtime.stop_when_idle()

    return 10 * listeners / best_seconds(lambda: asyncio.run(turns(10)), rounds=3)


class _Slotted:
    __slots__ = ("call", "sender", "state", "text", "to")

    def __init__(self, text: str) -> None:
        self.text = text
        self.to = self.sender = self.state = self.call = None


def slotted_bytes() -> float:
    """Bytes of a slotted object with five fields in a list."""
    tracemalloc.start()
    before = tracemalloc.get_traced_memory()[0]
    kept = [_Slotted("news") for _ in range(TURNS)]
    after = tracemalloc.get_traced_memory()[0]
    tracemalloc.stop()
    return (after - before) / len(kept)
