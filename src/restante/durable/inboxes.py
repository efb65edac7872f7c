"""An inbox is one side of one conversation, as that side addresses it."""

from dataclasses import dataclass
from typing import Literal

from restante.durable import chats
from restante.durable.agents import HostedAgent
from restante.durable.callers import Caller
from restante.durable.conversations import open_conversation
from restante.durable.db.database import Row, Transaction
from restante.durable.ids import new_id
from restante.errors import NotFound


@dataclass(frozen=True, slots=True, kw_only=True)
class Inbox:
    """One side of a conversation; the other one is its peer."""

    inbox_id: str
    conversation_id: str
    owner_kind: Literal["agent", "principal"]
    owner_id: str
    chat_id: str | None
    """Of a hosted agent's side: the chat that it is."""
    name: str
    """What its owner is called now."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sides:
    """A conversation, as one of its sides sees it."""

    mine: Inbox
    peer: Inbox


def open_inbox(tx: Transaction, caller: Caller, agent: HostedAgent, now_ms: int) -> Sides:
    """The caller's side of a conversation with `agent`.

    Between two hosted agents the one conversation of their two chats goes on; a principal gets a new one each time.
    """
    chat_id = chats.chat_for_messages(tx, agent.agent_id, now_ms)
    if caller.chat_id is not None:
        found = _between(tx, caller.chat_id, chat_id)
        if found is not None:
            return get_sides(tx, found)
    conversation_id = open_conversation(tx, now_ms)
    mine, theirs = new_id("inbox"), new_id("inbox")
    insert = (
        "INSERT INTO inboxes (inbox_id, conversation_id, peer_id, owner_kind, owner_id, chat_id)"
        " VALUES (?, ?, ?, ?, ?, ?)"
    )
    tx.run(insert, mine, conversation_id, theirs, caller.kind, caller.id, caller.chat_id)
    tx.run(insert, theirs, conversation_id, mine, "agent", agent.agent_id, chat_id)
    return get_sides(tx, mine)


def get_inbox(tx: Transaction, caller: Caller, inbox_id: str) -> Inbox:
    """The caller's own inbox. Raises `NotFound`, the same for one that is unknown and one that is another's."""
    found = _find_sides(tx, inbox_id)
    if found is None or not _is_side_of(found.mine, caller):
        raise _unknown_inbox()
    return found.mine


def get_sides_of(tx: Transaction, caller: Caller, inbox_id: str) -> Sides:
    """The conversation that an inbox is a side of: the caller's own one, or a reply address that it was given.

    Raises `NotFound` as `get_inbox` does.
    """
    found = _find_sides(tx, inbox_id)
    if found is not None and _is_side_of(found.mine, caller):
        return found
    if found is not None and _is_side_of(found.peer, caller):
        return Sides(mine=found.peer, peer=found.mine)
    raise _unknown_inbox()


def get_sides(tx: Transaction, inbox_id: str) -> Sides:
    """The sides of an inbox that a row refers to: for us, never for a caller."""
    found = _find_sides(tx, inbox_id)
    assert found is not None  # noqa: S101  # rows refer to it
    return found


def _find_sides(tx: Transaction, inbox_id: str) -> Sides | None:
    row = tx.first(
        "SELECT i.*, j.owner_kind AS peer_kind, j.owner_id AS peer_owner, j.chat_id AS peer_chat,"
        " COALESCE(ia.name, ip.label) AS name, COALESCE(ja.name, jp.label) AS peer_name"
        " FROM inboxes i JOIN inboxes j ON j.inbox_id = i.peer_id"
        " LEFT JOIN agents ia ON ia.agent_id = i.owner_id LEFT JOIN principals ip ON ip.principal_id = i.owner_id"
        " LEFT JOIN agents ja ON ja.agent_id = j.owner_id LEFT JOIN principals jp ON jp.principal_id = j.owner_id"
        " WHERE i.inbox_id = ?",
        inbox_id,
    )
    return None if row is None else _of(row)


def _between(tx: Transaction, mine: str, theirs: str) -> str | None:
    row = tx.first(
        "SELECT i.inbox_id FROM inboxes i JOIN inboxes j ON j.inbox_id = i.peer_id"
        " WHERE i.chat_id = ? AND j.chat_id = ?",
        mine,
        theirs,
    )
    return None if row is None else row["inbox_id"]


def _is_side_of(inbox: Inbox, caller: Caller) -> bool:
    return inbox.owner_kind == caller.kind and inbox.owner_id == caller.id and inbox.chat_id == caller.chat_id


def _unknown_inbox() -> NotFound:
    return NotFound("You have no inbox with that id. Use the inbox_id of a receipt, or a reply_address you were given.")


def _of(row: Row) -> Sides:
    mine = Inbox(
        inbox_id=row["inbox_id"],
        conversation_id=row["conversation_id"],
        owner_kind=row["owner_kind"],
        owner_id=row["owner_id"],
        chat_id=row["chat_id"],
        name=row["name"],
    )
    peer = Inbox(
        inbox_id=row["peer_id"],
        conversation_id=row["conversation_id"],
        owner_kind=row["peer_kind"],
        owner_id=row["peer_owner"],
        chat_id=row["peer_chat"],
        name=row["peer_name"],
    )
    return Sides(mine=mine, peer=peer)
