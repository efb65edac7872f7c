"""The errors of a server, as the same classes that it raised."""

from typing import Any, cast

from restante import errors
from restante.errors import Limit, RestanteError


class Unreachable(RestanteError):
    """The server gave no answer, however often it was asked.

    Where the request may have left, it is unknown whether a send was accepted: send it again with the same
    submission_id, and the message is stored once.
    """

    code = "store_unavailable"
    may_have_left = True
    """Whether a try had a connection to send on; if none had, nothing was sent."""


def _classes() -> dict[str, type[RestanteError]]:
    found: dict[str, type[RestanteError]] = {}
    for value in vars(errors).values():
        if isinstance(value, type) and issubclass(value, RestanteError):
            found.setdefault(value.code, value)
    return found


_BY_CODE = _classes()


def error_of(status: int, body: Any) -> RestanteError:
    """The error that an answer is. An answer in no form of ours becomes `RestanteError`."""
    shown = _object(_object(body).get("error"))
    kind = _BY_CODE.get(str(shown.get("code")), RestanteError)
    return kind(
        str(shown.get("message") or f"The server answered with status {status}."),
        field=shown.get("field"),
        limit=Limit(**shown["limit"]) if "limit" in shown else None,
        candidates=shown.get("candidates", ()),
        retry_after_seconds=shown.get("retry_after_seconds"),
    )


def _object(value: object) -> dict[str, Any]:
    return cast("dict[str, Any]", value) if isinstance(value, dict) else {}
