"""Platforms on which a team works under a policy: the cast of a turn, hosted."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from restante.bus.entry import JournalEntry
from restante.running.agents import Hosted
from restante.running.config import Config
from restante.running.platform import Clock, Platform, Transcript, open_platform
from restante.running.transcript import TurnRecord
from restante.testing import call, calls, says
from tests.turn.stage import Cast

WORK = (
    (
        calls(call("send_message", to="assistant", text="found # 42")),
        calls(call("send_message", to="assistant", text="and 43")),
        says("that is all"),
    ),
    (
        calls(call("spawn", agent="researcher", task="look")),
        calls(call("send_message", to="everyone", text="thanks")),
        says("It is 42."),
    ),
)
"""A worker writes to the entry agent twice while it works; then the entry agent writes to nobody."""


def hosted(cast: Cast) -> dict[str, Hosted]:
    """The cast as agents of a platform. The last delegates to the others."""
    *workers, entry = cast.agents
    delegates = {name: cast.agents[name] for name in workers}
    return {name: _hosted(cast, name, delegates if name == entry else {}) for name in cast.agents}


def _hosted(cast: Cast, name: str, delegates: dict[str, Any]) -> Hosted:
    return Hosted(
        name=name, description="", agent=cast.agents[name], delegates=delegates, rounds=None, free_text_ask=True
    )


@asynccontextmanager
async def playing(folder: Path, cast: Cast, clock: Clock | None = None) -> AsyncGenerator[Platform]:
    """A platform on which persons talk to the last of the cast."""
    config = Config(policy=cast.policy, entry=cast.entry, agents={})
    async with open_platform(config, hosted(cast), folder / "store.db", clock=clock) as platform:
        yield platform


async def say(platform: Platform, chat_id: str, text: str) -> TurnRecord:
    """The turn that these words begin, once it and all others of the chat have ended."""
    said = await platform.say(chat_id, text)
    return next(turn for turn in (await ended(platform, chat_id)).turns if turn.turn_id == said.turn_id)


async def ended(platform: Platform, chat_id: str) -> Transcript:
    """The chat, once it has nothing left to run."""
    await watched(platform, chat_id)
    return await platform.chat(chat_id)


async def watched(platform: Platform, chat_id: str) -> list[JournalEntry]:
    """What whoever watches the chat sees until it has nothing left to run."""
    return [entry async for entry in platform.watch(chat_id)]
