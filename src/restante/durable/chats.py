"""A chat is a transcript of turns: a person's dialogue with an agent, or where an agent answers messages."""

from dataclasses import dataclass
from typing import Literal

from restante.durable.db.database import Row, Transaction
from restante.durable.ids import new_id
from restante.errors import NotFound

Purpose = Literal["person", "messages"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Chat:
    """One chat of one agent."""

    chat_id: str
    agent_id: str
    agent: str
    """The agent's name."""
    purpose: Purpose
    created_at_ms: int


def create_chat(tx: Transaction, agent_id: str, now_ms: int, *, purpose: Purpose = "person") -> str:
    """A new chat; its id."""
    chat_id = new_id("chat")
    tx.run(
        "INSERT INTO chats (chat_id, agent_id, purpose, sequence, created_at) VALUES (?, ?, ?, ?, ?)",
        chat_id,
        agent_id,
        purpose,
        tx.next_sequence(),
        now_ms,
    )
    return chat_id


def chat_for_messages(tx: Transaction, agent_id: str, now_ms: int) -> str:
    """The one chat in which this agent answers messages, made for the first of them; its id."""
    row = tx.first("SELECT chat_id FROM chats WHERE agent_id = ? AND purpose = 'messages'", agent_id)
    return row["chat_id"] if row is not None else create_chat(tx, agent_id, now_ms, purpose="messages")


def get_chat(tx: Transaction, chat_id: str) -> Chat:
    """The chat with this id. Raises `NotFound`."""
    row = tx.first(f"{_SELECT} WHERE c.chat_id = ?", chat_id)
    if row is None:
        raise NotFound("There is no chat with that id.")
    return _of(row)


def get_newest_chat(tx: Transaction) -> Chat:
    """The chat that a person made last. Raises `NotFound` before the first."""
    row = tx.first(f"{_SELECT} WHERE c.purpose = 'person' ORDER BY c.sequence DESC LIMIT 1")
    if row is None:
        raise NotFound("There is no chat yet. `restante run` makes one.")
    return _of(row)


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatInList:
    """A chat with what has happened in it, in short."""

    chat: Chat
    turns: int
    last_state: str | None
    """The state of its newest turn; None before the first."""


def list_chats(tx: Transaction) -> list[ChatInList]:
    """Every chat, the newest first."""
    rows = tx.all(_LIST)
    return [ChatInList(chat=_of(row), turns=row["turns"], last_state=row["last_state"]) for row in rows]


def read_history(tx: Transaction, chat_id: str) -> str | None:
    """What a model has read and said in this chat up to its last turn, as the runner wrote it."""
    row = tx.first("SELECT history FROM chats WHERE chat_id = ?", chat_id)
    return None if row is None else row["history"]


def write_history(tx: Transaction, chat_id: str, history: str) -> None:
    """Keep that for the next turn."""
    tx.run("UPDATE chats SET history = ? WHERE chat_id = ?", history, chat_id)


_SELECT = "SELECT c.*, a.name AS agent FROM chats c JOIN agents a ON a.agent_id = c.agent_id"

_LIST = (
    "SELECT c.*, a.name AS agent, (SELECT COUNT(*) FROM turns t WHERE t.chat_id = c.chat_id) AS turns,"
    " (SELECT t.state FROM turns t WHERE t.chat_id = c.chat_id ORDER BY t.sequence DESC LIMIT 1) AS last_state"
    " FROM chats c JOIN agents a ON a.agent_id = c.agent_id ORDER BY c.sequence DESC"
)


def _of(row: Row) -> Chat:
    return Chat(
        chat_id=row["chat_id"],
        agent_id=row["agent_id"],
        agent=row["agent"],
        purpose=row["purpose"],
        created_at_ms=row["created_at"],
    )
