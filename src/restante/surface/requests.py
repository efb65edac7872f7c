"""Requests, from fields as any door has them to what the platform is asked."""

from collections.abc import Mapping
from typing import Literal, NamedTuple

from restante.durable.messages import STATES
from restante.durable.pages import LAST_SEQUENCE
from restante.errors import InvalidArguments
from restante.running.config import Limits
from restante.running.platform import ReadRequest, SendRequest, StatesRequest
from restante.surface.parse import Fields

Kind = Literal["string", "integer", "number"]


class Field(NamedTuple):
    """A field of a request, as its parser takes it and the descriptions of the doors show it."""

    kind: Kind
    about: str
    required: bool = False
    choices: tuple[str, ...] = ()


_PAGING = {
    "after": Field("integer", "The `next_cursor` that you had last; 0, or absent: from the beginning."),
    "limit": Field("integer", "At most so many elements: from 1 to 100, if the server's limits are as shipped."),
    "store_id": Field("string", "The `store_id` that came with `after`; tells you when the store is another one."),
}
SEND_FIELDS = {
    "message": Field("string", "What you say, kept as it is: at most 20,000 characters, not blank.", required=True),
    "target": Field("string", "Whom it is for: an agent's exact name or id. This or `inbox_id` is needed."),
    "inbox_id": Field("string", "Your own inbox, to go on in its conversation."),
    "submission_id": Field(
        "string", "A key of your own, at most 128 characters: the same send, repeated with it, is stored once."
    ),
    "in_reply_to": Field("string", "The `message_id` that this answers, of the same conversation."),
}
READ_FIELDS = _PAGING | {
    "wait_seconds": Field("number", "How long to wait for a first message: from 0 to 25 seconds; 0, or absent: not.")
}
STATES_FIELDS = _PAGING | {
    "message_id": Field("string", "Of this message alone."),
    "submission_id": Field("string", "Of the sends with this key."),
    "inbox_id": Field("string", "Of the conversation of this inbox of yours."),
    "state": Field("string", "Of those that are so.", choices=tuple(sorted(STATES))),
}


def ranges_of(fields: Mapping[str, Field], limits: Limits) -> dict[str, tuple[float, float]]:
    """From where to where each field that is a number goes, for doors on which everything is text."""
    ranges = {
        "after": (0, LAST_SEQUENCE),
        "limit": (1, limits.page_max),
        "wait_seconds": (0, limits.wait_seconds_max),
    }
    return {name: ranges[name] for name, field in fields.items() if field.kind != "string"}


def parse_send(fields: Fields) -> SendRequest:
    """A send. Raises `InvalidArguments`."""
    fields.only(*SEND_FIELDS)
    return SendRequest(
        message=fields.text("message"),
        target=fields.find_text("target"),
        inbox_id=fields.find_text("inbox_id"),
        submission_id=fields.find_text("submission_id"),
        in_reply_to=fields.find_text("in_reply_to"),
    )


def parse_read(fields: Fields, limits: Limits, inbox_id: str | None = None) -> ReadRequest:
    """A read of one inbox, or of the whole mail. Raises `InvalidArguments`."""
    fields.only(*READ_FIELDS)
    return ReadRequest(
        inbox_id=inbox_id,
        after=fields.integer("after", 0),
        limit=fields.integer("limit", limits.page_default),
        wait_seconds=fields.number("wait_seconds", 0.0),
        store_id=fields.find_text("store_id"),
    )


def parse_states(fields: Fields, limits: Limits) -> StatesRequest:
    """A question for the states of one's own sends. Raises `InvalidArguments`."""
    fields.only(*STATES_FIELDS)
    return StatesRequest(
        message_id=fields.find_text("message_id"),
        submission_id=fields.find_text("submission_id"),
        inbox_id=fields.find_text("inbox_id"),
        state=_state(fields.find_text("state")),
        after=fields.integer("after", 0),
        limit=fields.integer("limit", limits.page_default),
        store_id=fields.find_text("store_id"),
    )


def _state(name: str | None) -> str | None:
    if name is not None and name not in STATES:
        raise InvalidArguments(f"state is one of {', '.join(sorted(STATES))}.", field="state")
    return name
