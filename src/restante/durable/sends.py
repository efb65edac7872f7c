"""A send: everything that is checked and written when a message is accepted, in order."""

import hashlib
import json
from dataclasses import dataclass
from typing import Literal

from restante.durable import conversations, inboxes, messages, recipients, turns
from restante.durable.agents import HostedAgent, get_agent, get_target
from restante.durable.callers import Caller
from restante.durable.db.database import Row, Transaction
from restante.durable.inboxes import Inbox
from restante.durable.messages import NewMessage
from restante.durable.recipients import Recipient
from restante.durable.times import rfc3339
from restante.errors import (
    InvalidArguments,
    InvalidReference,
    InvalidText,
    Limit,
    MessagingDisabled,
    RecipientArchived,
    RestanteError,
    SelfSend,
    SubmissionConflict,
    TargetInboxMismatch,
    TextBlank,
    TextTooLong,
)
from restante.texts import WHITE_SPACE, problem_of

HINT = "Accepted is stored, and no answer: read your inbox to see whether one comes."
NO_SUBMISSION = "A submission_id has 1 to {limit} characters, not all of them blank."


@dataclass(frozen=True, slots=True, kw_only=True)
class SendRequest:
    """A message for a target by name or id, or for the other side of one of the caller's conversations."""

    message: str
    target: str | None = None
    inbox_id: str | None = None
    submission_id: str | None = None
    in_reply_to: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SendRules:
    """The limits of a send, and its time."""

    text_max: int
    submission_id_max: int
    messages_per_hour: int
    now_ms: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Receipt:
    """The message is stored. It says nothing of being read or answered."""

    message_id: str
    conversation_id: str
    inbox_id: str
    """The sender's own side."""
    sequence: int
    state: str
    accepted_at_ms: int
    replayed: bool
    submission_id: str | None
    recipient: Recipient
    remaining_in_hour: int
    store_id: str

    def shape(self) -> dict[str, object]:
        """Ready for JSON."""
        return {
            "accepted": True,
            "message_id": self.message_id,
            "conversation_id": self.conversation_id,
            "inbox_id": self.inbox_id,
            "sequence": self.sequence,
            "state": self.state,
            "accepted_at": rfc3339(self.accepted_at_ms),
            "replayed": self.replayed,
            "submission_id": self.submission_id,
            "submission_kept_until": None,
            "recipient": self.recipient.shape(),
            "remaining_in_hour": self.remaining_in_hour,
            "store_id": self.store_id,
            "hint": HINT,
        }


def check_send(send: SendRequest, rules: SendRules) -> None:
    """What can be judged without the store. Raises the refusal of the first field that is not right."""
    check_text(send.message, rules.text_max, field="message")
    if send.target is None and send.inbox_id is None:
        raise InvalidArguments("Say whom it is for: `target`, or the `inbox_id` of a conversation.", field="target")
    key = send.submission_id
    if key is not None and (not key.strip(WHITE_SPACE) or len(key) > rules.submission_id_max):
        raise InvalidArguments(
            NO_SUBMISSION.format(limit=rules.submission_id_max),
            field="submission_id",
            limit=Limit("submission_id_max", rules.submission_id_max, len(key)),
        )


def check_text(text: str, limit: int, *, field: str) -> None:
    """Raise `TextBlank`, `TextTooLong` or `InvalidText` unless `text` can be sent as it is."""
    problem = problem_of(text, limit)
    if problem is None:
        return
    refusals: dict[str, type[RestanteError]] = {
        "text_blank": TextBlank,
        "text_too_long": TextTooLong,
        "invalid_text": InvalidText,
    }
    exceeded = Limit("text_max", limit, len(text)) if problem.code == "text_too_long" else None
    raise refusals[problem.code](problem.message, field=field, limit=exceeded)


def accept(tx: Transaction, caller: Caller, send: SendRequest, rules: SendRules) -> Receipt:
    """Store a message and queue its turn, if its recipient has turns. A repeated submission gets its first receipt."""
    mine, agent = _addressee(tx, caller, send)
    # Before an inbox is opened: the caller that lost our first answer has no inbox_id to repeat it with, and must not
    # be given a second inbox.
    place = mine.inbox_id if mine is not None else _required(agent).agent_id
    earlier = _earlier(tx, caller, send, place)
    if earlier is not None:
        return _receipt(tx, earlier, rules, replayed=True)
    _check_policy(tx, caller, send, (mine, agent))
    if mine is None:
        mine = inboxes.open_inbox(tx, caller, _required(agent), rules.now_ms)
    room = conversations.take_place(tx, mine.conversation_id, rules.messages_per_hour, rules.now_ms)
    message_id = _store(tx, mine, send, (room.place, rules.now_ms))
    _remember(tx, caller, send, ({place, mine.inbox_id}, message_id))
    return _receipt(tx, message_id, rules, replayed=False)


def _addressee(tx: Transaction, caller: Caller, send: SendRequest) -> tuple[Inbox | None, HostedAgent | None]:
    """The caller's side of the conversation, if it named one; the agent at the other side, if it is one."""
    agent = None if send.target is None else get_target(tx, send.target)
    if send.inbox_id is None:
        return None, agent
    mine = inboxes.get_side(tx, caller, send.inbox_id)
    peer = inboxes.get_peer(tx, mine)
    if agent is not None and agent.agent_id != peer.owner_id:
        raise TargetInboxMismatch(
            f"That inbox is of a conversation with {peer.name}. Name the inbox or the target, not both.",
            field="target",
        )
    return mine, get_agent(tx, peer.owner_id) if peer.owner_kind == "agent" else None


def _required(agent: HostedAgent | None) -> HostedAgent:
    assert agent is not None  # noqa: S101  # check_send: a target or an inbox
    return agent


def _check_policy(
    tx: Transaction, caller: Caller, send: SendRequest, addressee: tuple[Inbox | None, HostedAgent | None]
) -> None:
    mine, agent = addressee
    if send.in_reply_to is not None and not (
        mine is not None and messages.is_of_conversation(tx, send.in_reply_to, mine.conversation_id)
    ):
        raise InvalidReference("in_reply_to is the message_id of a message of this conversation.", field="in_reply_to")
    if agent is None:
        return
    if agent.archived:
        raise RecipientArchived(f"{agent.name} is archived and takes no messages any more.")
    if not agent.messaging:
        raise MessagingDisabled(f"{agent.name} takes no messages: its free_text_ask is switched off.")
    if caller.kind == "agent" and caller.id == agent.agent_id:
        raise SelfSend("That is you yourself. Write to another agent, or keep the note in your answer.")


def _store(tx: Transaction, mine: Inbox, send: SendRequest, place_and_now: tuple[int, int]) -> str:
    place, now_ms = place_and_now
    peer = inboxes.get_peer(tx, mine)
    sequence = tx.next_sequence()
    turn_id = None if peer.chat_id is None else turns.enqueue(tx, peer.chat_id, sequence, now_ms)
    new = NewMessage(
        mine=mine,
        peer=peer,
        text=send.message,
        in_reply_to=send.in_reply_to,
        submission_id=send.submission_id,
        sequence=sequence,
        place=place,
        turn_id=turn_id,
    )
    return messages.record(tx, new, now_ms)


def _earlier(tx: Transaction, caller: Caller, send: SendRequest, place: str) -> str | None:
    """The message of an earlier send of the same submission to the same place."""
    if send.submission_id is None:
        return None
    row = tx.first(
        "SELECT digest, message_id FROM submissions WHERE sender = ? AND submission_id = ? AND place = ?",
        caller.submitter,
        send.submission_id,
        place,
    )
    if row is None:
        return None
    if row["digest"] != _digest(send):
        raise SubmissionConflict(
            "That submission_id was used for another message. Use a new one for a new message.", field="submission_id"
        )
    return row["message_id"]


def _remember(tx: Transaction, caller: Caller, send: SendRequest, known: tuple[set[str], str]) -> None:
    if send.submission_id is None:
        return
    places, message_id = known
    # A first send is repeated with the target, by whoever lost the receipt, or with the inbox that it gave.
    for place in sorted(places):
        tx.run(
            "INSERT INTO submissions VALUES (?, ?, ?, ?, ?)",
            caller.submitter,
            place,
            send.submission_id,
            _digest(send),
            message_id,
        )


def _digest(send: SendRequest) -> str:
    return hashlib.sha256(json.dumps([send.message, send.in_reply_to]).encode()).hexdigest()


def _receipt(tx: Transaction, message_id: str, rules: SendRules, *, replayed: Literal[True, False]) -> Receipt:
    row = _message(tx, message_id)
    mine = inboxes.find_inbox(tx, row["from_inbox"])
    assert mine is not None  # noqa: S101  # the row refers to it
    return Receipt(
        message_id=message_id,
        conversation_id=row["conversation_id"],
        inbox_id=row["from_inbox"],
        sequence=row["sequence"],
        state=row["state"],
        accepted_at_ms=row["accepted_at"],
        replayed=replayed,
        submission_id=row["submission_id"],
        recipient=recipients.recipient_of(tx, inboxes.get_peer(tx, mine), rules.now_ms),
        remaining_in_hour=conversations.remaining_in_hour(
            tx, row["conversation_id"], rules.messages_per_hour, rules.now_ms
        ),
        store_id=row["store_id"],
    )


def _message(tx: Transaction, message_id: str) -> Row:
    row = tx.first("SELECT m.*, s.store_id FROM messages m, store s WHERE m.message_id = ?", message_id)
    assert row is not None  # noqa: S101  # it was stored just now, or a row refers to it
    return row
