"""Chats for tests of the export: turns that were really played, or driven by hand on a real bus."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from restante.bus import BusPolicy, JournalEntry, Message, MessageBus, Reader
from restante.surface.export import export_chat


@dataclass(frozen=True, kw_only=True)
class Turn:
    """As the store gives it."""

    entries: Sequence[JournalEntry]
    state: str = "ended_ok"
    cause: Sequence[Message] = (Message("w1", 1, "person", "person", "everyone", "go"),)
    answer: str | None = None
    error: str | None = None


@dataclass(frozen=True, kw_only=True)
class Chat:
    """As the store gives it."""

    turns: Sequence[Turn]
    chat_id: str = "chat-1"
    agent: str = "assistant"
    created_at: str = "2026-01-01T00:00:00.000Z"


def exported(*turns: Turn, full: bool = True) -> str:
    return export_chat(Chat(turns=turns), full=full)


@dataclass
class Bench:
    """A bus whose runs are driven by hand, with its journal."""

    policy: BusPolicy = field(default_factory=BusPolicy)

    def __post_init__(self) -> None:
        self.entries: list[JournalEntry] = []
        self.now_s = 0.0
        self.bus = MessageBus(self.policy, sink=self.entries.append, clock=lambda: self.now_s)
        self.assistant = self.bus.open_entry("assistant")

    def spawn(self, task: str, label: str = "researcher") -> Reader:
        """A worker of the entry run, noted as a turn notes it."""
        worker = self.bus.open(label)
        self.bus.note("spawn", "assistant", {"agent": label, "task": task, "address": worker.address})
        return worker

    def call(self, address: str, tool: str, result: str, **args: object) -> None:
        """A tool call with its result."""
        facts = {"tool_call_id": f"c{len(self.entries)}", "tool": tool}
        self.bus.note("tool_call", address, {**facts, "args": args})
        self.bus.note("tool_result", address, {**facts, "text": result, "outcome": "ok"})

    def reads(self, reader: Reader) -> None:
        """A boundary with a call that returns."""
        reader.drain()
        self.bus.note("round", reader.address, {"call": 0, "of": 10})
        reader.returned()
