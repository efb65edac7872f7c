"""`restante send`, `read`, `states` and `health`: as a client of a server."""

import uuid
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from restante.errors import InvalidArguments, StoreUnavailable, Unauthorized
from restante.surface.cli.places import CONFIG, TOKEN_NAME, ConfigOption, StoreOption, store_of
from restante.surface.cli.terminal import show, show_json, words_of
from restante.surface.visible import visible_line

if TYPE_CHECKING:
    from restante.client import Client

DELAYS_S = (0.05, 0.15, 0.3, 0.5)
"""Seconds between tries: fewer than a program makes, since somebody sits and waits."""

UrlOption = Annotated[
    str | None, typer.Option(metavar="URL", envvar="RESTANTE_URL", help="The server. [default: the one that runs here]")
]
TokenOption = Annotated[
    str | None, typer.Option(metavar="TOKEN", envvar="RESTANTE_TOKEN", help="Your token. [default: the local owner's]")
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print the server's answer as JSON.")]
AfterOption = Annotated[int, typer.Option(metavar="N", help="Only what came after this sequence.")]


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
    from restante.client.failures import Unreachable  # noqa: PLC0415 - takes its time to load

    words, key = words_of(text), submission_id or uuid.uuid4().hex
    with _client(url, token, store_of(config, store)) as client:
        try:
            receipt = client.send(words, target=target, inbox_id=inbox, submission_id=key, in_reply_to=in_reply_to)
        except Unreachable as lost:
            hint = (
                f"Whether it was accepted is unknown: send it again with --submission-id {key}, and it is stored once."
            )
            raise Unreachable(f"{lost.message} {hint}") from lost
    if as_json:
        show_json(receipt)
        return
    again = " (it was already, by an earlier try)" if receipt["replayed"] else ""
    show(f"Accepted, not yet read{again}: {receipt['message_id']}, sequence {receipt['sequence']}.")
    show(f"What is answered comes to {receipt['inbox_id']}: restante read {receipt['inbox_id']} --wait 25")


def read(  # noqa: PLR0913 - each is an option of the command
    inbox: Annotated[str | None, typer.Argument(metavar="[INBOX]", help="Its id. [default: your whole mail]")] = None,
    *,
    after: AfterOption = 0,
    limit: Annotated[int | None, typer.Option(metavar="N", help="At most so many messages.")] = None,
    wait: Annotated[float, typer.Option(metavar="SECONDS", help="How long to wait for the first one.")] = 0.0,
    url: UrlOption = None,
    token: TokenOption = None,
    config: ConfigOption = CONFIG,
    store: StoreOption = None,
    as_json: JsonOption = False,
) -> None:
    """Read what came to you, at once or as soon as something comes. Reading takes nothing away."""
    with _client(url, token, store_of(config, store)) as client:
        page = (
            _wait(client, inbox, after, wait)
            if wait and limit is None
            else client.read(inbox, after=after, limit=limit, wait_seconds=wait)
        )
    if as_json:
        show_json(page)
        return
    for message in page["messages"]:
        show(_message_lines(message))
    more = ", and there is more" if page["has_more"] else ""
    show(f"{len(page['messages'])} messages{more}; go on with --after {page['next_cursor']}")


def _wait(client: "Client", inbox: str | None, after: int, seconds: float) -> dict[str, Any]:
    if seconds < 0:
        raise InvalidArguments("--wait is a number of seconds from 0.", field="wait")
    return client.wait(inbox, after=after, seconds=seconds)


def states(  # noqa: PLR0913 - each is an option of the command
    *,
    message_id: Annotated[str | None, typer.Option(metavar="ID", help="Of this message.")] = None,
    submission_id: Annotated[str | None, typer.Option(metavar="KEY", help="Of this submission.")] = None,
    inbox: Annotated[str | None, typer.Option(metavar="ID", help="Of the conversation of this inbox.")] = None,
    state: Annotated[str | None, typer.Option(metavar="STATE", help="Of those in this state.")] = None,
    after: AfterOption = 0,
    url: UrlOption = None,
    token: TokenOption = None,
    config: ConfigOption = CONFIG,
    store: StoreOption = None,
    as_json: JsonOption = False,
) -> None:
    """What became of the messages that you sent: a line for each, with the reason where there is one."""
    with _client(url, token, store_of(config, store)) as client:
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

    where = url or _running(store_of(config, store))
    try:
        answer = httpx2.get(f"{where}/v1/health", trust_env=False)
        answer.raise_for_status()
    except httpx2.HTTPError as error:
        raise StoreUnavailable(f"The server at {where} gave no good answer: {error}") from error
    if as_json:
        show_json(answer.json())
    else:
        show(f"The server at {where} answers: {answer.json()['status']}.")


def _client(url: str | None, token: str | None, store: Path) -> "Client":
    from restante.client import Client  # noqa: PLC0415 - takes its time to load

    if url is not None:
        if token is None:
            raise Unauthorized("A server that you name needs a token that you name: --token, or RESTANTE_TOKEN.")
        return Client(url, token, delays_s=DELAYS_S)
    # The owner's token goes to the server that runs on the owner's store, and nowhere else.
    return Client(_running(store), token or _owners(store), delays_s=DELAYS_S)


def _running(store: Path) -> str:
    """The URL of the server that holds the store."""
    from restante.durable.db.lock import find_holder  # noqa: PLC0415 - takes its time to load

    holder = find_holder(store)
    if holder is None or holder.address is None:
        raise StoreUnavailable("No server runs here. Start `restante serve`, or name one: --url, or RESTANTE_URL.")
    return holder.address


def _owners(store: Path) -> str:
    try:
        return store.with_name(TOKEN_NAME).read_text(encoding="utf-8").strip()
    except OSError:
        hint = "`restante token create LABEL` makes one; give it with --token, or in RESTANTE_TOKEN."
        raise Unauthorized(f"There is no token here. {hint}") from None


def _message_lines(message: Mapping[str, Any]) -> str:
    head = f"{message['sequence']}  {message['sender']} -> {message['to']}  {message['sent_at']}"
    text = str(message["message"])
    return f"{visible_line(head)}  {message['message_id']}\n  " + "\n  ".join(text.split("\n"))


def _state_line(message: Mapping[str, Any]) -> str:
    why = f": {message['reason_text'] or message['reason']}" if message["reason"] else ""
    line = f"{message['sequence']}  {message['state']}{why}  -> {message['target']}  {message['message_id']}"
    return visible_line(line)
