"""What every route shares: who calls, the body within its bounds, the answer, and every error in one form."""

import json
import logging
import secrets
from collections.abc import Awaitable, Mapping
from typing import TypeVar

from fastapi import Request, Response
from starlette.exceptions import HTTPException
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from restante.errors import (
    InsufficientScope,
    InvalidArguments,
    MethodNotAllowed,
    NotFound,
    RestanteError,
    Unauthorized,
)
from restante.running.platform import Caller, Platform
from restante.running.stored import OWNER
from restante.running.tasks import owning_group
from restante.surface.http.bodies import Bodies
from restante.surface.parse import Fields, parse_json, parse_query
from restante.surface.requests import Field, ranges_of

T = TypeVar("T")

CLIENT_GONE = 499
"""The status of an answer that nobody is there to get."""

logger = logging.getLogger(__name__)


def platform_of(request: Request) -> Platform:
    """The platform that this app serves."""
    return request.app.state.platform


async def caller_of(request: Request) -> Caller:
    """Who calls, by the token in the header. A token in the URL is a field that no route has."""
    scheme, _, token = request.headers.get("authorization", "").partition(" ")
    if scheme.lower() != "bearer" or not token:
        raise Unauthorized("Send a token as `Authorization: Bearer <token>`; `restante token create` makes one.")
    return await platform_of(request).authenticate(token)


async def check_owner(request: Request) -> None:
    """Raise `InsufficientScope` unless the local owner calls: the chats of a store are theirs. Else as `caller_of`."""
    if (await caller_of(request)).name != OWNER:
        raise InsufficientScope("Chats are for the owner of the store: use the token that `restante init` has kept.")


async def body_of(request: Request) -> Fields:
    """The fields of a JSON body. Raises the refusal of a body that is too large, no JSON, or not in UTF-8."""
    if request.query_params:
        raise InvalidArguments("This route takes its fields in the body.", field=next(iter(request.query_params)))
    limits = platform_of(request).config.limits
    bodies: Bodies = request.app.state.bodies
    return parse_json(await bodies.read(request, limits.body_max), limits.json_depth)


def query_of(request: Request, fields: Mapping[str, Field]) -> Fields:
    """The fields of the query string, those that are numbers as numbers."""
    ranges = ranges_of(fields, platform_of(request).config.limits)
    return parse_query(request.query_params.multi_items(), ranges)


def answer(shape: object, status: int = 200) -> Response:
    """`shape` as JSON in UTF-8."""
    # What somebody sent may stand in an error, whatever it is.
    body = json.dumps(shape, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace")
    return Response(body, status, media_type="application/json")


async def unless_gone(request: Request, waiting: Awaitable[T]) -> T | None:
    """What is waited for; None if the client goes away first, and then nothing waits any longer."""
    found: T | None = None
    try:
        async with owning_group() as group:
            group.create_task(_client_goes(request))
            found = await waiting
    except* _ClientGone:
        pass
    return found


async def on_refusal(request: Request, error: Exception) -> Response:
    """A refusal, or the store's failure, as every door shows it."""
    assert isinstance(error, RestanteError)  # noqa: S101  # the app registers it for nothing else
    refused = answer(error.body(), error.http_status)
    if getattr(request.state, "close", False):
        refused.headers["Connection"] = "close"
    if error.retry_after_seconds is not None:
        refused.headers["Retry-After"] = str(max(1, round(error.retry_after_seconds)))
    return refused


async def on_client_gone(request: Request, error: Exception) -> Response:
    """The client went away while it sent: nobody's mistake, and nobody to tell."""
    del request, error
    return Response(status_code=CLIENT_GONE)


async def on_no_route(request: Request, error: Exception) -> Response:
    """No such route, or not with this method."""
    assert isinstance(error, HTTPException)  # noqa: S101  # the app registers it for nothing else
    if error.status_code == NotFound("").http_status:
        return await on_refusal(request, NotFound("There is no such route. /openapi.json lists them."))
    allowed = ", ".join(_methods(request))
    refused = await on_refusal(request, MethodNotAllowed(f"This route takes {allowed or 'other methods'}."))
    refused.headers["Allow"] = allowed
    return refused


class Incidents:
    """Around the whole app: what nobody expected becomes `internal` with an id, and a log line without any content."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        started = False

        async def watched(message: Message) -> None:
            nonlocal started
            started = started or message["type"] == "http.response.start"
            await send(message)

        try:
            await self._app(scope, receive, watched)
        except Exception as error:
            incident_id = f"incident-{secrets.token_hex(16)}"
            logger.error("%s: %s at %s", incident_id, type(error).__name__, _place(error))  # noqa: TRY400  # no content
            if scope["type"] != "http" or started:
                raise
            shown = {"code": "internal", "message": "This is our mistake. Tell us the incident_id."}
            await answer({"error": {**shown, "incident_id": incident_id}}, 500)(scope, receive, send)


def _methods(request: Request) -> list[str]:
    """Every method with which the path is a route: the framework names those of the first one only."""
    routes: list[Route] = request.app.state.routes
    matching = [route.methods or () for route in routes if route.path_regex.match(request.scope["path"])]
    return sorted({method for methods in matching for method in methods})


class _ClientGone(Exception):  # a fact
    """Nobody waits for the answer any more."""


async def _client_goes(request: Request) -> None:
    while (await request.receive())["type"] != "http.disconnect":
        pass
    raise _ClientGone


def _place(error: BaseException) -> str:
    """File and line where it was raised: no values."""
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    return "?" if trace is None else f"{trace.tb_frame.f_code.co_filename}:{trace.tb_lineno}"
