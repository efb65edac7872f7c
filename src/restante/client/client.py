"""A client of one server, for programs that wait: each call returns the body that the server answered with."""

import time
import uuid
from collections.abc import Callable, Mapping
from types import TracebackType
from typing import Any, Self
from urllib.parse import quote

import httpx2

from restante.client.failures import Unreachable, error_of

WAIT_LIMIT_S = 25.0
"""The longest that one read is held open."""
DELAYS_S = (0.05, 0.1, 0.2, 0.4, 0.8, 1.6, 3.2)
"""Seconds between tries."""
_ANSWER_S = 30.0
_SERVER_AT_FAULT = 500

Body = dict[str, Any]


class Client:
    """Sends, reads and waits under the name that its token belongs to.

    What fails on the way is tried again: a send under the same submission_id, so that it is stored once however often
    it arrives. A refusal is raised as the error that it is; `Unreachable` when no try was answered.
    """

    def __init__(
        self,
        url: str,
        token: str,
        *,
        delays_s: tuple[float, ...] = DELAYS_S,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self._http = httpx2.Client(
            base_url=url, headers={"Authorization": f"Bearer {token}"}, timeout=_ANSWER_S, trust_env=False
        )
        self._delays_s = delays_s
        self._sleep = sleep

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Give up the connections."""
        self._http.close()

    def send(
        self,
        message: str,
        *,
        target: str | None = None,
        inbox_id: str | None = None,
        submission_id: str | None = None,
        in_reply_to: str | None = None,
    ) -> Body:
        """Send to a target, or in the conversation of an inbox; the receipt: stored, and read by nobody yet."""
        fields = {
            "message": message,
            "target": target,
            "inbox_id": inbox_id,
            "submission_id": submission_id or uuid.uuid4().hex,
            "in_reply_to": in_reply_to,
        }
        return self._ask("POST", "/v1/messages", json=_given(fields))

    def read(
        self, inbox_id: str | None = None, *, after: int = 0, limit: int | None = None, wait_seconds: float = 0.0
    ) -> Body:
        """A page of one inbox or of the whole mail, waiting up to 25 s for something to come."""
        path = "/v1/messages" if inbox_id is None else f"/v1/inboxes/{quote(inbox_id, safe='')}/messages"
        return self._ask("GET", path, params=_given({"after": after, "limit": limit, "wait_seconds": wait_seconds}))

    def wait(self, inbox_id: str | None = None, *, after: int = 0, seconds: float = WAIT_LIMIT_S) -> Body:
        """A page as soon as there is something on it, or an empty one when the time is over, however long."""
        left = seconds
        while True:
            step = min(left, WAIT_LIMIT_S)
            page = self.read(inbox_id, after=after, wait_seconds=step)
            left -= step
            if page["messages"] or left <= 0:
                return page

    def states(
        self,
        *,
        message_id: str | None = None,
        submission_id: str | None = None,
        inbox_id: str | None = None,
        state: str | None = None,
        after: int = 0,
    ) -> Body:
        """How far one's own sends have come."""
        fields = {
            "message_id": message_id,
            "submission_id": submission_id,
            "inbox_id": inbox_id,
            "state": state,
            "after": after,
        }
        return self._ask("GET", "/v1/messages/states", params=_given(fields))

    def targets(self) -> Body:
        """Whom one may write to."""
        return self._ask("GET", "/v1/targets")

    def _ask(self, method: str, path: str, **content: Any) -> Body:
        """One call of the server, tried until it is answered by something else than a failure of the server's."""
        error: Exception = Unreachable("No try was made.")
        for delay in (*self._delays_s, None):
            try:
                answer = self._http.request(method, path, **content)
            except httpx2.TransportError as lost:
                error = Unreachable(f"The server at {self._http.base_url} gave no answer: {lost}")
            else:
                if answer.is_success:
                    return answer.json()
                error = _failure(answer)
                if answer.status_code < _SERVER_AT_FAULT:
                    raise error
            if delay is not None:
                self._sleep(delay)
        raise error


def _given(fields: Mapping[str, object]) -> dict[str, Any]:
    return {name: value for name, value in fields.items() if value is not None}


def _failure(answer: httpx2.Response) -> Exception:
    try:
        body = answer.json()
    except ValueError:
        body = None
    return error_of(answer.status_code, body)
