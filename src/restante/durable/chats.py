"""A chat is a transcript of turns: a person's dialogue with an agent, or where an agent answers messages."""

from dataclasses import dataclass
from typing import Literal

from restante.durable.db.database import Row, Transaction
from restante.durable.ids import new_id
from restante.durable.topics import chat_topic
from restante.errors import InvalidArguments, Limit, NotFound
from restante.texts import problem_of

Purpose = Literal["person", "messages"]

TITLE_MAX = 200
"""The longest title, in code points."""
FIRST_WORDS = 60
"""How much of its first words a chat without a title of its own is called by, in code points."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Chat:
    """One chat of one agent."""

    chat_id: str
    agent_id: str
    agent: str
    """The agent's name."""
    purpose: Purpose
    title: str | None
    """What it was named; else how its first words begin; None before the first."""
    created_at_ms: int
    last_activity_at_ms: int


def create_chat(
    tx: Transaction, agent_id: str, now_ms: int, *, purpose: Purpose = "person", title: str | None = None
) -> str:
    """A new chat; its id. Raises `InvalidArguments` for a title that cannot be."""
    if title is not None:
        check_title(title)
    chat_id, sequence = new_id("chat"), tx.next_sequence()
    tx.run(
        "INSERT INTO chats (chat_id, agent_id, purpose, sequence, activity, title, created_at)"
        " VALUES (?, ?, ?, ?, ?, ?, ?)",
        chat_id,
        agent_id,
        purpose,
        sequence,
        sequence,
        title,
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
        raise NotFound("There is no chat with that id. `restante chats` lists them.")
    return chat_of(row)


def exists(tx: Transaction, chat_id: str) -> bool:
    """Whether there is a chat with this id."""
    return tx.first("SELECT 1 FROM chats WHERE chat_id = ?", chat_id) is not None


def get_persons_chat(tx: Transaction, chat_id: str) -> Chat:
    """The same, if it is a person's. Raises `NotFound`, and `InvalidArguments` where an agent answers messages."""
    chat = get_chat(tx, chat_id)
    if chat.purpose != "person":
        message = f"In this chat {chat.agent} answers messages: it is no person's, and stays whole. Name another chat."
        raise InvalidArguments(message, field="chat_id")
    return chat


def get_newest_chat(tx: Transaction) -> Chat:
    """The chat that a person made last. Raises `NotFound` before the first."""
    row = tx.first(f"{_SELECT} WHERE c.purpose = 'person' ORDER BY c.sequence DESC LIMIT 1")
    if row is None:
        raise NotFound("There is no chat yet. `restante run` makes one.")
    return chat_of(row)


def rename(tx: Transaction, chat_id: str, title: str) -> Chat:
    """Name the chat; how it is now. Raises `NotFound` and `InvalidArguments`."""
    get_chat(tx, chat_id)
    check_title(title)
    tx.run("UPDATE chats SET title = ? WHERE chat_id = ?", title, chat_id)
    tx.wake(chat_topic(chat_id))
    return get_chat(tx, chat_id)


def was_active(tx: Transaction, chat_id: str, now_ms: int) -> None:
    """Something was said in the chat, or a turn of it ended: it is the newest of all."""
    tx.run("UPDATE chats SET activity = ?, last_activity_at = ? WHERE chat_id = ?", tx.next_sequence(), now_ms, chat_id)


def check_title(title: str) -> None:
    """Raise `InvalidArguments` unless it can be a title."""
    problem = problem_of(title, TITLE_MAX)
    if problem is None:
        return
    limit = Limit("title_max", TITLE_MAX, len(title)) if problem.code == "text_too_long" else None
    message = f"A title has 1 to {TITLE_MAX} characters, not all of them blank, and none of them U+0000."
    raise InvalidArguments(message, field="title", limit=limit)


FIRST = "(SELECT w.text FROM words w WHERE w.chat_id = c.chat_id ORDER BY w.sequence LIMIT 1)"
"""The first words in the chat `c`."""

_SELECT = (
    f"SELECT c.*, a.name AS agent, {FIRST} AS first_words"  # noqa: S608  # a constant
    " FROM chats c JOIN agents a ON a.agent_id = c.agent_id"
)


def chat_of(row: Row) -> Chat:
    """The chat of a row that has the name of its `agent` and its `first_words`."""
    return Chat(
        chat_id=row["chat_id"],
        agent_id=row["agent_id"],
        agent=row["agent"],
        purpose=row["purpose"],
        title=row["title"] if row["title"] is not None else beginning_of(row["first_words"]),
        created_at_ms=row["created_at"],
        last_activity_at_ms=row["last_activity_at"] or row["created_at"],
    )


def beginning_of(text: str | None) -> str | None:
    """How words begin, on one line."""
    if text is None:
        return None
    words = " ".join(text.split())
    return words if len(words) <= FIRST_WORDS else f"{words[: FIRST_WORDS - 1].rstrip()}…"
