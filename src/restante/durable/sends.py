"""A send: everything that is checked and written when a message is accepted, in order."""

import hashlib
import json
from dataclasses import dataclass

from restante.durable import conversations, inboxes, messages, recipients
from restante.durable.agents import HostedAgent, get_agent, get_target
from restante.durable.callers import Caller
from restante.durable.db.database import Transaction
from restante.durable.inboxes import Sides
from restante.durable.messages import NewMessage
from restante.durable.recipients import Recipient
from restante.durable.times import rfc3339
from restante.errors import (
    InvalidArguments,
    InvalidReference,
    Limit,
    MessagingDisabled,
    RecipientArchived,
    SelfSend,
    SubmissionConflict,
    TargetInboxMismatch,
)
from restante.texts import WHITE_SPACE, check_text

HINT = "Accepted is stored, and no answer: read your inbox to see whether one comes."
_NOT_AGAIN = "It will not run again: to try once more, send it as a new message with a new submission_id."
REPEAT_HINTS = {
    "queued": "This was accepted before and is stored once: it waits for its turn.",
    "started": "This was accepted before and is stored once: its turn runs.",
    "read": "This was accepted before and is stored once: its turn runs, and a model was given it.",
    "stored": "This was accepted before and is stored once: it waits for its reader.",
    "ended_ok": "This was accepted before, and its turn has ended: read your inbox to see whether there is an answer.",
    "ended_failed": f"This was accepted before, and its turn failed, or ended before it read this. {_NOT_AGAIN}",
    "interrupted": f"This was accepted before, and its turn was interrupted. {_NOT_AGAIN}",
    "undeliverable": f"This was accepted before, and could not be delivered. {_NOT_AGAIN}",
}
"""For the receipt of a repeat: what the state means that the message has now."""
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
            "hint": REPEAT_HINTS[self.state] if self.replayed else HINT,
        }


def check_send(send: SendRequest, rules: SendRules) -> None:
    """What can be judged without the store. Raises the refusal of the first field that is not right."""
    check_text(send.message, rules.text_max, field="message", limit_name="text_max")
    if send.target is None and send.inbox_id is None:
        raise InvalidArguments("Say whom it is for: `target`, or the `inbox_id` of a conversation.", field="target")
    key = send.submission_id
    if key is not None and (not key.strip(WHITE_SPACE) or len(key) > rules.submission_id_max):
        raise InvalidArguments(
            NO_SUBMISSION.format(limit=rules.submission_id_max),
            field="submission_id",
            limit=Limit("submission_id_max", rules.submission_id_max, len(key)),
        )


def accept(tx: Transaction, caller: Caller, send: SendRequest, rules: SendRules) -> Receipt:
    """Store a message and queue its turn, if its recipient has turns. A repeated submission gets its first receipt."""
    to = _addressee(tx, caller, send)
    # Before an inbox is opened: the caller that lost our first answer has no inbox_id to repeat it with, and must not
    # be given a second inbox.
    earlier = _earlier(tx, caller, send, to.place)
    if earlier is not None:
        return _first_receipt(tx, earlier, rules)
    _check_policy(tx, caller, send, to)
    sides = to.sides or inboxes.open_inbox(tx, caller, _hosted(to), rules.now_ms)
    mine = sides.mine
    recipient = recipients.recipient_of(tx, sides.peer, to.agent, rules.now_ms)
    room = conversations.take_place(tx, mine.conversation_id, rules.messages_per_hour, rules.now_ms)
    new = NewMessage(
        sides=sides,
        text=send.message,
        in_reply_to=send.in_reply_to,
        submission_id=send.submission_id,
        place=room.place,
    )
    stored = messages.record(tx, new, rules.now_ms)
    _remember(tx, caller, send, ({to.place, mine.inbox_id}, stored.message_id))
    return Receipt(
        message_id=stored.message_id,
        conversation_id=mine.conversation_id,
        inbox_id=mine.inbox_id,
        sequence=stored.sequence,
        state=stored.state,
        accepted_at_ms=rules.now_ms,
        replayed=False,
        submission_id=send.submission_id,
        recipient=recipient,
        remaining_in_hour=room.remaining,
        store_id=tx.store_id,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Addressee:
    """Whom a send means."""

    sides: Sides | None
    """The conversation, if the caller named one of its inboxes."""
    agent: HostedAgent | None
    """The agent at the other side, if it is one."""

    @property
    def place(self) -> str:
        """Within what a submission id counts: the addressed inbox, or the target."""
        return self.sides.mine.inbox_id if self.sides is not None else _hosted(self).agent_id


def _hosted(to: _Addressee) -> HostedAgent:
    assert to.agent is not None  # noqa: S101  # check_send: a target or an inbox
    return to.agent


def _addressee(tx: Transaction, caller: Caller, send: SendRequest) -> _Addressee:
    agent = None if send.target is None else get_target(tx, send.target)
    if send.inbox_id is None:
        return _Addressee(sides=None, agent=agent)
    sides = inboxes.get_sides_of(tx, caller, send.inbox_id)
    peer = sides.peer
    if agent is not None and agent.agent_id != peer.owner_id:
        raise TargetInboxMismatch(
            f"That inbox is of a conversation with {peer.name}. Name the inbox or the target, not both.",
            field="target",
        )
    at_peer = get_agent(tx, peer.owner_id) if peer.owner_kind == "agent" else None
    return _Addressee(sides=sides, agent=at_peer)


def _check_policy(tx: Transaction, caller: Caller, send: SendRequest, to: _Addressee) -> None:
    conversation_id = None if to.sides is None else to.sides.mine.conversation_id
    if send.in_reply_to is not None and not messages.is_of_conversation(tx, send.in_reply_to, conversation_id):
        raise InvalidReference("in_reply_to is the message_id of a message of this conversation.", field="in_reply_to")
    agent = to.agent
    if agent is None:
        return
    if agent.archived:
        raise RecipientArchived(f"{agent.name} is archived and takes no messages any more.")
    if not agent.messaging:
        raise MessagingDisabled(f"{agent.name} takes no messages: its free_text_ask is switched off.")
    if caller.kind == "agent" and caller.id == agent.agent_id:
        raise SelfSend("That is you yourself. Write to another agent, or keep the note in your answer.")


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


def _first_receipt(tx: Transaction, message_id: str, rules: SendRules) -> Receipt:
    """The receipt of an earlier send, with what is known now."""
    row = tx.first("SELECT * FROM messages WHERE message_id = ?", message_id)
    assert row is not None  # noqa: S101  # a submission refers to it
    peer = inboxes.get_sides(tx, row["from_inbox"]).peer
    agent = get_agent(tx, peer.owner_id) if peer.owner_kind == "agent" else None
    return Receipt(
        message_id=message_id,
        conversation_id=row["conversation_id"],
        inbox_id=row["from_inbox"],
        sequence=row["sequence"],
        state=row["state"],
        accepted_at_ms=row["accepted_at"],
        replayed=True,
        submission_id=row["submission_id"],
        recipient=recipients.recipient_of(tx, peer, agent, rules.now_ms),
        remaining_in_hour=conversations.remaining_in_hour(
            tx, row["conversation_id"], rules.messages_per_hour, rules.now_ms
        ),
        store_id=tx.store_id,
    )
