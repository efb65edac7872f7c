"""A dialogue: what is said goes to the chat in view, and what happens there is shown as it happens."""

import asyncio
import logging
from collections.abc import Callable, Sequence
from contextlib import ExitStack, nullcontext
from functools import partial
from typing import Protocol

from rich.console import RenderableType
from rich.text import Text

from restante.bus.message import PERSON, Message
from restante.durable.says import NO_TURN
from restante.errors import NoTurn, RestanteError
from restante.running.feed import Event, TurnBegan, TurnEnded, Watch
from restante.running.platform import Platform, Said
from restante.running.transcript import TurnRecord
from restante.surface.addressing import Addressed, read_addressed
from restante.surface.cli.dialogue_questions import Questions
from restante.surface.cli.ending import ending
from restante.surface.cli.live import TurnView
from restante.surface.cli.message_line import SIGNS
from restante.surface.cli.usage import used_in_all
from restante.surface.leftovers import Leftovers
from restante.surface.visible import visible, visible_line
from restante.turn import GatedCall

WHOLE = ": /show {}"
"""How one sees all of a message that is cut, with its id."""
TITLE_LIMIT = 40
"""How much of the words that began a turn a notice shows, in characters."""

SHORT_ID = 13
"""How much of a chat's id is shown: `chat-` and eight digits."""

logger = logging.getLogger(__name__)


class Output(Protocol):
    """Where a dialogue is seen."""

    streams: bool
    """Texts are seen piece by piece."""
    attends: bool
    """Somebody is there who can be asked for a yes or a no."""

    def show(self, shown: RenderableType) -> None:
        """Print something, for good. What raises is logged, and the dialogue goes on."""
        ...

    def tell(self, shown: RenderableType) -> None:
        """The same for what is no part of a turn: refusals, notices, what was not delivered."""
        ...

    def echo(self, said: Text) -> None:
        """Print what the person said, if it is not to be seen anyway."""
        ...

    def refresh(self) -> None:
        """What may still change has changed."""
        ...


class Dialogue:
    """A person's dialogue, with one chat at a time in view. Turns of other chats go on, and tell when they end."""

    def __init__(self, platform: Platform, output: Output, group: asyncio.TaskGroup) -> None:
        self.platform = platform
        self.output = output
        self.chat_id: str | None = None
        """The chat in view. None: one that is made when something is said."""
        self.agent = platform.config.entry
        """Whom the chat in view is with."""
        self.listed: Sequence[str] = ()
        """The ids of the chats that were listed last, by which numbers name them."""
        self.view = self._new_view()
        self.unanswered = 0
        """How many turns have ended without an answer."""
        self.questions = Questions(self._asked)
        """The calls that wait for a yes or a no of the person."""
        self._group = group
        self._attending = ExitStack()
        self._attended: set[str] = set()
        self._watchers: dict[str, asyncio.Task[None]] = {}
        self._turns: dict[str, str] = {}
        """Turns that run or wait, with their chats."""
        self._news = asyncio.Event()
        self._echoed: set[str] = set()

    # What is said

    async def say(self, line: str) -> Said:
        """Say a line in the chat in view, to whom it is for. Raises what `Platform.say` does: nothing was stored."""
        words = read_addressed(line)
        if self.chat_id is None:
            if words.to is not None:
                raise NoTurn(NO_TURN)
            self.chat_id = await self.platform.create_chat(self.agent)
            await self._watch(self.chat_id, Watch(after=0))
        said = await self.platform.say(self.chat_id, words.text, words.to)
        self._turns.setdefault(said.turn_id, self.chat_id)
        if said.state == "queued" and said.message_id not in self._echoed:
            self._echo(said.message_id, words.text)
        if said.state == "undeliverable":
            self.output.tell(_missed(words))
        return said

    async def go_to(self, chat_id: str | None, agent: str | None = None) -> None:
        """Take another chat into view, or a new one. What the last turn of it was is shown again. Raises `NotFound`."""
        chat = None if chat_id is None else await self.platform.chat(chat_id)
        self.chat_id = chat_id
        self.agent = chat.agent if chat else agent or self.platform.config.entry
        self.view = self._new_view()
        if chat is not None:
            self._echoed.clear()
            await self._watch(chat.chat_id, Watch(back=1))
        self.output.refresh()

    async def stop(self) -> bool:
        """Stop the turn of the chat in view; whether there was one."""
        if self.chat_id is None or self.chat_id not in self._turns.values():
            return False
        await self.platform.stop(self.chat_id)
        return True

    # What goes on

    @property
    def works(self) -> bool:
        """Whether a turn of the chat in view runs or waits."""
        return self.chat_id is not None and self.chat_id in self._turns.values()

    @property
    def working_chats(self) -> list[str]:
        """The chats whose turns run or wait."""
        return list(dict.fromkeys(self._turns.values()))

    async def wait_for_end(self, turn_id: str) -> None:
        """Wait until a turn has ended and was shown."""
        while turn_id in self._turns:
            self._news.clear()
            await self._news.wait()

    async def stop_all(self) -> None:
        """Stop every turn, and wait until each has ended."""
        while self._turns:
            self._news.clear()  # before anything is waited for, so that no end is missed
            for chat_id in self.working_chats:
                # One that was taken but does not run yet is stopped as soon as something happens in it.
                await self.platform.stop(chat_id)
            await self._news.wait()

    async def follow_others(self) -> None:
        """Tell when turns end that were waiting in the store."""
        page = await self.platform.chats(limit=self.platform.config.limits.page_max)
        for each in page.chats:
            if each.running is not None or each.last_state == "queued":
                await self._watch(each.chat.chat_id, Watch())

    def close(self) -> None:
        """Nobody is there any more who could be asked."""
        self._attending.close()

    # Watching

    async def _watch(self, chat_id: str, how: Watch) -> None:
        """Watch a chat from some place on, and not any longer from where it was watched before."""
        if self.output.attends and chat_id not in self._attended:
            self._attended.add(chat_id)
            self._attending.enter_context(self.platform.attend(chat_id, partial(self.questions.ask, chat_id)))
        if chat_id in self._watchers:
            self._watchers.pop(chat_id).cancel()
        listening = asyncio.Event()
        self._watchers[chat_id] = self._group.create_task(self._follow(chat_id, how, listening.set))
        await listening.wait()

    async def _follow(self, chat_id: str, how: Watch, ready: Callable[[], None]) -> None:
        with self.platform.listen(chat_id) if self.output.streams else nullcontext() as heard:
            ready()
            watch = Watch(after=how.after, back=how.back, heard=heard)
            async for event in self.platform.watch_chat(chat_id, watch):
                self._take(chat_id, event)

    def _take(self, chat_id: str, event: Event) -> None:
        if isinstance(event, TurnBegan):
            self._turns.setdefault(event.turn_id, chat_id)
        if isinstance(event, TurnEnded):
            self._turns.pop(event.turn.turn_id, None)
            self.unanswered += event.turn.state != "ended_ok"
        try:
            if chat_id == self.chat_id:
                self._show(event)
            elif isinstance(event, TurnEnded):
                self.output.tell(_notice(chat_id, event.turn))
        except Exception:
            logger.exception("Something of %s could not be shown.", chat_id)
        self._news.set()

    def _show(self, event: Event) -> None:
        if isinstance(event, TurnBegan):
            self.view = self._new_view()
            for message in event.cause:
                self._show_cause(message)
        self.view.take(event)
        if isinstance(event, TurnEnded):
            for line in ending(event.turn):
                self.output.tell(Text(visible(line), "red" if line.startswith("Undelivered") else "yellow"))
            if used := used_in_all(event.turn.entries):
                self.output.tell(Text(used.in_words(), "dim"))
        self.output.refresh()

    def _asked(self, chat_id: str, call: GatedCall | None) -> None:
        """A call waits for a yes or a no, or one does not wait any more."""
        if call is not None and chat_id != self.chat_id:
            what = f"{call.address} wants to call {call.tool} and waits for your yes or no."
            self.output.tell(
                Text(visible_line(f"In {short(chat_id)} {what} /switch {short(chat_id)} shows it."), "yellow")
            )
        self.output.refresh()

    def _show_cause(self, message: Message) -> None:
        if message.sender != PERSON:
            self.output.show(Text(f"[message from {visible_line(message.sender)}] {visible(message.text)}", "bold"))
        elif message.message_id not in self._echoed:
            self._echo(message.message_id, message.text)

    def _echo(self, message_id: str, text: str) -> None:
        self._echoed.add(message_id)
        self.output.echo(Text("> ", "bold").append(visible(text), "bold cyan"))

    def _new_view(self) -> TurnView:
        return TurnView(self.output.show, WHOLE)


def _notice(chat_id: str, turn: TurnRecord) -> Text:
    """What is told of a turn that ended in a chat that is not in view."""
    began = visible_line(turn.cause[0].text, TITLE_LIMIT) if turn.cause else ""
    left = sum(1 for _ in Leftovers(turn).undelivered())
    messages = f"{left} message{'s were' if left > 1 else ' was'} not delivered" if left else ""
    what = ", and ".join(part for part in (_HOW.get(turn.state, turn.state), messages) if part)
    return Text(f"In {short(chat_id)} ({began}) {what}. /switch {short(chat_id)} shows it.", "yellow")


def _missed(words: Addressed) -> Text:
    """What is told of words that were stored for a run that was over before it could be offered them."""
    line = f"{SIGNS['undelivered']} undelivered: {PERSON} -> {words.to}, who reads no more: "
    return Text(f"{visible_line(line)}{visible_line(words.text, TITLE_LIMIT)}", "red")


def short(chat_id: str) -> str:
    """As much of an id as tells the chats of one store apart."""
    return chat_id[:SHORT_ID]


_HOW = {
    "ended_ok": "there is an answer",
    "ended_failed": "a turn has failed",
    "stopped": "a turn was stopped",
    "interrupted": "a turn was interrupted",
}


def refusal(error: RestanteError) -> Text:
    """An error as a person reads it."""
    known = f" You can name: {', '.join(error.candidates)}." if error.candidates else ""
    return Text(visible(f"{error.message}{known}"), "yellow")
