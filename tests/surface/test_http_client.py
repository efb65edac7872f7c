"""The client: what fails on the way is tried again under the same submission id, and a refusal is not."""

import json
import socket
import threading
from collections.abc import Generator
from contextlib import closing
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Any

import pytest

from restante.client import Client
from restante.client.client import EARLY_S
from restante.client.failures import Unreachable, error_of
from restante.errors import InvalidArguments, NotFound, RestanteError, StoreUnavailable

pytestmark = pytest.mark.timeout(30)

BUSY = {"error": {"code": "store_unavailable", "message": "later", "field": "locked", "retry_after_seconds": 1.0}}
UNKNOWN = {"error": {"code": "not_found", "message": "no", "candidates": ["scout"]}}


class Flaky(BaseHTTPRequestHandler):
    """Answers as it is told, one answer after another; None closes the connection without one."""

    answers: list[tuple[int, Any] | None]
    bodies: list[Any]

    def do_POST(self) -> None:
        self.bodies.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
        self._answer()

    def do_GET(self) -> None:
        self.bodies.append(self.path)
        self._answer()

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002  # the name is the base class's
        """Say nothing."""

    def _answer(self) -> None:
        told = self.answers.pop(0)
        if told is None:
            self.close_connection = True
            return
        status, shape = told
        body = shape if isinstance(shape, bytes) else json.dumps(shape).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


Flakiness = tuple[Client, type[Flaky], list[float]]
"""A client, what answers it, and how long it has slept between its tries."""


@pytest.fixture
def flaky() -> Generator[Flakiness]:
    slept: list[float] = []
    handler = type("Told", (Flaky,), {"answers": [], "bodies": []})
    with HTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        url = f"http://127.0.0.1:{server.server_port}"
        with Client(url, "token", delays_s=(1, 2, 3), sleep=slept.append) as client:
            yield client, handler, slept
        server.shutdown()


def test_a_send_is_repeated_under_the_same_id_until_it_is_answered(
    flaky: Flakiness,
) -> None:
    client, told, slept = flaky
    told.answers += [None, (503, BUSY), (500, b"<html>"), (202, {"accepted": True})]

    assert client.send("x", target="scout") == {"accepted": True}
    assert len({body["submission_id"] for body in told.bodies}) == 1
    assert slept == [1, 2, 3]


def test_two_sends_have_ids_of_their_own(flaky: Flakiness) -> None:
    client, told, _ = flaky
    told.answers += [(202, {}), (202, {})]
    client.send("x", target="scout")
    client.send("x", target="scout")

    assert told.bodies[0]["submission_id"] != told.bodies[1]["submission_id"]


def test_an_empty_id_is_sent_as_it_is_so_that_a_slip_makes_no_second_message(flaky: Flakiness) -> None:
    client, told, _ = flaky
    told.answers += [(202, {})]
    client.send("x", target="scout", submission_id="")

    assert told.bodies[0]["submission_id"] == ""


def test_a_refusal_is_raised_at_once_as_what_it_is(flaky: Flakiness) -> None:
    client, told, slept = flaky
    told.answers += [(404, UNKNOWN)]

    with pytest.raises(NotFound, match="no") as refused:
        client.send("x", target="nobody")

    assert refused.value.candidates == ("scout",)
    assert slept == []


def test_a_server_that_stays_at_fault_is_told_with_its_reason(flaky: Flakiness) -> None:
    client, told, _ = flaky
    told.answers += [(503, BUSY)] * 4

    with pytest.raises(StoreUnavailable) as refused:
        client.read()

    assert (refused.value.field, refused.value.retry_after_seconds) == ("locked", 1.0)


EMPTY: tuple[int, dict[str, object]] = (200, {"messages": [], "cursor_reset": False})


def test_a_long_wait_is_many_reads(flaky: Flakiness) -> None:
    client, told, slept = flaky
    clock = iter([0.0, 25.0, 50.0, 60.0])
    told.answers += [EMPTY] * 3

    with Client(str(client._http.base_url), "token", sleep=slept.append, clock=lambda: next(clock)) as waiting:  # pyright: ignore[reportPrivateUsage]
        assert waiting.wait("inbox-1", after=7, seconds=60) == EMPTY[1]

    assert [path.split("wait_seconds=")[1] for path in told.bodies] == ["25.0", "25.0", "10.0"]
    assert slept == []


def test_a_wait_that_a_stopping_server_ends_early_goes_on_and_finds_that_it_is_gone(flaky: Flakiness) -> None:
    client, told, slept = flaky
    told.answers += [EMPTY, None, None, None, None]

    with pytest.raises(Unreachable):
        client.wait(seconds=20)

    assert slept == [EARLY_S, 1, 2, 3]


def gone() -> str:
    """A URL at which nobody listens any more."""
    with closing(socket.create_server(("127.0.0.1", 0))) as free:
        return f"http://127.0.0.1:{free.getsockname()[1]}"


def test_where_nobody_serves_the_client_says_in_the_end_that_nothing_has_left() -> None:
    slept: list[float] = []

    with Client(gone(), "token", delays_s=(1, 2), sleep=slept.append) as client, pytest.raises(Unreachable) as refused:
        client.targets()

    assert (refused.value.exit_code, refused.value.may_have_left) == (7, False)
    assert refused.value.message.endswith(".")
    assert slept == [1, 2]


def test_what_was_sent_and_never_answered_may_have_left(flaky: Flakiness) -> None:
    client, told, _ = flaky
    told.answers += [None] * 4

    with pytest.raises(Unreachable) as refused:
        client.send("x", target="scout")

    assert refused.value.may_have_left


@pytest.mark.parametrize(
    "url",
    [
        "http://[::1",
        "127.0.0.1:8765",
        "ftp://host",
        "http://",
        "http://me:pw@host",
        "http://h?a=b",
        "http://h:99999",
        "http://a b",
    ],
)
def test_a_url_that_is_none_of_a_server_is_refused_at_once(url: str) -> None:
    with pytest.raises(InvalidArguments) as refused:
        Client(url, "token")

    assert "pw" not in refused.value.message


@pytest.mark.parametrize("token", ["secret\r", "secret x", "secreté", "secret\udcff", "", "secret\0"])
def test_a_token_that_cannot_be_sent_is_refused_without_being_repeated(token: str) -> None:
    with pytest.raises(InvalidArguments) as refused:
        Client("http://127.0.0.1:1", token)

    assert "secret" not in refused.value.message


@pytest.mark.parametrize("body", [b"<html>", []])
def test_an_answer_of_another_program_is_none_of_ours(flaky: Flakiness, body: object) -> None:
    client, told, _ = flaky
    told.answers += [(200, body)]

    with pytest.raises(RestanteError, match="no server of restante"):
        client.targets()


def test_an_answer_in_no_form_of_ours_is_an_error_all_the_same() -> None:
    assert type(error_of(502, None)) is RestanteError
    assert type(error_of(404, {"error": {"code": "not_found"}})) is NotFound
