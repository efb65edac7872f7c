"""The server that a command comes to as a client, and the token that it brings."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NamedTuple

import typer

from restante.errors import StoreUnavailable, Unauthorized
from restante.surface.cli.places import TOKEN_NAME, shown

if TYPE_CHECKING:
    from restante.client import Client

EXAMPLE_URL = "http://127.0.0.1:8765"
DELAYS_S = (0.05, 0.15, 0.3, 0.5)
"""Seconds between tries: fewer than a program makes, since somebody sits and waits."""

UrlOption = Annotated[
    str | None, typer.Option(metavar="URL", envvar="RESTANTE_URL", help="The server. [default: the one that runs here]")
]
TokenOption = Annotated[
    str | None, typer.Option(metavar="TOKEN", envvar="RESTANTE_TOKEN", help="Your token. [default: the local owner's]")
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print the server's answer as JSON.")]


class Server(NamedTuple):
    """Where to go, and as whom."""

    url: str
    token: str

    def client(self) -> "Client":
        """A client of it, for somebody who waits. Raises `InvalidArguments`."""
        from restante.client import Client  # noqa: PLC0415 - takes its time to load

        return Client(self.url, self.token, delays_s=DELAYS_S)


def server_of(url: str | None, token: str | None, store: Path) -> Server:
    """The server that was named, or the one that holds the store. Raises `StoreUnavailable` and `Unauthorized`."""
    if url is not None:
        if token is None:
            raise Unauthorized("A server that you name needs a token that you name: --token, or RESTANTE_TOKEN.")
        return Server(url, token)
    # The owner's token goes to the server that runs on the owner's store, and nowhere else.
    return Server(url_of(store), token or _owners(store))


def url_of(store: Path) -> str:
    """The URL of the server that holds the store. Raises `StoreUnavailable`."""
    from restante.durable.db.lock import find_holder  # noqa: PLC0415 - takes its time to load

    holder = find_holder(store)
    if holder is None or holder.address is None:
        raise StoreUnavailable(
            f"No server runs on {shown(store)}. Start `restante serve` here, or name the server that you mean: "
            f"--url {EXAMPLE_URL}, or in the environment RESTANTE_URL={EXAMPLE_URL}"
        )
    return holder.address


def _owners(store: Path) -> str:
    try:
        return store.with_name(TOKEN_NAME).read_text(encoding="utf-8").strip()
    except OSError:
        hint = "`restante token create LABEL` makes one; give it with --token, or in RESTANTE_TOKEN."
        raise Unauthorized(f"There is no token here. {hint}") from None
