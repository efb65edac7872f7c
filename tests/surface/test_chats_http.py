"""The HTTP routes for chats, over real sockets: the owner of the store keeps them, and nobody else sees them."""

from collections.abc import AsyncGenerator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx2
import pytest

from restante.bus import BusPolicy
from restante.running.platform import Platform
from restante.running.stored import OWNER
from restante.surface.export import export_chat
from restante.surface.http.serve import running_server
from restante.testing import call, calls, says
from tests.running.platforms import until
from tests.running.teams import ended, playing, say
from tests.turn.stage import Cast

pytestmark = [pytest.mark.anyio, pytest.mark.timeout(60)]


@dataclass
class Door:
    """A server, the token of its owner, and a client that uses it."""

    platform: Platform
    cast: Cast
    http: httpx2.AsyncClient

    async def get(self, path: str, **query: Any) -> dict[str, Any]:
        answer = await self.http.get(path, params=query)
        assert answer.status_code == 200, answer.text
        return answer.json()


@pytest.fixture
async def door(tmp_path: Path) -> AsyncGenerator[Door]:
    cast = Cast(BusPolicy(), assistant=(calls(call("wait_at", gate="end")), says("yes")))
    async with playing(tmp_path, cast) as platform, running_server(platform) as url:
        headers = {"Authorization": f"Bearer {(await platform.create_token(OWNER)).token}"}
        async with httpx2.AsyncClient(base_url=url, headers=headers, timeout=40, trust_env=False) as http:
            yield Door(platform, cast, http)


async def _chat(door: Door, *texts: str) -> str:
    await door.cast.open("end")
    chat_id = await door.platform.create_chat()
    for text in texts:
        await say(door.platform, chat_id, text)
    return chat_id


async def test_the_owner_lists_searches_reads_and_renames_chats(door: Door) -> None:
    chat_id = await _chat(door, "one", "two words")

    listed = await door.get("/v1/chats", limit=1)
    found = await door.get("/v1/chats/search", q="TWO")
    record = await door.get(f"/v1/chats/{chat_id}")
    renamed = await door.http.patch(f"/v1/chats/{chat_id}", json={"title": "Numbers"})

    (chat,) = listed["chats"]
    assert (chat["chat_id"], chat["agent"], chat["title"], chat["turns"], chat["running"]) == (
        chat_id,
        "assistant",
        "one",
        2,
        None,
    )
    assert [(hit["chat_id"], hit["turn"], hit["excerpt"]) for hit in found["hits"]] == [(chat_id, 2, "two words")]
    assert [turn["cause"][0]["text"] for turn in record["turns"]] == ["one", "two words"]
    assert (renamed.status_code, renamed.json()["title"]) == (200, "Numbers")
    for agent, count in (("assistant", 1), (chat["agent_id"], 1), ("nobody", 0)):
        assert len((await door.get("/v1/chats", agent_id=agent))["chats"]) == count


async def test_an_export_is_what_the_command_writes(door: Door) -> None:
    chat_id = await _chat(door, "x" * 3_000)
    chat = await door.platform.chat(chat_id)

    brief = await door.http.get(f"/v1/chats/{chat_id}/export")
    full = await door.http.get(f"/v1/chats/{chat_id}/export", params={"full": "true"})

    assert (brief.headers["content-type"], brief.text) == ("text/markdown; charset=utf-8", export_chat(chat))
    assert full.text == export_chat(chat, full=True) != brief.text
    as_json = await door.get(f"/v1/chats/{chat_id}/export", format="json")
    assert as_json == await door.get(f"/v1/chats/{chat_id}")
    refused = await door.http.get(f"/v1/chats/{chat_id}/export", params={"full": "yes"})
    assert (refused.status_code, refused.json()["error"]["field"]) == (400, "full")


async def test_the_owner_branches_truncates_and_deletes(door: Door) -> None:
    chat_id = await _chat(door, "one", "two")
    first, _ = (turn["turn_id"] for turn in (await door.get(f"/v1/chats/{chat_id}"))["turns"])

    branched = await door.http.post(f"/v1/chats/{chat_id}/branch", json={"turn_id": first})
    truncated = await door.http.post(f"/v1/chats/{chat_id}/truncate", json={"turn_id": first})
    deleted = await door.http.delete(f"/v1/chats/{chat_id}")

    assert (branched.status_code, truncated.json(), deleted.status_code) == (201, {"removed_turns": 1}, 200)
    assert len((await door.get(f"/v1/chats/{branched.json()['chat_id']}"))["turns"]) == 1
    assert (await door.http.get(f"/v1/chats/{chat_id}")).status_code == 404


async def test_a_turn_that_runs_is_stopped_and_keeps_its_chat_from_being_cut(door: Door) -> None:
    chat_id = await door.platform.create_chat()
    said = await door.platform.say(chat_id, "go")
    await until(lambda: door.cast.prompts("assistant"))

    cut = await door.http.post(f"/v1/chats/{chat_id}/truncate", json={"turn_id": said.turn_id})
    deleted = await door.http.delete(f"/v1/chats/{chat_id}")
    stopped = await door.http.post(f"/v1/chats/{chat_id}/stop")

    for refused in (cut, deleted):
        assert (refused.status_code, refused.json()["error"]["code"]) == (409, "turn_running")
    assert stopped.status_code == 200
    assert (await ended(door.platform, chat_id)).turns[0].state == "stopped"


async def test_a_token_that_is_not_the_owners_opens_no_chat(door: Door) -> None:
    chat_id = await _chat(door, "one")
    other = {"Authorization": f"Bearer {(await door.platform.create_token('ci')).token}"}
    path, turn = f"/v1/chats/{chat_id}", {"turn_id": "turn-1"}

    answers = [
        await door.http.get("/v1/chats", headers=other),
        await door.http.get("/v1/chats/search", params={"q": "one"}, headers=other),
        await door.http.get(path, headers=other),
        await door.http.get(f"{path}/export", headers=other),
        await door.http.patch(path, json={"title": "x"}, headers=other),
        await door.http.post(f"{path}/stop", headers=other),
        await door.http.post(f"{path}/branch", json=turn, headers=other),
        await door.http.post(f"{path}/truncate", json=turn, headers=other),
        await door.http.delete(path, headers=other),
    ]

    assert {(answer.status_code, answer.json()["error"]["code"]) for answer in answers} == {(403, "insufficient_scope")}
    assert (await door.platform.chat(chat_id)).title == "one"


async def test_unknown_fields_and_values_are_refused_by_name(door: Door) -> None:
    chat_id = await _chat(door, "one")

    for answer, field in (
        (await door.http.get("/v1/chats", params={"state": "open"}), "state"),
        (await door.http.get("/v1/chats", params={"limit": "0"}), "limit"),
        (await door.http.get("/v1/chats/search", params={"q": " "}), "q"),
        (await door.http.get("/v1/chats/search"), "q"),
        (await door.http.patch(f"/v1/chats/{chat_id}", json={"title": "x" * 201}), "title"),
        (await door.http.post(f"/v1/chats/{chat_id}/branch", json={"turn_id": "msg-1"}), "turn_id"),
        (await door.http.post(f"/v1/chats/{chat_id}/branch", json={}), "turn_id"),
        (await door.http.delete(f"/v1/chats/{chat_id}", params={"force": "1"}), "force"),
    ):
        assert (answer.status_code, answer.json()["error"]["field"]) == (400, field)
