"""Turns of a lane, the states of what began them, and what a crash leaves."""

from dataclasses import dataclass

import pytest

from restante.durable import chats, fates, lanes, says, transcripts, turns, words
from restante.durable.agents import sync_agents
from restante.durable.callers import Caller
from restante.durable.db.database import Transaction
from restante.durable.fates import SendState, StatesRequest
from restante.durable.sends import SendRequest
from restante.durable.states import MESSAGES, TURNS, WORDS_THAT_BEGAN, WORDS_THAT_JOINED, Table, WrongState, after
from restante.durable.transcripts import Entry
from restante.durable.turns import Claimed, Ending, TurnRow
from restante.durable.words import Words
from tests.durable.stores import NOON_MS, Store

pytestmark = [pytest.mark.anyio, pytest.mark.timeout(30)]


@dataclass
class Lane:
    """The lane in which scout answers messages, or a person's chat with it."""

    store: Store
    ci: Caller
    chat_id: str

    async def send(self, text: str = "hello") -> str:
        return (await self.store.send(self.ci, SendRequest(message=text, target="scout"))).message_id

    async def say(self, text: str) -> Words:
        return await self.store.database.write(lambda tx: says.say(tx, self.chat_id, text, NOON_MS))

    async def claim(self) -> Claimed | None:
        return await self.store.database.write(lambda tx: turns.take_next(tx, self.chat_id, NOON_MS + 1))

    async def claimed(self) -> Claimed:
        claimed = await self.claim()
        assert claimed is not None
        return claimed

    async def returned(self, turn: Claimed) -> None:
        await self.store.database.write(lambda tx: turns.returned(tx, turn.turn_id, turn.chat_id, NOON_MS + 2))

    async def end(self, turn: Claimed, ending: Ending) -> None:
        await self.store.database.write(lambda tx: turns.end(tx, turn.turn_id, ending, NOON_MS + 3))

    async def restart(self) -> list[TurnRow]:
        return await self.store.database.write(lambda tx: turns.interrupt_all(tx, NOON_MS + 4))

    async def state_of(self, message_id: str) -> SendState:
        request = StatesRequest(message_id=message_id)
        found = await self.store.database.read(lambda tx: fates.read_states(tx, self.ci, request, NOON_MS + 9))
        return found.states[0]

    async def words_of(self, message_id: str) -> Words:
        def ask(tx: Transaction) -> Words:
            row = tx.first("SELECT turn_id FROM words WHERE message_id = ?", message_id)
            assert row is not None
            return next(one for one in words.list_words(tx, row["turn_id"]) if one.message_id == message_id)

        return await self.store.database.read(ask)


@pytest.fixture
async def lane(store: Store) -> Lane:
    ci = await store.principal("ci")
    await store.send(ci, SendRequest(message="first", target="scout"))
    chat_id = (await store.database.read(lanes.list_lanes))[0]
    made = Lane(store, ci, chat_id)
    await made.end(await made.claimed(), Ending(cause="ended"))
    return made


@pytest.fixture
async def chat(store: Store) -> Lane:
    def change(tx: Transaction) -> str:
        row = tx.first("SELECT agent_id FROM agents WHERE name = 'scout'")
        assert row is not None
        return chats.create_chat(tx, row["agent_id"], NOON_MS)

    return Lane(store, await store.principal("ci"), await store.database.write(change))


@pytest.mark.parametrize("table", [MESSAGES, WORDS_THAT_BEGAN, WORDS_THAT_JOINED, TURNS])
def test_nothing_follows_a_final_state(table: Table) -> None:
    final = {"ended_ok", "ended_failed", "interrupted", "undeliverable", "stopped"}

    assert not [state for state, _ in table if state in final]
    with pytest.raises(WrongState):
        after(table, "interrupted", "claimed")


async def test_a_message_moves_from_queued_to_ended_with_a_time_for_each(lane: Lane) -> None:
    message = await lane.send()
    seen = [(await lane.state_of(message)).state]
    turn = await lane.claimed()
    seen.append((await lane.state_of(message)).state)
    await lane.returned(turn)
    seen.append((await lane.state_of(message)).state)
    await lane.end(turn, Ending(cause="ended"))
    last = await lane.state_of(message)

    assert [*seen, last.state] == ["queued", "started", "read", "ended_ok"]
    assert (last.queued_at_ms, last.started_at_ms, last.read_at_ms, last.ended_at_ms) == (
        NOON_MS,
        NOON_MS + 1,
        NOON_MS + 2,
        NOON_MS + 3,
    )


async def test_a_lane_runs_one_turn_at_a_time_in_order_of_arrival(lane: Lane) -> None:
    sent = [await lane.send(str(n)) for n in range(3)]
    order: list[str] = []
    while (turn := await lane.claim()) is not None:
        assert await lane.claim() is None
        order.append(turn.messages[0].message_id)
        await lane.end(turn, Ending(cause="ended"))

    assert order == sent


@pytest.mark.parametrize("read", [False, True])
async def test_a_turn_that_fails_leaves_its_message_ended_failed_read_or_not(lane: Lane, *, read: bool) -> None:
    message = await lane.send()
    turn = await lane.claimed()
    if read:
        await lane.returned(turn)
    await lane.end(turn, Ending(cause="failed", error="no model"))

    state = await lane.state_of(message)
    assert state.state == "ended_failed"
    assert (state.read_at_ms is not None) is read
    assert await lane.claim() is None


async def test_a_started_message_is_interrupted_by_a_crash_and_never_run_again(lane: Lane) -> None:
    message = await lane.send()
    turn = await lane.claimed()

    assert [each.turn_id for each in await lane.restart()] == [turn.turn_id]

    state = await lane.state_of(message)
    assert (state.state, state.reason, state.attempts) == ("interrupted", "interrupted", 1)
    assert await lane.claim() is None
    assert await lane.restart() == []


async def test_a_queued_message_survives_a_crash_and_runs_once(lane: Lane) -> None:
    message = await lane.send()
    await lane.restart()

    turn = await lane.claimed()
    assert [one.message_id for one in turn.messages] == [message]
    await lane.end(turn, Ending(cause="ended"))
    assert await lane.claim() is None


async def test_what_waits_for_an_agent_that_is_gone_is_undeliverable(lane: Lane) -> None:
    message = await lane.send()
    await lane.store.database.write(lambda tx: sync_agents(tx, {"editor": True}, NOON_MS))

    assert await lane.claim() is None
    state = await lane.state_of(message)
    assert (state.state, state.reason) == ("undeliverable", "recipient_archived")


async def test_words_begin_a_turn_when_none_runs_and_join_the_one_that_does(chat: Lane) -> None:
    first = await chat.say("one")
    turn = await chat.claimed()
    second = await chat.say("two")

    assert (first.state, second.state) == ("queued", "offered")
    assert second.turn_id == turn.turn_id == first.turn_id
    assert [one.text for one in turn.words] == ["one"]


@pytest.mark.parametrize("cause", ["ended", "failed"])
async def test_words_that_no_run_read_become_one_next_turn_as_messages_of_their_own(chat: Lane, cause: str) -> None:
    await chat.say("begin")
    turn = await chat.claimed()
    said = [await chat.say(text) for text in ("one", "two", "three")]
    await chat.store.database.write(lambda tx: words.drained(tx, said[0].message_id))
    await chat.store.database.write(lambda tx: words.read(tx, said[0].message_id, NOON_MS))
    await chat.end(turn, Ending(cause="ended" if cause == "ended" else "failed"))

    following = await chat.claimed()

    assert (await chat.words_of(said[0].message_id)).state == "read"
    assert [(one.text, one.carried) for one in following.words] == [("two", True), ("three", True)]
    await chat.end(following, Ending(cause="ended"))
    assert await chat.claim() is None


async def test_words_unread_when_the_person_stops_are_undeliverable_and_run_by_nothing(chat: Lane) -> None:
    await chat.say("begin")
    turn = await chat.claimed()
    await chat.returned(turn)
    said = [await chat.say(text) for text in ("one", "two")]
    await chat.end(turn, Ending(cause="stopped"))
    await chat.restart()

    for one in said:
        found = await chat.words_of(one.message_id)
        assert (found.state, found.reason) == ("undeliverable", "stopped")
    assert await chat.claim() is None


@pytest.mark.parametrize("drained", [False, True])
async def test_a_crash_carries_words_that_joined_and_interrupts_those_that_began(chat: Lane, *, drained: bool) -> None:
    began = await chat.say("begin")
    await chat.claimed()
    joined = await chat.say("joined")
    if drained:
        await chat.store.database.write(lambda tx: words.drained(tx, joined.message_id))
    await chat.restart()

    following = await chat.claimed()

    assert (await chat.words_of(began.message_id)).state == "interrupted"
    assert [(one.message_id, one.carried) for one in following.words] == [(joined.message_id, True)]


async def test_words_read_before_a_crash_are_not_repeated(chat: Lane) -> None:
    await chat.say("begin")
    await chat.claimed()
    joined = await chat.say("joined")
    await chat.store.database.write(lambda tx: words.read(tx, joined.message_id, NOON_MS))
    await chat.restart()

    assert await chat.claim() is None
    assert (await chat.words_of(joined.message_id)).state == "read"


async def test_carried_words_come_before_what_was_said_later(chat: Lane) -> None:
    await chat.say("begin")
    turn = await chat.claimed()
    await chat.say("unread")
    await chat.end(turn, Ending(cause="ended"))
    await chat.say("later")

    order = [(await chat.claimed()).words[0].text]
    assert order == ["unread"]


async def test_a_journal_entry_that_is_given_twice_is_stored_once(chat: Lane) -> None:
    turn_id = (await chat.say("begin")).turn_id
    entries = [Entry(n, 0.5 * n, "round", "scout", {"call": n, "text": "né"}) for n in (1, 2, 3)]

    for given in (entries[:2], entries):
        await chat.store.database.write(lambda tx, given=given: transcripts.append(tx, chat.chat_id, turn_id, given))

    assert await chat.store.database.read(lambda tx: transcripts.read_turn(tx, turn_id)) == entries
