"""A process that dies in the middle of a turn, at one moment: `python -m tests.kills.dying FOLDER POLICY CASE`."""

import asyncio
import os
import signal
import sqlite3
import sys
from collections.abc import Awaitable, Callable
from contextlib import closing
from pathlib import Path

from restante.bus import BusPolicy
from restante.running.platform import Platform
from restante.testing import ScriptedModel, call, calls, says
from tests.running.platforms import until
from tests.running.teams import playing
from tests.turn.stage import Cast

POLICIES = {policy.name: policy for policy in (BusPolicy(), BusPolicy.classic())}


def die() -> None:
    """Nothing that is not on the disk by now gets there."""
    os.kill(os.getpid(), signal.SIGKILL)


class Dying:
    """A platform on which a person has said something, and the places where it dies."""

    def __init__(self, folder: Path, policy: BusPolicy) -> None:
        self.folder = folder
        self.policy = policy

    async def not_offered(self) -> None:
        """Right after the commit of words that the turn has not been offered yet."""
        cast = Cast(self.policy, assistant=(calls(call("wait_at", gate="never")),))
        async with playing(self.folder, cast) as platform:
            chat_id = await self._begin(platform, cast)
            await platform.say(chat_id, "one")
            platform._signals.add(lambda _: die())
            await platform.say(chat_id, "two")

    async def waiting(self) -> None:
        """While words wait for the next boundary of the entry run."""
        cast = Cast(self.policy, assistant=(calls(call("wait_at", gate="never")),))
        async with playing(self.folder, cast) as platform:
            chat_id = await self._begin(platform, cast)
            await platform.say(chat_id, "one")
            await platform.say(chat_id, "two")
            die()

    async def claimed(self) -> None:
        """Inside the call that carries the words, after more were said."""

        async def in_call(_: float) -> None:
            await platform.say(chat_id, "two")
            die()

        model = ScriptedModel(calls(call("wait_at", gate="go")), says("never", seconds=1), sleep=in_call)
        cast = Cast(self.policy, assistant=model)
        async with playing(self.folder, cast) as platform:
            chat_id = await self._begin(platform, cast)
            await platform.say(chat_id, "one")
            await cast.open("go")
            await asyncio.Event().wait()

    async def third_round(self) -> None:
        """Inside the third call of a run, which carries a message, while another and words of the person wait."""

        async def in_call(_: float) -> None:
            await until(lambda: self._stored("round", "researcher#1") == 3)
            die()

        researcher = ScriptedModel(
            calls(call("send_message", to="writer", text="hello")),
            calls(call("wait_at", gate="two")),
            says("never", seconds=1),
            sleep=in_call,
        )
        writer = (
            calls(call("wait_at", gate="one")),
            calls(
                call("send_message", to="researcher", text="claimed"),
                call("send_message", to="assistant", text="waits"),
            ),
            calls(call("wait_at", gate="never")),
        )
        both = calls(call("spawn", agent="researcher", task="look"), call("spawn", agent="writer", task="write"))
        cast = Cast(self.policy, researcher=researcher, writer=writer, assistant=(both,))
        async with playing(self.folder, cast) as platform:
            chat_id = await self._begin(platform, cast)
            await until(lambda: self._stored("tool_call", "researcher#1") == 2)
            await until(lambda: self._stored("tool_call", "writer#1") == 1)
            await cast.open("one")
            await until(lambda: self._stored("round", "writer#1") == 3)
            await platform.say(chat_id, "typed")
            await cast.open("two")
            await asyncio.Event().wait()

    async def _begin(self, platform: Platform, cast: Cast) -> str:
        chat_id = await platform.create_chat()
        await platform.say(chat_id, "go")
        await until(lambda: cast.prompts("assistant") and self._stored("tool_call", "assistant"))
        return chat_id

    def _stored(self, kind: str, address: str) -> int:
        """How many such entries of the journal are on the disk."""
        with closing(sqlite3.connect(self.folder / "store.db")) as store:
            query = "SELECT COUNT(*) FROM journal WHERE kind = ? AND address = ?"
            return store.execute(query, (kind, address)).fetchone()[0]


def main(folder: str, policy: str, case: str) -> None:
    dying = Dying(Path(folder), POLICIES[policy])
    play: Callable[[], Awaitable[None]] = getattr(dying, case)
    asyncio.run(asyncio.wait_for(play(), 60))


if __name__ == "__main__":
    main(*sys.argv[1:])
