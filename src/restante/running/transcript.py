"""A chat as it is kept: its turns, what began each, and the journal of each."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from restante.bus.entry import JournalEntry
from restante.bus.message import Message
from restante.durable import chats, messages, transcripts, turns, words
from restante.durable.db.database import Transaction
from restante.durable.times import rfc3339, rfc3339_or_none
from restante.durable.turns import TurnRow
from restante.running.openings import opening_of


@dataclass(frozen=True, slots=True, kw_only=True)
class Said:
    """The receipt for a person's words: they are stored."""

    message_id: str
    sequence: int
    turn_id: str
    """The turn that runs, or the one that they will begin."""
    state: str
    """`offered` to the turn that runs, or `queued`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnRecord:
    """One turn, as far as it has come."""

    turn_id: str
    state: str
    """`queued`, `running`, `ended_ok`, `ended_failed`, `interrupted` or `stopped`."""
    cause: tuple[Message, ...]
    """The messages, or the person's words, that began it."""
    entries: tuple[JournalEntry, ...]
    answer: str | None
    error: str | None
    report: Mapping[str, Any] | None
    """What was left undelivered; None until it has ended."""
    queued_at: str | None = None
    started_at: str | None = None
    ended_at: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Transcript:
    """A chat with all its turns."""

    chat_id: str
    agent: str
    created_at: str
    turns: tuple[TurnRecord, ...]
    title: str | None = None
    """What it was named; else how its first words begin."""


def read_transcript(tx: Transaction, chat_id: str | None) -> Transcript:
    """The chat, or the newest one. Raises `NotFound`."""
    chat = chats.get_newest_chat(tx) if chat_id is None else chats.get_chat(tx, chat_id)
    return Transcript(
        chat_id=chat.chat_id,
        agent=chat.agent,
        title=chat.title,
        created_at=rfc3339(chat.created_at_ms),
        turns=tuple(record_of(tx, turn) for turn in turns.list_turns(tx, chat.chat_id)),
    )


def record_of(tx: Transaction, turn: TurnRow) -> TurnRecord:
    """A turn with what began it and its journal."""
    return TurnRecord(
        turn_id=turn.turn_id,
        state=turn.state,
        cause=cause_of(tx, turn.turn_id),
        entries=tuple(JournalEntry(*entry) for entry in transcripts.read_turn(tx, turn.turn_id)),
        answer=turn.answer,
        error=turn.error,
        report=None if turn.report is None else json.loads(turn.report),
        queued_at=rfc3339(turn.queued_at_ms),
        started_at=rfc3339_or_none(turn.started_at_ms),
        ended_at=rfc3339_or_none(turn.ended_at_ms),
    )


def cause_of(tx: Transaction, turn_id: str) -> tuple[Message, ...]:
    """The messages, or the person's words, that a turn began with."""
    began = [one for one in words.list_words(tx, turn_id) if one.began]
    return opening_of(messages.list_arrived(tx, turn_id), began)
