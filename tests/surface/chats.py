"""Chats for tests of the export: turns that were really played, or driven by hand on a real bus."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from restante.bus import BusPolicy, JournalEntry, Message, MessageBus, Reader
from restante.running.recovery import settle
from restante.running.transcript import Transcript, TurnRecord
from restante.surface.export import export_chat

WORDS = (Message("w1", 1, "person", "person", "everyone", "go"),)


def turn(
    entries: Sequence[JournalEntry] = (),
    state: str = "ended_ok",
    *,
    cause: tuple[Message, ...] = WORDS,
    answer: str | None = None,
    error: str | None = None,
) -> TurnRecord:
    """A turn as the store gives it."""
    return TurnRecord(
        turn_id="turn-1", state=state, cause=cause, entries=tuple(entries), answer=answer, error=error, report=None
    )


def cut_off(entries: Sequence[JournalEntry]) -> TurnRecord:
    """A turn that was running when its process died, as the next process finds and settles it."""
    return turn([*entries, *settle(entries).fates], "interrupted")


def exported(*turns: TurnRecord, full: bool = True) -> str:
    """The export of a chat with these turns."""
    chat = Transcript(chat_id="chat-1", agent="assistant", created_at="2026-01-01T00:00:00.000Z", turns=turns)
    return export_chat(chat, full=full)


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
