"""`restante send`, `states` and `health`: as a client of a server."""

import shlex
import uuid
from collections.abc import Mapping
from typing import Annotated, Any

import typer

from restante.errors import RestanteError, StoreUnavailable
from restante.surface.cli.places import CONFIG, ConfigOption, StoreOption, store_of
from restante.surface.cli.server import JsonOption, TokenOption, UrlOption, server_of, url_of
from restante.surface.cli.terminal import show, show_json, words_of
from restante.surface.visible import visible_line


def send(  # noqa: PLR0913 - each is an option of the command
    target: Annotated[str, typer.Argument(metavar="TARGET", help="Whom it is for: an agent's name or id.")],
    text: Annotated[str, typer.Argument(metavar="TEXT", help="What you say; - is standard input.")],
    *,
    inbox: Annotated[str | None, typer.Option(metavar="ID", help="Your inbox: continues its conversation.")] = None,
    in_reply_to: Annotated[str | None, typer.Option(metavar="ID", help="The message that this answers.")] = None,
    submission_id: Annotated[
        str | None, typer.Option(metavar="KEY", help="A key of your own: sent again with it, it is stored once.")
    ] = None,
    url: UrlOption = None,
    token: TokenOption = None,
    config: ConfigOption = CONFIG,
    store: StoreOption = None,
    as_json: JsonOption = False,
) -> None:
    """Send a message to an agent. Exit code 0: it is stored, and not yet read."""
    # One that is empty is a slip, and no wish for another: the server refuses it.
    words, key = words_of(text), uuid.uuid4().hex if submission_id is None else submission_id
    with server_of(url, token, store_of(config, store)).client() as client:
        try:
            receipt = client.send(words, target=target, inbox_id=inbox, submission_id=key, in_reply_to=in_reply_to)
        except RestanteError as error:
            if error.fault == "server":
                error.message = f"{error.message} {_whether_sent(error, key)}"
            raise
    if as_json:
        show_json(receipt)
        return
    show(f"{_accepted(receipt)} {receipt['message_id']}, sequence {receipt['sequence']}.")
    if receipt["state"] == "interrupted":
        show("It will not run again by itself. Send it again with a new --submission-id, or with none.")
    show(f"What is answered comes to {receipt['inbox_id']}: restante read {receipt['inbox_id']} --wait 25")


def _whether_sent(error: RestanteError, key: str) -> str:
    if not getattr(error, "may_have_left", True):
        return "Nothing was sent."
    again = f"send it again with --submission-id {shlex.quote(key)}, and it is stored once."
    return f"Whether it was accepted is unknown: {again}"


def _accepted(receipt: Mapping[str, Any]) -> str:
    if not receipt["replayed"]:
        return "Accepted, not yet read:"
    return f"Accepted by an earlier try; {in_words(receipt['state'])}:"


IN_WORDS = {
    "stored": "not yet read",
    "queued": "not yet read, it waits for its turn",
    "started": "not yet read, its turn has begun",
    "read": "read, and its turn goes on",
    "ended_ok": "read, and its turn has ended",
    "ended_failed": "its turn failed",
    "interrupted": "interrupted, the server stopped while its turn ran",
    "undeliverable": "not delivered",
}
"""What the state of a message means to people. Whether somebody answers is no state: an answer is a message."""


def in_words(state: str) -> str:
    """A state as people read it."""
    return IN_WORDS.get(state, state)


def states(  # noqa: PLR0913 - each is an option of the command
    *,
    message_id: Annotated[str | None, typer.Option(metavar="ID", help="Of this message.")] = None,
    submission_id: Annotated[str | None, typer.Option(metavar="KEY", help="Of this submission.")] = None,
    inbox: Annotated[str | None, typer.Option(metavar="ID", help="Of the conversation of this inbox.")] = None,
    state: Annotated[str | None, typer.Option(metavar="STATE", help="Of those in this state.")] = None,
    after: Annotated[int, typer.Option(metavar="N", help="Only what came after this sequence.")] = 0,
    url: UrlOption = None,
    token: TokenOption = None,
    config: ConfigOption = CONFIG,
    store: StoreOption = None,
    as_json: JsonOption = False,
) -> None:
    """What became of the messages that you sent: a line for each, with the reason where there is one."""
    with server_of(url, token, store_of(config, store)).client() as client:
        found = client.states(
            message_id=message_id, submission_id=submission_id, inbox_id=inbox, state=state, after=after
        )
    if as_json:
        show_json(found)
        return
    for message in found["states"]:
        show(_state_line(message))
    if found["has_more"]:
        show(f"There is more; go on with --after {found['next_cursor']}")


def health(
    url: UrlOption = None, config: ConfigOption = CONFIG, store: StoreOption = None, *, as_json: JsonOption = False
) -> None:
    """Whether the server answers. Exit code 0: it does."""
    import httpx2  # noqa: PLC0415 - takes its time to load

    from restante.client.checks import check_url  # noqa: PLC0415

    where = (url or url_of(store_of(config, store))).rstrip("/")
    check_url(where)
    try:
        answer = httpx2.get(f"{where}/v1/health", trust_env=False)
        answer.raise_for_status()
        status = answer.json()["status"]
    except (httpx2.HTTPError, ValueError, KeyError, TypeError) as error:
        raise StoreUnavailable(f"The server at {where} gave no good answer: {error}.") from error
    if as_json:
        show_json(answer.json())
    else:
        show(f"The server at {where} answers: {status}.")


def _state_line(message: Mapping[str, Any]) -> str:
    why = f" ({message['reason_text'] or message['reason']})" if message["reason"] else ""
    head = f"{message['sequence']}  {message['accepted_at']}  -> {message['target']}"
    return visible_line(f"{head}  {message['state']}: {in_words(message['state'])}{why}  {message['message_id']}")
