"""What the routes for chats take, and how it is read."""

from typing import Literal, NamedTuple

from restante.durable.chats import TITLE_MAX
from restante.durable.searches import SEARCH_MAX
from restante.errors import InvalidArguments
from restante.running.config import Limits
from restante.surface.parse import Fields
from restante.surface.requests import Field

_PAGING = {
    "after": Field("integer", "The `next_cursor` that you had last; 0, or absent: from the beginning."),
    "limit": Field("integer", "At most so many elements: from 1 to 100, if the server's limits are as shipped."),
}
CHATS_FIELDS = {"agent_id": Field("string", "Of this agent alone: its id or exact name."), **_PAGING}
SEARCH_FIELDS = {
    "q": Field("string", f"What to look for, as it stands: 1 to {SEARCH_MAX} characters.", required=True),
    **_PAGING,
}
TITLE_FIELDS = {"title": Field("string", f"Its new name: 1 to {TITLE_MAX} characters.", required=True)}
CUT_FIELDS = {"turn_id": Field("string", "The last turn to keep, one that has ended.", required=True)}
EXPORT_FIELDS = {
    "format": Field("string", "`markdown`, or absent; `json` shortens nothing.", choices=("markdown", "json")),
    "full": Field("string", "`true`: shorten nothing. `false`, or absent: long texts.", choices=("true", "false")),
}


class Paging(NamedTuple):
    """Which part of a list."""

    after: int
    limit: int


class ExportRequest(NamedTuple):
    """In what form a chat is wanted."""

    format: Literal["markdown", "json"]
    full: bool


def parse_paging(fields: Fields, limits: Limits) -> Paging:
    """Which part of a list. How far that may go is for others to say."""
    return Paging(fields.integer("after", 0), fields.integer("limit", limits.page_default))


def parse_export(fields: Fields) -> ExportRequest:
    """In what form a chat is wanted. Raises `InvalidArguments`."""
    fields.only(*EXPORT_FIELDS)
    wanted, full = (_choice(fields, name) for name in EXPORT_FIELDS)
    return ExportRequest("json" if wanted == "json" else "markdown", full == "true")


def _choice(fields: Fields, name: str) -> str | None:
    value, choices = fields.find_text(name), EXPORT_FIELDS[name].choices
    if value is not None and value not in choices:
        raise InvalidArguments(f"{name} is one of {', '.join(choices)}.", field=name)
    return value
