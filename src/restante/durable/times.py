"""Times as rows hold them, milliseconds since the epoch, and as people and programs read them."""

from datetime import UTC, datetime


def rfc3339(at_ms: int) -> str:
    """RFC 3339 in UTC, with milliseconds and `Z`."""
    seconds, milliseconds = divmod(at_ms, 1000)
    return f"{datetime.fromtimestamp(seconds, UTC):%Y-%m-%dT%H:%M:%S}.{milliseconds:03}Z"


def rfc3339_or_none(at_ms: int | None) -> str | None:
    """The same, None where there is no time yet."""
    return None if at_ms is None else rfc3339(at_ms)
