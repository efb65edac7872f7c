"""The platform: one async method for each use case, the same behind every door."""

import logging
from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from contextlib import AbstractContextManager, asynccontextmanager, suppress
from pathlib import Path

from restante.bus.entry import JournalEntry
from restante.bus.roster import Line
from restante.durable import agents as hosted_agents
from restante.durable import (
    chat_pages,
    chats,
    cursors,
    cuts,
    deletions,
    fates,
    pages,
    principals,
    recipients,
    says,
    searches,
    sends,
)
from restante.durable.callers import Caller
from restante.durable.chat_pages import ChatInList, ChatPage
from restante.durable.chats import Chat
from restante.durable.cuts import Cut
from restante.durable.db.database import Committed, Transaction
from restante.durable.db.lock import StoreLock, lock_store
from restante.durable.db.sqlite import open_sqlite
from restante.durable.fates import StatesRequest
from restante.durable.pages import Page, ReadRequest
from restante.durable.principals import NewToken
from restante.durable.recipients import Target
from restante.durable.searches import Hit, HitPage
from restante.durable.sends import Receipt, SendRequest
from restante.durable.topics import chat_topic, inbox_topic, mail_topic
from restante.errors import ShuttingDown, StoreUnavailable, TurnRunning
from restante.running.agents import Hosted, build_reviewer
from restante.running.attending import Attending
from restante.running.clock import Clock, SystemClock, now_ms
from restante.running.config import Config
from restante.running.dispatcher import Dispatcher
from restante.running.feed import Event, Feed, Happened, Watch
from restante.running.live import Live
from restante.running.pieces import Heard, Pieces
from restante.running.player import Engine
from restante.running.recovery import interrupt_all
from restante.running.sessions import Sessions
from restante.running.signals import Signals
from restante.running.tasks import owning_group
from restante.running.transcript import Said, Transcript, read_transcript
from restante.running.waiters import Waiters
from restante.texts import check_text
from restante.turn.approval import AskPerson

__all__ = [
    "Caller", "Chat", "ChatInList", "ChatPage", "Clock", "Cut", "Hit", "HitPage", "NewToken", "Page", "Platform",
    "ReadRequest", "Receipt", "Said", "SendRequest", "StatesRequest", "Target", "Transcript", "open_platform",
]  # fmt: skip

logger = logging.getLogger(__name__)

FALLBACK_CHECK_S = 1.0
"""Seconds between looks for a lost signal: one query for each process, however many wait."""


class Platform:
    """What the doors call. Make one with `open_platform`. Any method raises `StoreUnavailable`."""

    def __init__(self, engine: Engine, signals: Signals, lock: StoreLock) -> None:
        self.config = engine.config
        self._engine = engine
        self._database = engine.database
        self._signals = signals
        self._waiters = Waiters(engine.group, engine.clock)
        self._lock = lock
        self._sessions = Sessions(engine.database)
        self._feed = Feed(engine.database, self._waiters)
        self._dispatcher = Dispatcher(engine)
        self._stopping = False

    # Principals

    async def authenticate(self, token: str) -> Caller:
        """Whose token this is. Raises `Unauthorized`."""
        return await self._sessions.caller_of(token)

    async def create_token(self, label: str) -> NewToken:
        """A token for the principal with this label, which is made if need be. Raises `BadLabel`."""
        at = self._now_ms()
        return await self._database.write(lambda tx: principals.create_token(tx, label, at))

    async def revoke_token(self, token_id: str) -> None:
        """From now on it opens nothing. Raises `NotFound`."""
        at = self._now_ms()
        await self._database.write(lambda tx: principals.revoke_token(tx, token_id, at))

    # Messages

    async def send(self, caller: Caller, request: SendRequest) -> Receipt:
        """Store a message; the receipt says that it is stored and no more. Raises what `sends` refuses."""
        self._check_open()
        rules = self._engine.send_rules()
        sends.check_send(request, rules)
        return await self._database.write(lambda tx: sends.accept(tx, caller, request, rules))

    async def read(self, caller: Caller, request: ReadRequest) -> Page:
        """A page of one inbox or of the whole mail, at once or as soon as there is something.

        Raises `InvalidArguments` and `NotFound`.
        """
        limits = self.config.limits
        pages.check_paging(request.after, request.limit, limits.page_max)
        pages.check_range("wait_seconds", request.wait_seconds, (0, limits.wait_seconds_max))
        topic = mail_topic(caller.id) if request.inbox_id is None else inbox_topic(request.inbox_id)
        return await self._waiters.wait_for(
            topic,
            lambda: self._database.read(lambda tx: pages.read_page(tx, caller, request)),
            lambda page: bool(page.messages) or page.cursor_reset_reason is not None,
            request.wait_seconds,
        )

    async def states(self, caller: Caller, request: StatesRequest) -> fates.States:
        """How far the caller's own sends have come. Raises `InvalidArguments` and `NotFound`."""
        pages.check_paging(request.after, request.limit, self.config.limits.page_max)
        at = self._now_ms()
        return await self._database.read(lambda tx: fates.read_states(tx, caller, request, at))

    async def targets(self, caller: Caller) -> list[Target]:
        """Whom the caller may write to."""
        del caller  # everyone may write to every hosted agent, for now
        at = self._now_ms()
        return await self._database.read(lambda tx: recipients.list_targets(tx, at))

    # A person's words

    async def create_chat(self, agent: str | None = None, *, title: str | None = None) -> str:
        """A new chat with the agent of that name, or with the entry agent; its id.

        Raises `NotFound`, and `InvalidArguments` for a title that cannot be.
        """
        name, at = agent or self.config.entry, self._now_ms()

        def change(tx: Transaction) -> str:
            return chats.create_chat(tx, hosted_agents.get_target(tx, name).agent_id, at, title=title)

        return await self._database.write(change)

    async def say(self, chat_id: str, text: str, to: str | None = None) -> Said:
        """Store a person's words; they join the turn that runs, or become the next one. Raises `NotFound`.

        `to` is an address or a label of the turn that runs: then they are for these runs alone, and refused as an agent
        would be where they match nobody (`NoTurn`, `NotFound`, `RecipientFinished`, `InvalidArguments`).
        """
        self._check_open()
        check_text(text, self.config.limits.text_max, field="message", limit_name="text_max")
        at = self._now_ms()
        if to is not None:
            self._engine.live.check(chat_id, text, to)
        said = await self._database.write(lambda tx: says.say(tx, chat_id, text, at, to))
        state = said.state if await self._engine.offer(chat_id, said) else "undeliverable"
        return Said(message_id=said.message_id, sequence=said.sequence, turn_id=said.turn_id, state=state)

    def watch_chat(self, chat_id: str, how: Watch | None = None) -> AsyncIterator[Event]:
        """What happens in a chat, once and in order: beginnings and ends of turns, their entries, pieces of texts.

        Ends, too, when the process is to stop. Raises `NotFound`.
        """
        return self._feed.watch(chat_id, how or Watch())

    def listen(self, chat_id: str) -> AbstractContextManager[Heard]:
        """Within the block, models of turns that begin in this chat are streamed: `Watch.heard` is for what this gives.

        What is heard are pieces of texts as they come; they are not stored, and the whole texts are entries.
        """
        return self._engine.pieces.listen(chat_id)

    def attend(self, chat_id: str, ask: AskPerson) -> AbstractContextManager[None]:
        """Within the block, gated calls of the chat's turns are asked here. Where nobody attends, they are refused."""
        return self._engine.attending.attend(chat_id, ask)

    async def watch(self, chat_id: str, *, after: int = 0) -> AsyncGenerator[JournalEntry]:
        """The entries of a chat's turns alone, from the sequence `after` on; ends when no turn runs or waits."""
        async for event in self.watch_chat(chat_id, Watch(after=after, until_idle=True)):
            if isinstance(event, Happened):
                yield event.entry

    async def roster(self, chat_id: str) -> tuple[Line, ...]:
        """Who has opened a reader in the turn that runs, as `list_agents` gives it. Raises `NotFound` and `NoTurn`."""
        await self._database.read(lambda tx: chats.get_chat(tx, chat_id))
        return self._engine.live.roster(chat_id)

    async def stop(self, chat_id: str) -> None:
        """Stop the turn that the chat runs, if it runs one. Raises `NotFound`."""
        await self._database.read(lambda tx: chats.get_chat(tx, chat_id))
        self._engine.live.stop(chat_id)

    # Chats as they are kept

    async def chats(self, *, agent: str | None = None, after: int = 0, limit: int | None = None) -> ChatPage:
        """A page of the chats, of the agent with that name or id or of all: that of the latest activity first.

        `after` is the `next_cursor` of the page before. Raises `InvalidArguments`.
        """
        count = self._page_size(after, limit)
        return await self._database.read(lambda tx: chat_pages.list_chats(tx, agent=agent, after=after, limit=count))

    async def search_chats(self, q: str, *, after: int = 0, limit: int | None = None) -> HitPage:
        """A page of the words of persons that hold `q` as it stands, the newest first. Nobody else's are searched.

        `after` is the `next_cursor` of the page before. Raises `InvalidArguments`.
        """
        count = self._page_size(after, limit)
        return await self._database.read(lambda tx: searches.search(tx, q, after=after, limit=count))

    async def chat(self, chat_id: str) -> Transcript:
        """All turns of a chat with their journals. Raises `NotFound`."""
        return await self.transcript(chat_id)

    async def transcript(self, chat_id: str | None = None) -> Transcript:
        """The same; None: of the chat that was made last. Raises `NotFound`."""
        return await self._database.read(lambda tx: read_transcript(tx, chat_id))

    async def change_chat(self, chat_id: str, *, title: str) -> Chat:
        """Name a chat; how it is now. Raises `NotFound` and `InvalidArguments`."""
        return await self._database.write(lambda tx: chats.rename(tx, chat_id, title))

    async def cuts(self, chat_id: str) -> list[Cut]:
        """The places where a chat can be cut, in order: after each turn that has ended. Raises `NotFound`."""
        return await self._database.read(lambda tx: cuts.list_cuts(tx, chat_id))

    async def branch(self, chat_id: str, turn_id: str) -> str:
        """A new chat with whole copies of all turns up to and with that one; its id.

        Raises `NotFound`, `TurnRunning`, and `InvalidArguments` where the chat cannot be cut.
        """
        at = self._now_ms()
        return await self._database.write(lambda tx: cuts.branch(tx, chat_id, turn_id, at))

    async def truncate(self, chat_id: str, turn_id: str) -> int:
        """Drop every turn of a chat after that one, those that wait as well; how many there were.

        Raises what `branch` does.
        """
        return await self._database.write(lambda tx: cuts.truncate(tx, chat_id, turn_id))

    async def delete_chat(self, chat_id: str) -> None:
        """Remove a chat with all that was said in it. If its last turn is over and being stored, wait for that.

        Raises `NotFound`, `TurnRunning`, and `InvalidArguments` for a chat in which an agent answers messages.
        """
        with self._waiters.park([chat_topic(chat_id)]) as bell:
            while True:
                try:
                    return await self._database.write(lambda tx: deletions.delete_chat(tx, chat_id))
                except TurnRunning:
                    if self._engine.live.runs(chat_id) or self._waiters.released:
                        raise
                await bell.wait()

    # The process

    async def start(self) -> None:
        """Run what waits, and look for lost signals, for as long as the platform is open."""
        self._signals.add(self._heard)
        self._engine.group.create_task(self._dispatcher.run())
        self._engine.group.create_task(self._check())
        await self._dispatcher.look_again()

    def announce(self, address: str) -> None:
        """Write into the lock file where this process serves."""
        self._lock.announce(address)

    @property
    def waiting(self) -> int:
        """How many reads and watchers wait at this moment."""
        return self._waiters.parked

    async def check_health(self) -> None:
        """Raise unless the store can be read."""
        await self._database.read(cursors.newest_sequence)

    def prepare_to_stop(self) -> None:
        """An orderly stop begins: whoever waits is answered now, and nothing new is accepted."""
        self._stopping = True
        self._waiters.release()

    def _heard(self, committed: Committed) -> None:
        self._sessions.heard(committed)
        self._waiters.heard(committed)
        self._dispatcher.heard(committed)

    async def _check(self) -> None:
        """Look for lost signals, once for everyone who waits."""
        while True:
            await self._engine.clock.sleep(FALLBACK_CHECK_S)
            try:
                newest = await self._database.read(cursors.newest_sequence)
                if newest > self._waiters.newest:
                    self._waiters.newest = newest
                    self._waiters.ring_all()
                    await self._dispatcher.look_again()
            except StoreUnavailable as error:
                logger.warning("The store cannot be read: %s", error.message)

    def _check_open(self) -> None:
        if self._stopping:
            raise ShuttingDown("The server is stopping. Send the same again, with the same submission_id, in a moment.")

    def _page_size(self, after: int, limit: int | None) -> int:
        limits = self.config.limits
        count = limits.page_default if limit is None else limit
        pages.check_paging(after, count, limits.page_max)
        return count

    def _now_ms(self) -> int:
        return now_ms(self._engine.clock)


@asynccontextmanager
async def open_platform(
    config: Config,
    agents: Mapping[str, Hosted],
    store: Path,
    *,
    address: str | None = None,
    clock: Clock | None = None,
) -> AsyncGenerator[Platform]:
    """The platform on the SQLite file `store`, which this process alone uses while the block lasts.

    Turns that a crash cut off are marked as interrupted; turns that wait are run. `address` is told to other processes.
    Raises `StoreUnavailable`, and `BadAgentName` for an agent with the name of a principal. What is raised inside the
    block comes out as it was.
    """
    time, signals = clock or SystemClock(), Signals()
    with lock_store(store, address) as lock:
        async with open_sqlite(store, signals.tell, now_ms=now_ms(time)) as database:
            await database.write(lambda tx: _start(tx, agents, now_ms(time)))
            async with owning_group() as group:
                engine = Engine(
                    database=database,
                    clock=time,
                    config=config,
                    agents=agents,
                    live=Live(),
                    attending=Attending(config, time, build_reviewer(config)),
                    pieces=Pieces(),
                    group=group,
                )
                platform = Platform(engine, signals, lock)
                await platform.start()
                try:
                    yield platform
                finally:
                    platform.prepare_to_stop()
            with suppress(StoreUnavailable):
                await database.write(lambda tx: interrupt_all(tx, now_ms(time)))


def _start(tx: Transaction, agents: Mapping[str, Hosted], at_ms: int) -> None:
    """What a crash cut off is interrupted, before anything else happens; the store knows who is hosted now."""
    principals.check_agent_names(tx, agents)
    interrupt_all(tx, at_ms)
    hosted_agents.sync_agents(tx, {name: hosted.free_text_ask for name, hosted in agents.items()}, at_ms)
