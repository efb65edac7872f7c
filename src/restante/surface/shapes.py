"""Chats as JSON, the same at every door."""

from collections.abc import Mapping
from typing import Any

from restante.bus.message import Message
from restante.durable.times import rfc3339
from restante.running.platform import Chat, ChatInList, ChatPage, Cut, Hit, HitPage, Transcript
from restante.running.transcript import TurnRecord

Shape = dict[str, Any]


def shape_page(page: ChatPage) -> Shape:
    """A page of chats."""
    return {
        "chats": [_in_list(each) for each in page.chats],
        "next_cursor": page.next_cursor,
        "has_more": page.has_more,
    }


def shape_chat(chat: Chat) -> Shape:
    """What a chat is, without its turns."""
    return {
        "chat_id": chat.chat_id,
        "agent_id": chat.agent_id,
        "agent": chat.agent,
        "purpose": chat.purpose,
        "title": chat.title,
        "created_at": rfc3339(chat.created_at_ms),
        "last_activity_at": rfc3339(chat.last_activity_at_ms),
    }


def shape_hits(page: HitPage) -> Shape:
    """A page of hits."""
    return {"hits": [_hit(each) for each in page.hits], "next_cursor": page.next_cursor, "has_more": page.has_more}


def shape_cut(cut: Cut) -> Shape:
    """A place where a chat can be cut."""
    return {"turn_id": cut.turn_id, "number": cut.number, "state": cut.state, "words": cut.words}


def shape_record(chat: Transcript) -> Shape:
    """A chat with every turn, and all that is stored of each."""
    return {
        "chat_id": chat.chat_id,
        "agent": chat.agent,
        "title": chat.title,
        "created_at": chat.created_at,
        "turns": [shape_turn(turn) for turn in chat.turns],
    }


def shape_turn(turn: TurnRecord) -> Shape:
    """One turn: what began it, its journal, its answer, and what was left undelivered."""
    return {
        "turn_id": turn.turn_id,
        "state": turn.state,
        "queued_at": turn.queued_at,
        "started_at": turn.started_at,
        "ended_at": turn.ended_at,
        "cause": [_cause(message) for message in turn.cause],
        "answer": turn.answer,
        "error": turn.error,
        "report": turn.report,
        "entries": [entry._asdict() for entry in turn.entries],
    }


def _in_list(each: ChatInList) -> Shape:
    return shape_chat(each.chat) | {"turns": each.turns, "running": each.running, "last_state": each.last_state}


def _hit(hit: Hit) -> Shape:
    return {
        "chat_id": hit.chat_id,
        "title": hit.title,
        "turn_id": hit.turn_id,
        "turn": hit.turn,
        "message_id": hit.message_id,
        "said_at": rfc3339(hit.said_at_ms),
        "excerpt": hit.excerpt,
    }


def _cause(message: Message) -> Mapping[str, object]:
    names = ("message_id", "sequence", "sender", "origin", "text", "in_reply_to")
    return {name: getattr(message, name) for name in names}
