"""What happens in a chat, for people who watch: read from the store, as soon as it is there."""

from collections.abc import AsyncGenerator, Iterator, Sequence
from dataclasses import dataclass
from functools import partial

from restante.bus.entry import JournalEntry
from restante.bus.message import Message
from restante.durable import chats, lanes, transcripts, watching
from restante.durable.db.database import Database, Transaction
from restante.durable.topics import chat_topic
from restante.durable.transcripts import StoredEntry
from restante.durable.watching import TurnInOrder
from restante.running.pieces import Heard, Piece
from restante.running.transcript import TurnRecord, cause_of, record_of
from restante.running.waiters import Waiters

AT_ONCE = 500
"""Entries that are read together."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnBegan:
    """A turn of the chat has begun, with these words or messages."""

    turn_id: str
    cause: tuple[Message, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Happened:
    """An entry of a turn's journal, with its place in the store."""

    sequence: int
    turn_id: str
    entry: JournalEntry


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnEnded:
    """A turn has ended, after all of its entries: so it is kept."""

    sequence: int
    """The place of the turn among those of its chat."""
    turn: TurnRecord


Event = TurnBegan | Happened | Piece | TurnEnded


@dataclass(frozen=True, slots=True, kw_only=True)
class Watch:
    """From where on one watches, how long, and whether texts are to come piece by piece."""

    after: int | None = None
    """The sequence of an entry. None: from the turn on that runs, or comes next."""
    back: int = 0
    """Without `after`: how many turns that have ended to begin before."""
    until_idle: bool = False
    """End when no turn runs or waits."""
    heard: Heard | None = None
    """Where the pieces come from, that `Platform.listen` gave for this chat. None: there are none."""


class Feed:
    """The turns of a chat, stored and still to come, by one way."""

    def __init__(self, database: Database, waiters: Waiters) -> None:
        self._database = database
        self._waiters = waiters

    async def watch(self, chat_id: str, how: Watch) -> AsyncGenerator[Event]:
        """Every event from a place on, once and in order. Raises `NotFound`.

        Ends, too, when the process is to stop, and when the chat is deleted.
        """
        place = await self._database.read(lambda tx: _Place.at(tx, chat_id, how))
        heard = how.heard or Heard()
        with self._waiters.park([chat_topic(chat_id)]) as bell:
            heard.ring = bell.ring
            while True:
                news = await self._database.read(partial(_News.of, chat_id=chat_id, place=place))
                for event in news.events:
                    place.pass_by(event, heard)
                    yield event
                for piece in heard.take():
                    yield piece
                if news.events:
                    continue
                if (how.until_idle and news.idle) or news.deleted or self._waiters.released:
                    return
                await bell.wait()


@dataclass(kw_only=True)
class _Place:
    """How far somebody has come in a chat."""

    after: int
    """The sequence of the newest entry that was passed."""
    turn: int
    """The sequence of the newest turn whose end was passed."""
    began: str | None = None
    """The turn whose beginning was passed, and its end not."""

    @staticmethod
    def at(tx: Transaction, chat_id: str, how: Watch) -> "_Place":
        chats.get_chat(tx, chat_id)
        after = how.after
        if after is None:
            turn = watching.newest_ended(tx, chat_id, but=how.back)
            return _Place(after=watching.newest_entry(tx, chat_id, turn), turn=turn)
        return _Place(after=after, turn=watching.newest_whole(tx, chat_id, after))

    def pass_by(self, event: Event, heard: Heard) -> None:
        if isinstance(event, TurnBegan):
            self.began = event.turn_id
        elif isinstance(event, Happened):
            self.after = event.sequence
            heard.has_read(event.turn_id, event.entry)
        elif isinstance(event, TurnEnded):
            self.began, self.turn = None, event.sequence
            heard.has_ended(event.turn.turn_id)


@dataclass(frozen=True, kw_only=True)
class _News:
    """What has come since a place, as one look into the store shows it."""

    events: Sequence[Event]
    idle: bool
    deleted: bool

    @staticmethod
    def of(tx: Transaction, *, chat_id: str, place: _Place) -> "_News":
        entries = transcripts.read_after(tx, chat_id, place.after, AT_ONCE)
        began = watching.list_turns(tx, chat_id, place.turn)
        return _News(
            events=list(_events(tx, began, entries, place.began)),
            idle=lanes.is_idle(tx, chat_id),
            deleted=not chats.exists(tx, chat_id),
        )


def _events(
    tx: Transaction, following: Sequence[TurnInOrder], entries: Sequence[StoredEntry], known: str | None
) -> Iterator[Event]:
    """The entries between the beginnings and ends of their turns, which follow one another."""
    for sequence, turn in following:
        if turn.state == "queued":
            return
        if turn.turn_id != known:
            yield TurnBegan(turn_id=turn.turn_id, cause=cause_of(tx, turn.turn_id))
        for one in entries:
            if one.turn_id == turn.turn_id:
                yield Happened(sequence=one.sequence, turn_id=one.turn_id, entry=JournalEntry(*one.entry))
        more = len(entries) == AT_ONCE and entries[-1].turn_id == turn.turn_id
        if turn.state == "running" or more:
            return
        yield TurnEnded(sequence=sequence, turn=record_of(tx, turn))
