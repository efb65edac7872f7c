"""The routes: each parses a request, asks the platform, and shapes the answer."""

from fastapi import APIRouter, Request, Response

from restante.surface.http.description import REFUSALS, body, query
from restante.surface.http.wire import CLIENT_GONE, answer, body_of, caller_of, platform_of, query_of, unless_gone
from restante.surface.requests import READ_FIELDS, SEND_FIELDS, STATES_FIELDS, parse_read, parse_send, parse_states

router = APIRouter(responses=REFUSALS)


@router.post("/v1/messages", status_code=202, tags=["messages"], openapi_extra=body(SEND_FIELDS))
async def post_message(request: Request) -> Response:
    """Send a message. 202: it is stored; nobody has read it yet."""
    caller = await caller_of(request)
    receipt = await platform_of(request).send(caller, parse_send(await body_of(request)))
    return answer(receipt.shape(), 202)


@router.get("/v1/messages", tags=["messages"], openapi_extra=query(READ_FIELDS))
async def get_mail(request: Request) -> Response:
    """Read the whole mail: what came to the caller over all its conversations."""
    return await _page(request, None)


@router.get("/v1/inboxes/{inbox_id}/messages", tags=["messages"], openapi_extra=query(READ_FIELDS))
async def get_inbox(request: Request, inbox_id: str) -> Response:
    """Read one inbox, at once or as soon as something comes."""
    return await _page(request, inbox_id)


@router.get("/v1/messages/states", tags=["messages"], openapi_extra=query(STATES_FIELDS))
async def get_states(request: Request) -> Response:
    """How far the caller's own sends have come."""
    caller, platform = await caller_of(request), platform_of(request)
    asked = parse_states(query_of(request, STATES_FIELDS), platform.config.limits)
    return answer((await platform.states(caller, asked)).shape())


@router.get("/v1/targets", tags=["messages"], openapi_extra=query({}))
async def get_targets(request: Request) -> Response:
    """Whom the caller may write to."""
    caller = await caller_of(request)
    query_of(request, {}).only()
    return answer({"targets": [target.shape() for target in await platform_of(request).targets(caller)]})


@router.get("/v1/health", tags=["operation"])
@router.get("/healthz", tags=["operation"])
async def get_health(request: Request) -> Response:
    """Whether the server answers and its store can be read."""
    await platform_of(request).check_health()
    return answer({"status": "ok"})


async def _page(request: Request, inbox_id: str | None) -> Response:
    caller, platform = await caller_of(request), platform_of(request)
    asked = parse_read(query_of(request, READ_FIELDS), platform.config.limits, inbox_id)
    reading = platform.read(caller, asked)
    page = await (unless_gone(request, reading) if asked.wait_seconds else reading)
    return Response(status_code=CLIENT_GONE) if page is None else answer(page.shape())
