"""Bodies that come slowly, in part, or not at all."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from restante.running.platform import Platform
from restante.surface.http.serve import GRACE_S, running_server
from tests.running.platforms import echo, platform_of, replying, until

pytestmark = [pytest.mark.anyio, pytest.mark.timeout(60)]

LENGTH = 1000


@asynccontextmanager
async def _half_sent(platform: Platform, url: str) -> AsyncGenerator[tuple[asyncio.StreamReader, asyncio.StreamWriter]]:
    """A connection on which a part of a send has come to the server."""
    token = (await platform.create_token("ci")).token
    place = urlsplit(url)
    reader, writer = await asyncio.open_connection(place.hostname, place.port)
    head = f"POST /v1/messages HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {token}\r\nContent-Length: {LENGTH}\r\n"
    writer.write(f'{head}Content-Type: application/json\r\nExpect: 100-continue\r\n\r\n{{"message":'.encode())
    try:
        # It is told to go on as soon as the server waits for the body.
        assert await reader.readuntil(b"\r\n\r\n") == b"HTTP/1.1 100 Continue\r\n\r\n"
        yield reader, writer
    finally:
        writer.close()


async def test_a_body_that_does_not_come_is_refused_and_its_connection_ends(tmp_path: Path) -> None:
    async with (
        platform_of(tmp_path, replying(echo)) as platform,
        running_server(platform, body_s=0.05) as url,
        _half_sent(platform, url) as (reader, _),
    ):
        answer = (await reader.read()).decode()

    assert answer.startswith("HTTP/1.1 400 ")
    assert '"code":"invalid_arguments","message":"The body did not come within 0.05 seconds' in answer


async def test_a_client_that_goes_away_while_it_sends_is_no_incident(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async with platform_of(tmp_path, replying(echo)) as platform, running_server(platform) as url:
        tasks = len(asyncio.all_tasks())
        async with _half_sent(platform, url) as (_, writer):
            writer.close()
            await until(lambda: len(asyncio.all_tasks()) <= tasks)

    assert caplog.text == ""


async def test_a_half_sent_request_holds_no_stop_up(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    async with platform_of(tmp_path, replying(echo)) as platform:
        async with asyncio.timeout(GRACE_S - 1):
            async with running_server(platform) as url:
                sending = _half_sent(platform, url)
                reader, _ = await sending.__aenter__()
            answer = (await reader.read()).decode()
        await sending.__aexit__(None, None, None)

    assert answer.startswith("HTTP/1.1 503 ")
    assert '"code":"shutting_down"' in answer
    assert caplog.text == ""
