"""Requests, from fields as any door has them to what the platform is asked."""

from restante.durable.messages import STATES
from restante.errors import InvalidArguments
from restante.running.config import Limits
from restante.running.platform import ReadRequest, SendRequest, StatesRequest
from restante.surface.parse import Fields

READ_NUMBERS = ("after", "limit", "wait_seconds")
"""Fields of reads that are numbers, for doors on which everything is text."""


def parse_send(fields: Fields) -> SendRequest:
    """A send. Raises `InvalidArguments`."""
    fields.only("target", "inbox_id", "message", "submission_id", "in_reply_to")
    return SendRequest(
        message=fields.text("message"),
        target=fields.find_text("target"),
        inbox_id=fields.find_text("inbox_id"),
        submission_id=fields.find_text("submission_id"),
        in_reply_to=fields.find_text("in_reply_to"),
    )


def parse_read(fields: Fields, limits: Limits, inbox_id: str | None = None) -> ReadRequest:
    """A read of one inbox, or of the whole mail. Raises `InvalidArguments`."""
    fields.only(*READ_NUMBERS, "store_id")
    return ReadRequest(
        inbox_id=inbox_id,
        after=fields.integer("after", 0),
        limit=fields.integer("limit", limits.page_default),
        wait_seconds=fields.number("wait_seconds", 0.0),
        store_id=fields.find_text("store_id"),
    )


def parse_states(fields: Fields, limits: Limits) -> StatesRequest:
    """A question for the states of one's own sends. Raises `InvalidArguments`."""
    fields.only("message_id", "submission_id", "inbox_id", "state", "after", "limit", "store_id")
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
