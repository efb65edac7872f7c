"""One turn, seen live, loaded again, exported and through the API: four times the same messages and fates."""

import asyncio
import json
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import httpx2
import pytest

from restante.bus import BusPolicy
from restante.bus.fates import IN_WORDS
from restante.running.platform import Platform
from restante.running.stored import OWNER
from restante.surface.http.serve import running_server
from restante.testing import call, calls, says
from tests.bus.policies import both
from tests.running.platforms import until
from tests.running.teams import playing, watched
from tests.surface.terminal import restante_process
from tests.turn.stage import Cast, sends, spawns, waits

pytestmark = [pytest.mark.anyio, pytest.mark.timeout(120)]

Entry = Mapping[str, Any]
_UNDELIVERED = re.compile(r"(\S+) -> (\S+)(?: \([^)]*\))?: (.*?) \(")
THANKS = [call("send_message", to=to, text="thanks") for to in ("everyone", "researcher#1")]


class Seen(NamedTuple):
    """What a view says of a turn."""

    messages: list[tuple[object, ...]]
    fates: list[tuple[object, ...]]


def seen(entries: Iterable[Entry]) -> Seen:
    """Every message and fate in a list of entries as JSON has them."""
    listed = list(entries)
    messages = [one["facts"] for one in listed if one["kind"] == "message"]
    fates = [one["facts"] for one in listed if one["kind"] == "fate"]
    return Seen(
        [tuple(one[name] for name in ("message_id", "sequence", "sender", "origin", "to", "text")) for one in messages],
        [tuple(one[name] for name in ("message_id", "address", "state", "reason", "call", "obliged")) for one in fates],
    )


class Told(NamedTuple):
    """What a person reads of it."""

    delivered: list[str]
    undelivered: list[tuple[str, str, str, str]]
    """Sender, selector, text and reason."""
    carried: list[str]


def told(document: str) -> Told:
    """What the Markdown says of messages."""
    lines = [(_UNDELIVERED.match(line), line) for line in _signed(document, "Undelivered")]
    return Told(
        sorted(_signed(document, "Message (mid-turn)")),
        [(found[1], found[2], found[3], _reason(line)) for found, line in lines if found],
        _signed(document, "Not read, and so the next turn"),
    )


def _signed(document: str, sign: str) -> list[str]:
    return re.findall(rf"(?m)^(?:> )*\*\*{re.escape(sign)}:\*\* (.*)$", document)


def _reason(line: str) -> str:
    return next((reason for reason, words in IN_WORDS.items() if words in line), "never_drained")


def expected(facts: Seen) -> Told:
    """The same from the entries. A reading has the address of its run."""
    by_id = {message[0]: message for message in facts.messages}
    found = Told([], [], [])
    for message_id, address, state, reason, *_ in facts.fates:
        _, _, sender, origin, to, text = (str(fact) for fact in by_id[message_id])
        if state == "undelivered":
            found.undelivered.append((sender, to, text, str(reason)))
        elif state == "carried":
            found.carried.append(text)
        elif address is not None:
            found.delivered.append(text if origin == "person" else f"[message from {sender}] {text}")
    return found._replace(delivered=sorted(found.delivered))


@pytest.mark.rows("T312")
@both
async def test_live_loaded_exported_and_through_the_api_a_turn_has_the_same_messages_and_fates(
    tmp_path: Path, policy: BusPolicy
) -> None:
    cast = Cast(
        policy,
        researcher=(sends("assistant", "found 42"), waits("typed"), says("42")),
        # By default the second is refused; under classic the first comes back to its sender.
        assistant=(spawns("researcher"), calls(*THANKS), says("It is 42.")),
    )
    async with playing(tmp_path, cast) as platform, running_server(platform) as url:
        chat_id = await platform.create_chat()
        await platform.say(chat_id, "go")
        async with asyncio.TaskGroup() as group:
            watching = group.create_task(watched(platform, chat_id))
            await until(lambda: len(cast.prompts("researcher")) == 2)
            await platform.say(chat_id, "and the cache")
            await cast.open("typed")
        live = seen(entry._asdict() for entry in watching.result())
        (turn,) = (await platform.chat(chat_id)).turns
        through_api = await _through_api(platform, url, chat_id)
        store = str(tmp_path / "store.db")
        exports = [
            await asyncio.to_thread(restante_process, "export", chat_id, "--store", store, *options, folder=tmp_path)
            for options in (["--json"], ["--full"])
        ]

    assert {fate[2] for fate in live.fates} == {"delivered", "undelivered"}
    assert seen(entry._asdict() for entry in turn.entries) == live
    assert seen(through_api["turns"][0]["entries"]) == live
    assert json.loads(exports[0].out) == through_api
    assert told(exports[1].out) == expected(live)
    assert expected(live).undelivered


async def _through_api(platform: Platform, url: str, chat_id: str) -> dict[str, Any]:
    headers = {"Authorization": f"Bearer {(await platform.create_token(OWNER)).token}"}
    async with httpx2.AsyncClient(base_url=url, headers=headers, timeout=40, trust_env=False) as http:
        return (await http.get(f"/v1/chats/{chat_id}")).json()
