"""A page of the chats of a store, the one in which something happened last first."""

from dataclasses import dataclass

from restante.durable import chats
from restante.durable.chats import Chat
from restante.durable.db.database import Row, Transaction
from restante.durable.pages import LAST_SEQUENCE


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatInList:
    """A chat with what has happened in it, in short."""

    chat: Chat
    turns: int
    running: str | None
    """The id of the turn that it runs."""
    last_state: str | None
    """The state of its newest turn; None before the first."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatPage:
    """Some of the chats."""

    chats: tuple[ChatInList, ...]
    next_cursor: int
    """What to give as `after` for the page that follows."""
    has_more: bool


def list_chats(tx: Transaction, *, agent: str | None = None, after: int = 0, limit: int) -> ChatPage:
    """At most `limit` chats, of the agent with that name or id or of all. `after` 0 is the beginning."""
    rows = tx.all(_PAGE, agent, agent, agent, None, None, after or LAST_SEQUENCE, limit + 1)
    shown = rows[:limit]
    return ChatPage(
        chats=tuple(_of(row) for row in shown),
        next_cursor=shown[-1]["activity"] if shown else after,
        has_more=len(rows) > limit,
    )


def get_in_list(tx: Transaction, chat_id: str) -> ChatInList:
    """One chat as the list has it. Raises `NotFound`."""
    chats.get_chat(tx, chat_id)
    return _of(tx.all(_PAGE, None, None, None, chat_id, chat_id, LAST_SEQUENCE, 1)[0])


_PAGE = (
    f"SELECT c.*, a.name AS agent, {chats.FIRST} AS first_words,"  # noqa: S608  # a constant
    " (SELECT COUNT(*) FROM turns t WHERE t.chat_id = c.chat_id) AS turns,"
    " (SELECT t.turn_id FROM turns t WHERE t.chat_id = c.chat_id AND t.state = 'running') AS running,"
    " (SELECT t.state FROM turns t WHERE t.chat_id = c.chat_id ORDER BY t.sequence DESC LIMIT 1) AS last_state"
    " FROM chats c JOIN agents a ON a.agent_id = c.agent_id"
    " WHERE (? IS NULL OR a.name = ? OR a.agent_id = ?) AND (? IS NULL OR c.chat_id = ?) AND c.activity < ?"
    " ORDER BY c.activity DESC LIMIT ?"
)


def _of(row: Row) -> ChatInList:
    return ChatInList(chat=chats.chat_of(row), turns=row["turns"], running=row["running"], last_state=row["last_state"])
