"""The routes for chats: what the person whose store it is does with them."""

from fastapi import APIRouter, Request, Response

from restante.surface.chat_requests import (
    CHATS_FIELDS,
    CUT_FIELDS,
    EXPORT_FIELDS,
    SEARCH_FIELDS,
    TITLE_FIELDS,
    parse_export,
    parse_paging,
)
from restante.surface.export import export_chat
from restante.surface.http.description import REFUSALS, body, query
from restante.surface.http.wire import answer, body_of, check_owner, platform_of, query_of
from restante.surface.shapes import shape_chat, shape_hits, shape_page, shape_record

chat_router = APIRouter(prefix="/v1/chats", responses=REFUSALS, tags=["chats"])


@chat_router.get("", openapi_extra=query(CHATS_FIELDS))
async def get_chats(request: Request) -> Response:
    """List the chats, the one in which something happened last first."""
    await check_owner(request)
    fields, platform = query_of(request, CHATS_FIELDS), platform_of(request)
    fields.only(*CHATS_FIELDS)
    after, limit = parse_paging(fields, platform.config.limits)
    return answer(shape_page(await platform.chats(agent=fields.find_text("agent_id"), after=after, limit=limit)))


@chat_router.get("/search", openapi_extra=query(SEARCH_FIELDS))
async def search_chats(request: Request) -> Response:
    """Find what a person said, the newest first. Nobody else's words are searched."""
    await check_owner(request)
    fields, platform = query_of(request, SEARCH_FIELDS), platform_of(request)
    fields.only(*SEARCH_FIELDS)
    after, limit = parse_paging(fields, platform.config.limits)
    return answer(shape_hits(await platform.search_chats(fields.text("q"), after=after, limit=limit)))


@chat_router.get("/{chat_id}", openapi_extra=query({}))
async def get_chat(request: Request, chat_id: str) -> Response:
    """Read a chat: every turn with its journal, its answer, and what was not delivered."""
    await check_owner(request)
    query_of(request, {}).only()
    return answer(shape_record(await platform_of(request).chat(chat_id)))


@chat_router.get("/{chat_id}/export", openapi_extra=query(EXPORT_FIELDS))
async def export(request: Request, chat_id: str) -> Response:
    """Read a chat as a document: Markdown, or JSON with every stored fact."""
    await check_owner(request)
    wanted = parse_export(query_of(request, EXPORT_FIELDS))
    chat = await platform_of(request).chat(chat_id)
    if wanted.format == "json":
        return answer(shape_record(chat))
    written = export_chat(chat, full=wanted.full).encode(errors="backslashreplace")
    return Response(written, media_type="text/markdown; charset=utf-8")


@chat_router.patch("/{chat_id}", openapi_extra=body(TITLE_FIELDS))
async def rename_chat(request: Request, chat_id: str) -> Response:
    """Give a chat another name than its first words."""
    await check_owner(request)
    fields = await body_of(request)
    fields.only(*TITLE_FIELDS)
    return answer(shape_chat(await platform_of(request).change_chat(chat_id, title=fields.text("title"))))


@chat_router.post("/{chat_id}/stop", openapi_extra=query({}))
async def stop(request: Request, chat_id: str) -> Response:
    """Stop the turn that the chat runs, if it runs one."""
    await check_owner(request)
    query_of(request, {}).only()
    await platform_of(request).stop(chat_id)
    return answer({"chat_id": chat_id})


@chat_router.post("/{chat_id}/branch", status_code=201, openapi_extra=body(CUT_FIELDS))
async def branch(request: Request, chat_id: str) -> Response:
    """Copy a chat up to and with one of its turns into a new chat. Turns are copied whole."""
    await check_owner(request)
    return answer({"chat_id": await platform_of(request).branch(chat_id, await _turn_id(request))}, 201)


@chat_router.post("/{chat_id}/truncate", openapi_extra=body(CUT_FIELDS))
async def truncate(request: Request, chat_id: str) -> Response:
    """Remove every turn of a chat after one of them, for good."""
    await check_owner(request)
    return answer({"removed_turns": await platform_of(request).truncate(chat_id, await _turn_id(request))})


@chat_router.delete("/{chat_id}", openapi_extra=query({}))
async def delete_chat(request: Request, chat_id: str) -> Response:
    """Remove a chat with all that was said in it, for good."""
    await check_owner(request)
    query_of(request, {}).only()
    await platform_of(request).delete_chat(chat_id)
    return answer({"chat_id": chat_id})


async def _turn_id(request: Request) -> str:
    fields = await body_of(request)
    fields.only(*CUT_FIELDS)
    return fields.text("turn_id")
