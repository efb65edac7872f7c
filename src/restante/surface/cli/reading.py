"""`restante read`: what came, from where the last reading ended."""

import math
import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

from restante.errors import InvalidArguments
from restante.surface.cli.kept import START, Cursor, KeptCursor
from restante.surface.cli.places import CONFIG, ConfigOption, StoreOption, store_of
from restante.surface.cli.server import JsonOption, TokenOption, UrlOption, server_of
from restante.surface.cli.terminal import say, show, show_json
from restante.surface.visible import visible_line

if TYPE_CHECKING:
    from restante.client import Client


def read(  # noqa: PLR0913 - each is an option of the command
    inbox: Annotated[str | None, typer.Argument(metavar="[INBOX]", help="Its id. [default: your whole mail]")] = None,
    *,
    after: Annotated[
        int | None, typer.Option(metavar="N", help="From this sequence on. [default: what was shown last]")
    ] = None,
    everything: Annotated[bool, typer.Option("--all", help="Everything again, from the oldest on.")] = False,
    limit: Annotated[int | None, typer.Option(metavar="N", help="At most so many messages.")] = None,
    wait: Annotated[float, typer.Option(metavar="SECONDS", help="How long to wait for the first one.")] = 0.0,
    url: UrlOption = None,
    token: TokenOption = None,
    config: ConfigOption = CONFIG,
    store: StoreOption = None,
    as_json: JsonOption = False,
) -> None:
    """Read what has come since your last `restante read`, at once or as soon as something comes.

    It is remembered here, for each token and inbox, how far you have read; at the server reading takes nothing away,
    and --all shows everything again.
    """
    _check_read(after, wait, everything=everything)
    place = store_of(config, store)
    server = server_of(url, token, place)
    kept = KeptCursor(place, server.token, inbox)
    before = kept.read()
    start = before if after is None and not everything else Cursor(after or 0, None)
    with server.client() as client:
        page = _read_page(client, _Reading(inbox, start, limit, wait, everything=everything))
    if as_json:
        show_json(page)
    else:
        _show_page(page, inbox, again=start.after > 0, named=after is not None)
    _keep(kept, before, start, page)


class _Reading(NamedTuple):
    """What to read."""

    inbox: str | None
    start: Cursor
    limit: int | None
    wait_s: float
    everything: bool


def _check_read(after: int | None, wait: float, *, everything: bool) -> None:
    if wait < 0 or not math.isfinite(wait):
        raise InvalidArguments("--wait is a number of seconds from 0.", field="wait")
    if everything and after is not None:
        raise InvalidArguments("Give --all or --after, and not both: --all is --after 0, page by page.", field="after")


def _read_page(client: "Client", asked: _Reading) -> dict[str, Any]:
    """The page that was asked for; for everything one page of all pages, unless a limit is given."""
    page = _wait(client, asked, asked.start)
    messages: list[Any] = page["messages"]
    while asked.everything and asked.limit is None and page["has_more"]:
        page = client.read(asked.inbox, after=page["next_cursor"], store_id=page["store_id"])
        messages += page["messages"]
    return page | {"messages": messages}


def _wait(client: "Client", asked: _Reading, start: Cursor) -> dict[str, Any]:
    given: dict[str, Any] = {"after": start.after, "limit": asked.limit, "store_id": start.store_id}
    if not asked.wait_s:
        return client.read(asked.inbox, **given)
    page = client.wait(asked.inbox, seconds=asked.wait_s, **given)
    # The cursor was from another store, and there is nothing in this one yet.
    return _wait(client, asked, START) if page["cursor_reset"] and not page["messages"] else page


def _show_page(page: Mapping[str, Any], inbox: str | None, *, again: bool, named: bool) -> None:
    for message in page["messages"]:
        show(_message_lines(message))
    count = len(page["messages"])
    command = f"restante read {inbox}" if inbox else "restante read"
    go_on = f"{command} --after {page['next_cursor']}" if named else command
    more = f"; there is more: {go_on}" if page["has_more"] else ""
    older = f"; older ones: {command} --all" if again and not page["cursor_reset"] else ""
    show(f"{count} message{'' if count == 1 else 's'}{more}{older}")


def _keep(kept: KeptCursor, before: Cursor, start: Cursor, page: Mapping[str, Any]) -> None:
    """Remember how far was read, once it is shown. What was skipped is not read, and what was read stays so."""
    sys.stdout.flush()
    read_to = before.after if page["store_id"] == before.store_id else 0
    began = 0 if page["cursor_reset"] else start.after
    outdated = page["cursor_reset"] and start == before
    if not outdated and not began <= read_to < page["next_cursor"]:
        return
    try:
        kept.write(Cursor(page["next_cursor"], page["store_id"]))
    except OSError as error:
        say(f"Where you are could not be kept, so that these come again: {error.strerror}.")


def _message_lines(message: Mapping[str, Any]) -> str:
    head = f"{message['sequence']}  {message['sender']} -> {message['to']}  {message['sent_at']}"
    text = str(message["message"])
    return f"{visible_line(head)}  {message['message_id']}\n  " + "\n  ".join(text.split("\n"))
