"""`restante demo`: real messages between scripted agents, and what becomes of each. It needs no key and no network."""

import asyncio
import json
from collections.abc import Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from urllib.parse import urlsplit

from rich.console import Console
from rich.markup import escape

from restante.bus.policy import BusPolicy
from restante.client import Client
from restante.running.platform import Platform, open_platform
from restante.surface.cli.demo_books import Books
from restante.surface.cli.demo_cast import CLERK, Sleep, cast_of, config_of
from restante.surface.cli.live import LiveView
from restante.surface.http.serve import running_server
from restante.surface.leftovers import Leftovers

QUESTION = "Where is parcel 17?"
CLIENT = "shop"


def demo(classic: bool) -> None:  # noqa: FBT001 - the one thing one can choose
    """Play the scenes on the terminal, paced for the eye."""
    policy = BusPolicy.classic() if classic else BusPolicy()
    asyncio.run(play(policy, Console(highlight=False)))


async def play(policy: BusPolicy, console: Console, sleep: Sleep = asyncio.sleep) -> Books:
    """Play the scenes, waiting by `sleep`; the books that the table at the end shows."""
    real = "scripted models; the bus, the turns, the store and the server are real"
    console.print(f"[bold]restante demo[/]: {real} (policy {policy.name}).\n", soft_wrap=True)
    with TemporaryDirectory(prefix="restante-") as folder:
        async with open_platform(config_of(policy), cast_of(sleep), Path(folder) / "store.db") as platform:
            scenes = Scenes(platform, console, sleep)
            await scenes.two_at_once()
            await scenes.thanks_too_late()
            await scenes.redirect()
            await scenes.lost_answer()
            scenes.close()
            return scenes.books


class Scenes:
    """The scenes, one after another, on one platform."""

    def __init__(self, platform: Platform, console: Console, sleep: Sleep) -> None:
        self.books = Books()
        self._platform = platform
        self._console = console
        self._sleep = sleep

    async def two_at_once(self) -> None:
        """Two workers at the same time, and a message between their rounds."""
        self._title(1, "Two researchers work at once. One tells everyone; the other reads it between two rounds.")
        await self._turn("What is the answer?")

    async def thanks_too_late(self) -> None:
        """A message to somebody who has gone, and one that nobody comes to read."""
        title = "A researcher has finished. Its orchestrator thanks it, and asks around: elsewhere, both are “sent”."
        self._title(2, title)
        await self._turn("Name three citrus fruits.")

    async def redirect(self) -> None:
        """Two background workers: one asks whoever waits for it, the other is told to do something else."""
        title = "An orchestrator waits for two workers. One asks it something; it answers, and redirects the other."
        self._title(3, title)
        await self._turn("How old is this map, and whose is it?")

    async def lost_answer(self) -> None:
        """A client whose connection breaks at the worst moment, and an agent that answers when it likes."""
        self._title(4, "A client writes to a hosted agent over HTTP. The connection breaks before the receipt arrives.")
        token = (await self._platform.create_token(CLIENT)).token
        async with running_server(self._platform) as url:
            await _send_and_hang_up(url, token)
            self._say(f"POST /v1/messages {QUESTION!r} ... connection lost. Was it stored?")
            with Client(url, token) as client:
                receipt = await asyncio.to_thread(client.send, QUESTION, target=CLERK, submission_id="parcel-17")
                replayed = json.dumps(receipt["replayed"])
                self._say(
                    f"POST it again, same submission_id ... 202, replayed: {replayed}: it is stored, and only once."
                )
                self._say("GET /v1/inboxes/…/messages?wait_seconds=25 ... waiting")
                page = await asyncio.to_thread(client.wait, receipt["inbox_id"], seconds=25)
                await self._settle(client, receipt, page)

    async def _settle(self, client: Client, receipt: Mapping[str, Any], page: Mapping[str, Any]) -> None:
        for message in page["messages"]:
            words = f"{message['sender']} -> {CLIENT}: {message['message']}"
            self._say(f"{escape(words)}  [green]✓ the waiting read returns[/]")
        state = await asyncio.to_thread(self._state, client, receipt["message_id"])
        if state.startswith(("read", "ended")):
            self.books.add_read(CLIENT, CLERK, QUESTION, "its call returned")
        for message in page["messages"]:
            self.books.add_read(message["sender"], CLIENT, message["message"], "read by the client")
        self._console.print()

    def close(self) -> None:
        """The table with the books, and how to go on."""
        self._title(5, "What became of every message, for each address; what was refused was never accepted:")
        self._console.print(self.books.table(self._console.width))
        self._console.print(f"[bold]{self.books.sentence()}[/]\n")
        self._say('Your model:  restante init && restante run "What is new?"    (restante.toml names the model)')
        self._say('Your agents: agent.run(prompt, capabilities=[Mailbox(bus, "researcher")])    (see the README)')

    async def _turn(self, words: str) -> None:
        chat_id = await self._platform.create_chat()
        await self._platform.say(chat_id, words)
        self._say(f"[bold]you[/]: {words}")
        with LiveView(self._console) as view:
            async for entry in self._platform.watch(chat_id):
                view.take(entry)
        (turn,) = (await self._platform.transcript(chat_id)).turns
        for sentence in Leftovers(turn).sentences():
            self._say(f"[red]{escape(sentence)}[/]")
        self._console.print()
        self.books.add_turn(turn.entries)

    def _state(self, client: Client, message_id: str) -> str:
        (found,) = client.states(message_id=message_id)["states"]
        return str(found["state"])

    def _title(self, number: int, title: str) -> None:
        self._console.print(f"[bold cyan]{number}[/]  {title}", soft_wrap=True)

    def _say(self, line: str) -> None:
        self._console.print(line, soft_wrap=True)


async def _send_and_hang_up(url: str, token: str) -> None:
    """Send a message, wait until the server has begun to answer, and leave without reading what."""
    address = urlsplit(url)
    body = json.dumps({"target": CLERK, "message": QUESTION, "submission_id": "parcel-17"}).encode()
    reader, writer = await asyncio.open_connection(address.hostname, address.port)
    head = (
        f"POST /v1/messages HTTP/1.1\r\nHost: {address.netloc}\r\nAuthorization: Bearer {token}\r\n"
        f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
    )
    writer.write(head.encode() + body)
    await reader.read(1)
    writer.close()
    await writer.wait_closed()
