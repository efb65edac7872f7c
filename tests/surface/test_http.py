"""The HTTP door, over real sockets: what it accepts, what it refuses, and how."""

import asyncio
import json
from collections.abc import AsyncGenerator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx2
import pytest

from restante.client import Client
from restante.durable.db.lock import find_holder
from restante.errors import NotFound, SubmissionConflict
from restante.running.config import Limits
from restante.running.platform import Caller, Platform, Receipt, SendRequest
from restante.surface.http.app import build_app
from restante.surface.http.serve import running_server
from tests.running.platforms import Gate, echo, platform_of, replying, until

pytestmark = [pytest.mark.anyio, pytest.mark.timeout(60)]


@dataclass
class Door:
    """A server, and a client that sends whatever it is given."""

    platform: Platform
    url: str
    token: str
    http: httpx2.AsyncClient

    async def send(self, body: Any = None, **content: Any) -> httpx2.Response:
        if body is not None:
            content["json"] = body
        return await self.http.post("/v1/messages", **content)

    async def accepted(self, text: str = "ping", target: str = "scout") -> dict[str, Any]:
        return (await self.send({"target": target, "message": text})).json()


@pytest.fixture
async def door(tmp_path: Path) -> AsyncGenerator[Door]:
    limits = Limits(body_max=64 * 1024)
    async with platform_of(tmp_path, replying(echo), limits=limits) as platform, running_server(platform) as url:
        token = (await platform.create_token("ci")).token
        headers = {"Authorization": f"Bearer {token}"}
        async with httpx2.AsyncClient(base_url=url, headers=headers, timeout=40, trust_env=False) as http:
            yield Door(platform, url, token, http)


def _code(answer: httpx2.Response) -> str:
    error = answer.json()["error"]
    assert error["message"]
    return error["code"]


async def test_a_send_is_accepted_and_its_answer_waits_in_the_inbox(door: Door) -> None:
    sent = await door.send({"target": "scout", "message": "ping", "submission_id": "k"})
    page = await door.http.get(f"/v1/inboxes/{sent.json()['inbox_id']}/messages", params={"wait_seconds": "25"})

    assert sent.status_code == 202
    assert sent.json()["accepted"] is True
    assert [one["message"] for one in page.json()["messages"]] == ["re: ping"]


async def test_the_whole_mail_and_the_states_are_the_callers_own(door: Door) -> None:
    sent = await door.accepted()
    mail = (await door.http.get("/v1/messages", params={"wait_seconds": "25"})).json()
    states = (await door.http.get("/v1/messages/states", params={"message_id": sent["message_id"]})).json()
    other = {"Authorization": f"Bearer {(await door.platform.create_token('rival')).token}"}

    assert [one["message"] for one in mail["messages"]] == ["re: ping"]
    assert [one["target"] for one in states["states"]] == ["scout"]
    assert (await door.http.get("/v1/messages", headers=other)).json()["messages"] == []
    foreign = await door.http.get("/v1/messages/states", params={"message_id": sent["message_id"]}, headers=other)
    unknown = await door.http.get("/v1/messages/states", params={"message_id": "msg-none"}, headers=other)
    assert (foreign.status_code, foreign.content) == (unknown.status_code, unknown.content)


BAD_HEADERS = [None, "", "Bearer", "Bearer wrong", "Basic abc"]


async def test_without_a_good_token_nothing_is_told(door: Door) -> None:
    for header in BAD_HEADERS:
        async with httpx2.AsyncClient(base_url=door.url, trust_env=False) as nobody:
            headers = {} if header is None else {"Authorization": header}
            for answer in (
                await nobody.post("/v1/messages", content=b"[" * 100, headers=headers),
                await nobody.get("/v1/inboxes/inbox-x/messages", headers=headers),
                await nobody.get(f"/v1/messages?token={door.token}", headers=headers),
            ):
                assert (answer.status_code, _code(answer)) == (401, "unauthorized")


async def test_a_token_in_a_url_is_refused_beside_a_good_header(door: Door) -> None:
    for answer in (
        await door.http.get("/v1/messages", params={"token": door.token}),
        await door.http.post("/v1/messages", params={"token": door.token}, json={"target": "scout", "message": "x"}),
    ):
        assert (answer.status_code, _code(answer)) == (400, "invalid_arguments")


BAD_BODIES: list[tuple[object, str]] = [
    ({"message": "x"}, "invalid_arguments"),
    ({"target": "scout"}, "invalid_arguments"),
    ({"target": "", "message": "x"}, "invalid_arguments"),
    ({"target": "scout", "message": "x", "sender": "boss"}, "invalid_arguments"),
    ({"target": "scout", "message": "x", "attachments": []}, "invalid_arguments"),
    ({"target": "scout", "message": ["x"]}, "invalid_arguments"),
    ({"target": 1, "message": "x"}, "invalid_arguments"),
    ({"target": "scout", "message": True}, "invalid_arguments"),
    ({"target": "scout", "message": "x", "submission_id": 7}, "invalid_arguments"),
    ({"target": "scout", "message": "x", "submission_id": "k" * 129}, "invalid_arguments"),
    ({"target": "scout", "message": ""}, "text_blank"),
    ({"target": "scout", "message": "a\0b"}, "invalid_text"),
    ({"target": "scout", "message": "a\ud800"}, "invalid_text"),
    ({"target": "scout\ud800", "message": "x"}, "invalid_arguments"),
    ({"target": "scout", "message": "x" * 20_001}, "text_too_long"),
    ({"target": "nobody", "message": "x"}, "not_found"),
    ({"inbox_id": "inbox-none", "message": "x"}, "not_found"),
    ([], "invalid_arguments"),
    ("text", "invalid_arguments"),
    (None, "invalid_arguments"),
]


async def test_a_body_that_is_not_right_is_refused(door: Door) -> None:
    for body, code in BAD_BODIES:
        content = json.dumps(body).encode()

        answer = await door.send(content=content, headers={"Content-Type": "application/json"})

        assert _code(answer) == code


NO_JSON = [
    b"",
    b"{",
    b'{"target": "scout", "message": "x"} and more',
    b'{"target": "scout", "target": "scout", "message": "x"}',
    b'{"target": "scout", "message": NaN}',
    b'{"target": "scout", "message": Infinity}',
    b'{"target": "scout", "message": ' + b"9" * 10_000 + b"}",
    b"[" * 30_000,
    b'{"a":' * 8_000 + b"1" + b"}" * 8_000,
    b'{"message": "' + b"[" * 100 + b'", "nested": ' + b"[" * 40 + b"]" * 40 + b"}",
    b'{"message": "\xff\xfe"}',
    '{"target": "scout", "message": "x"}'.encode("utf-16"),
]


async def test_what_is_no_strict_json_is_refused_and_the_server_goes_on(door: Door) -> None:
    for content in NO_JSON:
        answer = await door.send(content=content, headers={"Content-Type": "application/json; charset=utf-8"})

        assert (answer.status_code, _code(answer)) == (400, "invalid_arguments")
        assert (await door.accepted())["accepted"] is True


async def test_brackets_inside_a_text_are_no_depth(door: Door) -> None:
    text = '[{"' * 1000 + '\\"'

    assert (await door.accepted(text))["accepted"] is True


async def test_a_text_comes_back_as_it_was_sent(door: Door) -> None:
    text = "  outer \r\n\ttabs 👩‍👩‍👧 e\u0301 \u2028 ends  "
    sent = await door.accepted(text)
    chat = await door.platform._database.read(
        lambda tx: tx.first("SELECT text FROM messages WHERE message_id = ?", sent["message_id"])
    )

    assert chat is not None
    assert chat["text"] == text


OTHER_KINDS: list[tuple[dict[str, str], int]] = [
    ({"Content-Type": "text/plain"}, 415),
    ({"Content-Type": "application/json; charset=latin-1"}, 415),
    ({"Content-Type": "application/json", "Content-Encoding": "gzip"}, 415),
    ({}, 415),
]


async def test_a_body_of_another_kind_is_refused(door: Door) -> None:
    for headers, status in OTHER_KINDS:
        answer = await door.send(content=b'{"target": "scout", "message": "x"}', headers=headers)

        assert (answer.status_code, _code(answer)) == (status, "unsupported_media_type")


async def test_a_body_that_is_too_large_is_refused_with_and_without_its_length(door: Door) -> None:
    async def chunks() -> AsyncGenerator[bytes]:
        for _ in range(20):
            yield b" " * 8 * 1024

    headers = {"Content-Type": "application/json"}
    for content in (b" " * 100 * 1024, chunks()):
        answer = await door.send(content=content, headers=headers)
        assert (answer.status_code, _code(answer)) == (413, "body_too_large")
        assert answer.json()["error"]["limit"]["name"] == "body_max"


BAD_QUERIES = [
        "wait_seconds=25.1", "wait_seconds=26", "wait_seconds=-1", "wait_seconds=true", "wait_seconds=1e9",
        "wait_seconds=NaN", "wait_seconds=", "wait_seconds=%2B1", "after=-1", f"after={2**63}", "after=x", "after=1.5",
        "after=00", "limit=0", "limit=101", "limit=1&limit=2", "unknown=1", "store_id=", "limit=%D9%A3",
    ]  # fmt: skip


async def test_a_query_that_is_not_right_is_refused(door: Door) -> None:
    for query in BAD_QUERIES:
        sent = await door.accepted()
        for path in ("/v1/messages", f"/v1/inboxes/{sent['inbox_id']}/messages"):
            answer = await door.http.get(f"{path}?{query}")
            assert (answer.status_code, _code(answer)) == (400, "invalid_arguments")
            assert answer.json()["error"]["field"] == query.split("=", maxsplit=1)[0]


NOT_OWN = ["inbox-none", "x", "%2e%2e", "a b", "inbox-" + "0" * 32]


async def test_every_inbox_that_is_not_ones_own_gives_the_same_answer(door: Door) -> None:
    for inbox in NOT_OWN:
        theirs = (await door.accepted())["inbox_id"]
        other = {"Authorization": f"Bearer {(await door.platform.create_token('rival')).token}"}

        foreign = await door.http.get(f"/v1/inboxes/{theirs}/messages", headers=other)
        unknown = await door.http.get(f"/v1/inboxes/{inbox}/messages", headers=other)

        assert foreign.status_code == unknown.status_code == 404
        assert foreign.content == unknown.content


async def test_routes_and_methods_that_there_are_not_answer_in_our_form(door: Door) -> None:
    no_route = await door.http.get("/v1/nothing")
    slash = await door.http.get("/v1/messages/")
    no_method = await door.http.delete("/v1/messages/states")

    assert (no_route.status_code, _code(no_route)) == (404, "not_found")
    assert (slash.status_code, _code(slash)) == (404, "not_found")
    assert (no_method.status_code, _code(no_method)) == (405, "method_not_allowed")
    assert no_method.headers["allow"] == "GET"


async def test_a_method_that_there_is_not_is_told_all_that_there_are(door: Door) -> None:
    answer = await door.http.put("/v1/messages")

    assert answer.headers["allow"] == "GET, POST"
    assert "GET, POST" in answer.json()["error"]["message"]


async def test_health_needs_no_token_and_targets_do(door: Door) -> None:
    async with httpx2.AsyncClient(base_url=door.url, trust_env=False) as nobody:
        for path in ("/healthz", "/v1/health"):
            assert (await nobody.get(path)).json() == {"status": "ok"}
        assert (await nobody.get("/v1/targets")).status_code == 401

    targets = (await door.http.get("/v1/targets")).json()["targets"]
    assert [(one["name"], one["state"], one["messaging"]) for one in targets] == [
        ("editor", "idle", True),
        ("scout", "idle", True),
    ]


async def test_what_nobody_expected_is_internal_with_an_incident_and_no_content(
    door: Door, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def broken(caller: Caller, request: SendRequest) -> Receipt:
        raise ZeroDivisionError(f"{caller} {request}")

    monkeypatch.setattr(door.platform, "send", broken)
    answer = await door.send({"target": "scout", "message": "a secret"})

    error = answer.json()["error"]
    assert (answer.status_code, error["code"]) == (500, "internal")
    assert error["incident_id"] in caplog.text
    assert "ZeroDivisionError" in caplog.text
    for secret in ("a secret", door.token):
        assert secret not in caplog.text
        assert secret not in answer.text


async def test_a_client_that_goes_away_leaves_no_wait_behind(door: Door) -> None:
    async with httpx2.AsyncClient(
        base_url=door.url, headers={"Authorization": f"Bearer {door.token}"}, timeout=40, trust_env=False
    ) as gone:
        reading = asyncio.ensure_future(gone.get("/v1/messages", params={"wait_seconds": "25"}))
        await until(lambda: door.platform.waiting == 1)
        reading.cancel()
        with pytest.raises(asyncio.CancelledError):
            await reading

    await until(lambda: door.platform.waiting == 0)


async def test_an_orderly_stop_answers_open_long_polls_and_accepts_nothing_new(tmp_path: Path) -> None:
    async with platform_of(tmp_path, replying(echo)) as platform:
        token = (await platform.create_token("ci")).token
        async with httpx2.AsyncClient(headers={"Authorization": f"Bearer {token}"}, trust_env=False) as http:
            async with running_server(platform) as url:
                reading = asyncio.ensure_future(http.get(f"{url}/v1/messages?wait_seconds=25", timeout=40))
                await until(lambda: platform.waiting == 1)
                platform.prepare_to_stop()
                refused = await http.post(f"{url}/v1/messages", json={"target": "scout", "message": "x"})
            page = await reading

    assert (page.status_code, page.json()["messages"]) == (200, [])
    assert (refused.status_code, _code(refused)) == (503, "shutting_down")


async def test_the_lock_file_says_where_the_server_is(door: Door, tmp_path: Path) -> None:
    holder = find_holder(tmp_path / "store.db")

    assert holder is not None
    assert holder.address == door.url


async def test_the_description_lists_every_route(door: Door) -> None:
    paths = (await door.http.get("/openapi.json")).json()["paths"]

    assert {"/v1/messages", "/v1/inboxes/{inbox_id}/messages", "/v1/messages/states", "/v1/targets"} <= paths.keys()
    assert build_app(door.platform).openapi()["paths"].keys() == paths.keys()


async def test_the_description_has_the_fields_of_each_route_and_the_form_of_errors(door: Door) -> None:
    paths = (await door.http.get("/openapi.json")).json()["paths"]

    sending, reading = paths["/v1/messages"]["post"], paths["/v1/inboxes/{inbox_id}/messages"]["get"]
    fields = sending["requestBody"]["content"]["application/json"]["schema"]
    assert {"target", "message", "submission_id"} <= fields["properties"].keys()
    assert fields["required"] == ["message"]
    assert {"inbox_id", "after", "limit", "wait_seconds"} <= {one["name"] for one in reading["parameters"]}
    for methods in paths.values():
        for route in methods.values():
            error = route["responses"]["default"]["content"]["application/json"]["schema"]["properties"]["error"]
            assert {"code", "message", "field"} <= error["properties"].keys()
            assert "422" not in route["responses"]


WORDS: list[tuple[bytes, str]] = [
    (b'{"message": "a\nb"}', "a control character inside a text, to be written as an escape, at character 14"),
    (b'\xef\xbb\xbf{"message": "x"}', "a byte order mark"),
    (b'{"message": "x', "a text that never ends and begins at character 12"),
]


async def test_what_is_no_json_is_told_in_plain_words(door: Door) -> None:
    for content, words in WORDS:
        message = (await door.send(content=content, headers={"Content-Type": "application/json"})).json()["error"]
        assert words in message["message"]


async def test_a_wait_that_is_no_number_is_told_the_range(door: Door) -> None:
    for value in ("true", "NaN", "%2025", "1e1"):
        answer = await door.http.get(f"/v1/messages?wait_seconds={value}")
        assert "wait_seconds is a number from 0 to 25" in answer.json()["error"]["message"]


async def test_the_client_sends_waits_and_raises_what_the_server_refuses(door: Door) -> None:
    def work() -> None:
        with Client(door.url, door.token) as client:
            sent = client.send("ping", target="scout", submission_id="k")
            assert client.send("ping", target="scout", submission_id="k")["replayed"] is True
            page = client.wait(sent["inbox_id"], seconds=30)
            assert [one["message"] for one in page["messages"]] == ["re: ping"]
            assert client.states(submission_id="k")["states"][0]["message_id"] == sent["message_id"]
            with pytest.raises(SubmissionConflict):
                client.send("other", target="scout", submission_id="k")
            with pytest.raises(NotFound) as refused:
                client.send("x", target="nobody")
            assert refused.value.candidates == ("editor", "scout")

    await asyncio.to_thread(work)


async def test_a_held_turn_blocks_no_request(tmp_path: Path) -> None:
    gate = Gate()
    async with platform_of(tmp_path, replying(gate)) as platform, running_server(platform) as url:
        token = (await platform.create_token("ci")).token
        async with httpx2.AsyncClient(
            base_url=url, headers={"Authorization": f"Bearer {token}"}, trust_env=False
        ) as http:
            body = {"target": "scout", "message": "x"}
            sent = [(await http.post("/v1/messages", json=body)).status_code for _ in range(3)]
            await until(lambda: gate.waiting)
            states = (await http.get("/v1/messages/states")).json()["states"]
        gate.open()

    assert sent == [202, 202, 202]
    assert [(one["state"], one["waiting_for"]) for one in states] == [
        ("started", None),
        ("queued", "busy"),
        ("queued", "busy"),
    ]
