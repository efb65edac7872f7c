"""What a client is given, judged before anything leaves: where the server is, and the token."""

import re

import httpx2

from restante.errors import InvalidArguments

_TOKEN = re.compile(r"[\x21-\x7e]+")
_IN_NO_URL = re.compile(r"[\s\x00-\x1f\x7f]")
_LAST_PORT = 65_535
EXAMPLE_URL = "http://127.0.0.1:8765"


def check_url(url: str) -> None:
    """Raise `InvalidArguments` unless `url` is where a server can be."""
    try:
        parsed = httpx2.URL(url)
        wrong = parsed.scheme not in ("http", "https") or not parsed.host or parsed.query or parsed.fragment
        wrong = wrong or _IN_NO_URL.search(url) or not 0 < (parsed.port or 1) <= _LAST_PORT
    except (httpx2.InvalidURL, ValueError):
        raise _bad_url() from None
    if parsed.userinfo:
        raise InvalidArguments("The URL of a server holds no user and no password: the token says who you are.")
    if wrong:
        raise _bad_url()


def check_token(token: str) -> None:
    """Raise `InvalidArguments`, without repeating any of it, unless `token` can be sent."""
    if not _TOKEN.fullmatch(token):
        raise InvalidArguments(
            "This is no token: it holds a space, a line break or a character that no token has, or it is empty. "
            "Give it as `restante token create` has printed it.",
            field="token",
        )


def _bad_url() -> InvalidArguments:
    return InvalidArguments(f"The URL of a server looks like {EXAMPLE_URL}.", field="url")
