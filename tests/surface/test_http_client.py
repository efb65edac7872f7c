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
from restante.client.failures import Unreachable, error_of
from restante.errors import NotFound, RestanteError, StoreUnavailable

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


@pytest.fixture
def flaky() -> Generator[tuple[Client, type[Flaky], list[float]]]:
    slept: list[float] = []
    handler = type("Told", (Flaky,), {"answers": [], "bodies": []})
    with HTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        url = f"http://127.0.0.1:{server.server_port}"
        with Client(url, "token", delays_s=(1, 2, 3), sleep=slept.append) as client:
            yield client, handler, slept
        server.shutdown()


def test_a_send_is_repeated_under_the_same_id_until_it_is_answered(
    flaky: tuple[Client, type[Flaky], list[float]],
) -> None:
    client, told, slept = flaky
    told.answers += [None, (503, BUSY), (500, b"<html>"), (202, {"accepted": True})]

    assert client.send("x", target="scout") == {"accepted": True}
    assert len({body["submission_id"] for body in told.bodies}) == 1
    assert slept == [1, 2, 3]


def test_two_sends_have_ids_of_their_own(flaky: tuple[Client, type[Flaky], list[float]]) -> None:
    client, told, _ = flaky
    told.answers += [(202, {}), (202, {})]
    client.send("x", target="scout")
    client.send("x", target="scout")

    assert told.bodies[0]["submission_id"] != told.bodies[1]["submission_id"]


def test_a_refusal_is_raised_at_once_as_what_it_is(flaky: tuple[Client, type[Flaky], list[float]]) -> None:
    client, told, slept = flaky
    told.answers += [(404, UNKNOWN)]

    with pytest.raises(NotFound, match="no") as refused:
        client.send("x", target="nobody")

    assert refused.value.candidates == ("scout",)
    assert slept == []


def test_a_server_that_stays_at_fault_is_told_with_its_reason(flaky: tuple[Client, type[Flaky], list[float]]) -> None:
    client, told, _ = flaky
    told.answers += [(503, BUSY)] * 4

    with pytest.raises(StoreUnavailable) as refused:
        client.read()

    assert (refused.value.field, refused.value.retry_after_seconds) == ("locked", 1.0)


def test_a_long_wait_is_many_reads(flaky: tuple[Client, type[Flaky], list[float]]) -> None:
    client, told, _ = flaky
    told.answers += [(200, {"messages": []})] * 3

    assert client.wait("inbox-1", after=7, seconds=60) == {"messages": []}
    assert [path.split("wait_seconds=")[1] for path in told.bodies] == ["25.0", "25.0", "10.0"]


def test_where_nobody_serves_the_client_says_so_in_the_end() -> None:
    with closing(socket.create_server(("127.0.0.1", 0))) as free:
        port = free.getsockname()[1]
    slept: list[float] = []

    with (
        Client(f"http://127.0.0.1:{port}", "token", delays_s=(1, 2), sleep=slept.append) as client,
        pytest.raises(Unreachable) as refused,
    ):
        client.targets()

    assert refused.value.exit_code == 7
    assert slept == [1, 2]


def test_an_answer_in_no_form_of_ours_is_an_error_all_the_same() -> None:
    assert type(error_of(502, None)) is RestanteError
    assert type(error_of(404, {"error": {"code": "not_found"}})) is NotFound
