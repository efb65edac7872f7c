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
    peer_id: str
    owner_kind: Literal["agent", "principal"]
    owner_id: str
    chat_id: str | None
    """Of a hosted agent's side: the chat that it is."""
    name: str
    """What its owner is called now."""


def open_inbox(tx: Transaction, caller: Caller, agent: HostedAgent, now_ms: int) -> Inbox:
    """The caller's side of a conversation with `agent`.

    Between two hosted agents the one conversation of their two chats goes on; a principal gets a new one each time.
    """
    chat_id = chats.chat_for_messages(tx, agent.agent_id, now_ms)
    if caller.chat_id is not None:
        found = _between(tx, caller.chat_id, chat_id)
        if found is not None:
            return found
    conversation_id = open_conversation(tx, now_ms)
    mine, theirs = new_id("inbox"), new_id("inbox")
    insert = (
        "INSERT INTO inboxes (inbox_id, conversation_id, peer_id, owner_kind, owner_id, chat_id)"
        " VALUES (?, ?, ?, ?, ?, ?)"
    )
    tx.run(insert, mine, conversation_id, theirs, caller.kind, caller.id, caller.chat_id)
    tx.run(insert, theirs, conversation_id, mine, "agent", agent.agent_id, chat_id)
    return _known(tx, mine)


def get_inbox(tx: Transaction, caller: Caller, inbox_id: str) -> Inbox:
    """The caller's own inbox. Raises `NotFound`, the same for one that is unknown and one that is another's."""
    found = find_inbox(tx, inbox_id)
    if found is None or not _is_side_of(found, caller):
        raise unknown_inbox()
    return found


def get_side(tx: Transaction, caller: Caller, inbox_id: str) -> Inbox:
    """The caller's side of a conversation, named by that inbox or by a reply address that it was given.

    Raises `NotFound` as `get_inbox` does.
    """
    found = find_inbox(tx, inbox_id)
    if found is None:
        raise unknown_inbox()
    return found if _is_side_of(found, caller) else get_inbox(tx, caller, found.peer_id)


def find_inbox(tx: Transaction, inbox_id: str) -> Inbox | None:
    """Any inbox by its id: for us, never for a caller."""
    row = tx.first(
        "SELECT i.*, COALESCE(a.name, p.label) AS name FROM inboxes i"
        " LEFT JOIN agents a ON i.owner_kind = 'agent' AND a.agent_id = i.owner_id"
        " LEFT JOIN principals p ON i.owner_kind = 'principal' AND p.principal_id = i.owner_id"
        " WHERE i.inbox_id = ?",
        inbox_id,
    )
    return None if row is None else _of(row)


def get_peer(tx: Transaction, inbox: Inbox) -> Inbox:
    """The other side."""
    return _known(tx, inbox.peer_id)


def unknown_inbox() -> NotFound:
    """The one answer for every inbox that the caller does not have."""
    return NotFound("You have no inbox with that id. Use the inbox_id of a receipt, or a reply_address you were given.")


def _known(tx: Transaction, inbox_id: str) -> Inbox:
    found = find_inbox(tx, inbox_id)
    assert found is not None  # noqa: S101  # rows refer to it
    return found


def _between(tx: Transaction, mine: str, theirs: str) -> Inbox | None:
    row = tx.first(
        "SELECT i.inbox_id FROM inboxes i JOIN inboxes j ON j.inbox_id = i.peer_id"
        " WHERE i.chat_id = ? AND j.chat_id = ?",
        mine,
        theirs,
    )
    return None if row is None else find_inbox(tx, row["inbox_id"])


def _is_side_of(inbox: Inbox, caller: Caller) -> bool:
    return inbox.owner_kind == caller.kind and inbox.owner_id == caller.id and inbox.chat_id == caller.chat_id


def _of(row: Row) -> Inbox:
    return Inbox(
        inbox_id=row["inbox_id"],
        conversation_id=row["conversation_id"],
        peer_id=row["peer_id"],
        owner_kind=row["owner_kind"],
        owner_id=row["owner_id"],
        chat_id=row["chat_id"],
        name=row["name"],
    )
