"""Bodies of requests: JSON in UTF-8, within their bounds of size and time."""

import asyncio

from fastapi import Request

from restante.errors import (
    BodyTooLarge,
    InvalidArguments,
    Limit,
    RestanteError,
    ShuttingDown,
    UnsupportedMediaType,
)

BODY_S = 10.0
"""Seconds within which a whole body is to come."""


class Bodies:
    """Reads bodies. One that does not come in time, or before a stop, is refused, and its connection ends."""

    def __init__(self, seconds: float = BODY_S) -> None:
        self._seconds = seconds
        self._open: set[asyncio.Timeout] = set()
        self._stopping = False

    async def read(self, request: Request, limit: int) -> bytes:
        """The whole body. Raises `BodyTooLarge`, `UnsupportedMediaType`, `InvalidArguments` and `ShuttingDown`."""
        _check_type(request)
        _check_length(request, limit)
        try:
            async with asyncio.timeout(0 if self._stopping else self._seconds) as timeout:
                self._open.add(timeout)
                try:
                    return await _read(request, limit)
                finally:
                    self._open.discard(timeout)
        except TimeoutError as error:
            request.state.close = True
            raise self._late() from error

    def cut_off(self) -> None:
        """The server stops: nobody waits for the rest of a body any more."""
        self._stopping = True
        for timeout in self._open:
            timeout.reschedule(0)

    def _late(self) -> RestanteError:
        if self._stopping:
            return ShuttingDown("The server is stopping and read only a part of this. Send it again in a moment.")
        return InvalidArguments(
            f"The body did not come within {self._seconds:g} seconds, and nothing was stored. Send all of it at once."
        )


def _check_type(request: Request) -> None:
    kind, _, parameters = request.headers.get("content-type", "").partition(";")
    charset = parameters.strip().lower().removeprefix("charset=").strip('"')
    encoded = request.headers.get("content-encoding", "identity")
    if kind.strip().lower() != "application/json" or charset not in {"", "utf-8"} or encoded != "identity":
        raise UnsupportedMediaType("Send JSON in UTF-8, as it is: `Content-Type: application/json`.")


def _check_length(request: Request, limit: int) -> None:
    length = request.headers.get("content-length", "")
    if length.isdecimal() and int(length) > limit:
        raise _too_large(limit, int(length))


async def _read(request: Request, limit: int) -> bytes:
    body = bytearray()
    async for chunk in request.stream():
        body += chunk
        if len(body) > limit:
            raise _too_large(limit, len(body))
    return bytes(body)


def _too_large(limit: int, size: int) -> BodyTooLarge:
    return BodyTooLarge(f"A body has at most {limit:,} bytes.", limit=Limit("body_max", limit, size))
