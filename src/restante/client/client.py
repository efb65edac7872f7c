"""A client of one server, for programs that wait: each call returns the body that the server answered with."""

import time
import uuid
from collections.abc import Callable, Mapping
from types import TracebackType
from typing import Any, Self, cast
from urllib.parse import quote

import httpx2

from restante.client.checks import check_token, check_url
from restante.client.failures import Unreachable, error_of
from restante.errors import RestanteError

WAIT_LIMIT_S = 25.0
"""The longest that one read is held open."""
DELAYS_S = (0.05, 0.1, 0.2, 0.4, 0.8, 1.6, 3.2)
"""Seconds between tries."""
EARLY_S = 0.1
"""Seconds between two reads of which the first was answered before its time."""
_ANSWER_S = 30.0
_SERVER_AT_FAULT = 500
NOT_CONNECTED = (httpx2.ConnectError, httpx2.ConnectTimeout, httpx2.UnsupportedProtocol)
"""With these nothing has left: there was no connection to send it on."""

Body = dict[str, Any]


class Client:
    """Sends, reads and waits under the name that its token belongs to.

    What fails on the way is tried again: a send under the same submission_id, so that it is stored once however often
    it arrives. A refusal is raised as the error that it is; `Unreachable` when no try was answered.
    A URL or a token that cannot be one raises `InvalidArguments` at once.
    """

    def __init__(
        self,
        url: str,
        token: str,
        *,
        delays_s: tuple[float, ...] = DELAYS_S,
        sleep: Callable[[float], None] = time.sleep,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        check_url(url)
        check_token(token)
        self._url = url
        self._http = httpx2.Client(
            base_url=url, headers={"Authorization": f"Bearer {token}"}, timeout=_ANSWER_S, trust_env=False
        )
        self._delays_s = delays_s
        self._sleep = sleep
        self._clock = clock

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
            "submission_id": uuid.uuid4().hex if submission_id is None else submission_id,
            "in_reply_to": in_reply_to,
        }
        return self._ask("POST", "/v1/messages", json=_given(fields))

    def read(
        self,
        inbox_id: str | None = None,
        *,
        after: int = 0,
        limit: int | None = None,
        wait_seconds: float = 0.0,
        store_id: str | None = None,
    ) -> Body:
        """A page of one inbox or of the whole mail, waiting up to 25 s for something to come.

        `store_id` is that of the page that `after` is from: in another store, reading starts at the oldest message.
        """
        path = "/v1/messages" if inbox_id is None else f"/v1/inboxes/{quote(inbox_id, safe='')}/messages"
        fields = {"after": after, "limit": limit, "wait_seconds": wait_seconds, "store_id": store_id}
        return self._ask("GET", path, params=_given(fields))

    def wait(
        self,
        inbox_id: str | None = None,
        *,
        after: int = 0,
        limit: int | None = None,
        seconds: float = WAIT_LIMIT_S,
        store_id: str | None = None,
    ) -> Body:
        """A page as soon as there is something on it, or an empty one when the time is over, however long.

        A server that goes away meanwhile is none whose mail is empty: that raises `Unreachable`.
        """
        now_s = self._clock()
        end_s = now_s + seconds
        while True:
            step_s = round(min(end_s - now_s, WAIT_LIMIT_S), 3)
            page = self.read(inbox_id, after=after, limit=limit, wait_seconds=step_s, store_id=store_id)
            asked_s, now_s = now_s, self._clock()
            if page["messages"] or page["cursor_reset"] or now_s >= end_s:
                return page
            if now_s - asked_s < step_s / 2:
                # A server that stops answers early. Whether it is gone, the next try finds out.
                self._sleep(EARLY_S)

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
        error: RestanteError = Unreachable("No try was made.")
        may_have_left = False
        for delay in (*self._delays_s, None):
            try:
                answer = self._http.request(method, path, **content)
            except httpx2.RequestError as lost:
                may_have_left = may_have_left or not isinstance(lost, NOT_CONNECTED)
                error = Unreachable(f"The server at {self._url} gave no answer: {_why(lost)}.")
            else:
                if answer.is_success:
                    return self._body(answer)
                may_have_left = True
                error = _failure(answer)
                if answer.status_code < _SERVER_AT_FAULT:
                    raise error
            if delay is not None:
                self._sleep(delay)
        if isinstance(error, Unreachable):
            error.may_have_left = may_have_left
        raise error

    def _body(self, answer: httpx2.Response) -> Body:
        try:
            body = answer.json()
        except ValueError:
            body = None
        if not isinstance(body, dict):
            raise RestanteError(f"What answers at {self._url} is no server of restante.")
        return cast("Body", body)


def _given(fields: Mapping[str, object]) -> dict[str, Any]:
    return {name: value for name, value in fields.items() if value is not None}


def _why(lost: httpx2.RequestError) -> str:
    return str(lost).rstrip(".") or type(lost).__name__


def _failure(answer: httpx2.Response) -> RestanteError:
    try:
        body = answer.json()
    except ValueError:
        body = None
    return error_of(answer.status_code, body)
