"""What a send stores, whom it reaches, and what a repeat of it gives."""

import asyncio

import pytest

from restante.durable import agents, lanes, pages, turns
from restante.durable.callers import Caller
from restante.durable.db.database import Transaction
from restante.durable.fates import StatesRequest, read_states
from restante.durable.messages import STATES
from restante.durable.pages import ReadRequest
from restante.durable.sends import REPEAT_HINTS, SendRequest
from restante.durable.turns import Ending
from restante.errors import (
    InvalidArguments,
    InvalidReference,
    InvalidText,
    MessagingDisabled,
    NotFound,
    RateLimited,
    RecipientArchived,
    RestanteError,
    SelfSend,
    SubmissionConflict,
    TargetInboxMismatch,
    TextBlank,
    TextTooLong,
)
from tests.durable.stores import NOON_MS, Store

pytestmark = [pytest.mark.anyio, pytest.mark.timeout(30)]


def _to_scout(text: str = "hello", *, key: str | None = None) -> SendRequest:
    return SendRequest(message=text, target="scout", submission_id=key)


async def _scout(store: Store, reply_address: str) -> Caller:
    """The agent's side of a conversation, as the turn that answers there acts."""
    row = await store.database.read(lambda tx: tx.first("SELECT * FROM inboxes WHERE peer_id = ?", reply_address))
    assert row is not None
    return Caller(kind="agent", id=row["owner_id"], name="scout", chat_id=row["chat_id"], turn_id="turn-1")


async def test_a_receipt_has_ids_and_says_nothing_of_an_answer(store: Store) -> None:
    receipt = await store.send(await store.principal("ci"), _to_scout())

    shape = receipt.shape()
    assert shape["accepted"] is True
    assert shape["state"] == "queued"
    assert {"message_id", "conversation_id", "inbox_id", "sequence", "store_id"} <= shape.keys()
    assert "call_id" not in shape


async def _become(store: Store, state: str) -> None:
    """Have the message that waits in the one lane become so."""

    def change(tx: Transaction) -> None:
        [chat_id] = lanes.list_lanes(tx)
        turn = turns.take_next(tx, chat_id, NOON_MS)
        assert turn is not None
        if state == "ended_ok":
            turns.returned(tx, turn.turn_id, chat_id, NOON_MS)
            turns.end(tx, turn.turn_id, Ending(cause="ended"), NOON_MS)
        elif state == "ended_failed":
            turns.end(tx, turn.turn_id, Ending(cause="failed"), NOON_MS)
        elif state == "interrupted":
            turns.interrupt_all(tx, NOON_MS)

    await store.database.write(change)


@pytest.mark.parametrize(
    ("state", "hint"),
    [
        ("started", "its turn runs"),
        ("ended_ok", "read your inbox"),
        ("ended_failed", "new submission_id"),
        ("interrupted", "was interrupted. It will not run again"),
    ],
)
async def test_the_hint_of_a_repeat_says_what_has_become_of_the_message(store: Store, state: str, hint: str) -> None:
    ci = await store.principal("ci")
    await store.send(ci, _to_scout(key="k"))
    await _become(store, state)

    again = await store.send(ci, _to_scout(key="k"))

    assert (again.replayed, again.state) == (True, state)
    assert hint in str(again.shape()["hint"])


def test_every_state_of_a_message_has_a_hint_for_a_repeat() -> None:
    assert REPEAT_HINTS.keys() == STATES - {"accepted"}


async def test_states_of_a_submission_or_message_that_is_not_ones_own_are_not_found(store: Store) -> None:
    ci, rival = await store.principal("ci"), await store.principal("rival")
    sent = await store.send(ci, _to_scout(key="k"))
    for asked in (StatesRequest(submission_id="k"), StatesRequest(message_id=sent.message_id)):
        assert len((await store.database.read(lambda tx: read_states(tx, ci, asked, NOON_MS))).states) == 1  # noqa: B023
        with pytest.raises(NotFound):
            await store.database.read(lambda tx: read_states(tx, rival, asked, NOON_MS))  # noqa: B023


async def test_a_send_by_name_or_id_reaches_the_same_agent(store: Store) -> None:
    ci = await store.principal("ci")
    receipt = await store.send(ci, _to_scout())

    for target in (receipt.recipient.id, "agent:scout", f"agent:{receipt.recipient.id}"):
        again = await store.send(ci, SendRequest(message="x", target=target))
        assert again.recipient.id == receipt.recipient.id


@pytest.mark.parametrize("target", ["['scout']", " scout ", "Scout", "nobody"])
async def test_a_name_is_matched_whole_and_a_refusal_lists_the_spellings(store: Store, target: str) -> None:
    with pytest.raises(NotFound) as refused:
        await store.send(await store.principal("ci"), SendRequest(message="x", target=target))

    assert "scout" in refused.value.candidates


async def test_a_repeat_gets_its_first_receipt_without_an_inbox_and_with_it(store: Store) -> None:
    ci = await store.principal("ci")
    first = await store.send(ci, _to_scout(key="k"))
    by_target = await store.send(ci, _to_scout(key="k"))
    by_inbox = await store.send(ci, SendRequest(message="hello", inbox_id=first.inbox_id, submission_id="k"))

    for again in (by_target, by_inbox):
        assert again.replayed
        assert (again.message_id, again.inbox_id, again.sequence) == (
            first.message_id,
            first.inbox_id,
            first.sequence,
        )


async def test_twenty_sends_at_once_with_one_key_store_one_message(store: Store) -> None:
    ci = await store.principal("ci")

    receipts = await asyncio.gather(*(store.send(ci, _to_scout(key="k")) for _ in range(20)))

    assert len({receipt.message_id for receipt in receipts}) == 1
    assert sorted(receipt.replayed for receipt in receipts) == [False] + [True] * 19


async def test_a_used_key_with_another_text_is_a_conflict_that_tells_nothing(store: Store) -> None:
    ci = await store.principal("ci")
    first = await store.send(ci, _to_scout("secret", key="k"))

    with pytest.raises(SubmissionConflict) as refused:
        await store.send(ci, _to_scout("x", key="k"))

    assert "secret" not in refused.value.message
    assert first.message_id not in str(refused.value.body())


async def test_texts_are_never_compared_to_find_repeats(store: Store) -> None:
    ci = await store.principal("ci")
    receipts = [await store.send(ci, _to_scout("same", key=key)) for key in (None, None, "a", "b")]

    assert len({receipt.message_id for receipt in receipts}) == 4


async def test_a_key_counts_for_each_sender_and_each_inbox(store: Store) -> None:
    ci, rival = await store.principal("ci"), await store.principal("rival")
    inboxes = [(await store.send(ci, _to_scout(str(n)))).inbox_id for n in range(2)]

    sent = [
        await store.send(ci, _to_scout(key="k")),
        await store.send(rival, _to_scout(key="k")),
        *[await store.send(ci, SendRequest(message="x", inbox_id=inbox, submission_id="k")) for inbox in inboxes],
    ]

    assert not any(receipt.replayed for receipt in sent)


async def test_a_hosted_sender_that_counts_from_one_in_each_turn_is_not_taken_for_a_repeat(store: Store) -> None:
    first = await store.send(await store.principal("ci"), _to_scout())
    scout = await _scout(store, first.inbox_id)
    later = Caller(kind="agent", id=scout.id, name="scout", chat_id=scout.chat_id, turn_id="turn-2")

    sent = [
        await store.send(turn, SendRequest(message=text, inbox_id=first.inbox_id, submission_id="1"))
        for turn, text in ((scout, "one"), (later, "two"))
    ]

    assert not any(receipt.replayed for receipt in sent)


async def test_a_reply_arrives_at_the_sender_alone_and_own_messages_do_not(store: Store) -> None:
    ci, rival = await store.principal("ci"), await store.principal("rival")
    sent = await store.send(ci, _to_scout())
    await store.send(rival, _to_scout())
    scout = await _scout(store, sent.inbox_id)

    await store.send(scout, SendRequest(message="found 3", inbox_id=sent.inbox_id))

    page = await store.database.read(lambda tx: pages.read_page(tx, ci, ReadRequest()))
    assert [(one.message, one.sender, one.sender_id, one.state) for one in page.messages] == [
        ("found 3", "scout", scout.id, "stored")
    ]
    assert not (await store.database.read(lambda tx: pages.read_page(tx, rival, ReadRequest()))).messages


async def test_an_inbox_of_others_is_as_unknown_as_one_that_never_was(store: Store) -> None:
    ci, rival = await store.principal("ci"), await store.principal("rival")
    theirs = (await store.send(ci, _to_scout())).inbox_id
    mine = await store.send(rival, _to_scout())
    scout = await _scout(store, mine.inbox_id)
    foreign = Caller(kind="agent", id=scout.id, name="scout", chat_id="chat-other", turn_id="turn-1")

    refusals: list[RestanteError] = []
    for caller, inbox in ((rival, theirs), (rival, "inbox-" + "0" * 32), (foreign, mine.inbox_id)):
        with pytest.raises(NotFound) as refused:
            await store.send(caller, SendRequest(message="x", inbox_id=inbox))
        refusals.append(refused.value)

    assert len({str(refusal.body()) for refusal in refusals}) == 1


async def test_two_first_sends_without_a_key_open_two_inboxes(store: Store) -> None:
    ci = await store.principal("ci")
    receipts = [await store.send(ci, _to_scout()) for _ in range(2)]

    assert len({receipt.inbox_id for receipt in receipts}) == 2


async def test_an_inbox_and_a_target_must_mean_one_peer(store: Store) -> None:
    ci = await store.principal("ci")
    inbox = (await store.send(ci, _to_scout())).inbox_id

    assert (await store.send(ci, SendRequest(message="x", inbox_id=inbox, target="scout"))).inbox_id == inbox
    with pytest.raises(TargetInboxMismatch):
        await store.send(ci, SendRequest(message="x", inbox_id=inbox, target="editor"))


async def test_a_reference_is_to_a_message_of_this_conversation(store: Store) -> None:
    ci = await store.principal("ci")
    mine, other = await store.send(ci, _to_scout()), await store.send(ci, _to_scout())

    linked = SendRequest(message="x", inbox_id=mine.inbox_id, in_reply_to=mine.message_id)
    assert (await store.send(ci, linked)).recipient.name == "scout"
    for reference in (other.message_id, "msg-invented", "../../secret"):
        with pytest.raises(InvalidReference):
            await store.send(ci, SendRequest(message="x", inbox_id=mine.inbox_id, in_reply_to=reference))


@pytest.mark.parametrize(
    ("request_", "error"),
    [
        (_to_scout(""), TextBlank),
        (_to_scout(" \n\u3000"), TextBlank),
        (_to_scout("x" * 20_001), TextTooLong),
        (_to_scout("a\0b"), InvalidText),
        (_to_scout("a\ud800"), InvalidText),
        (_to_scout(key="k" * 129), InvalidArguments),
        (_to_scout(key="  "), InvalidArguments),
        (SendRequest(message="x"), InvalidArguments),
    ],
)
async def test_a_refused_send_stores_nothing(store: Store, request_: SendRequest, error: type[RestanteError]) -> None:
    ci = await store.principal("ci")
    before = await store.dump()

    with pytest.raises(error):
        await store.send(ci, request_)

    assert await store.dump() == before


async def test_a_refused_first_send_opens_no_inbox(store: Store) -> None:
    ci = await store.principal("ci")
    await store.database.write(lambda tx: agents.sync_agents(tx, {"scout": False}, NOON_MS))
    before = await store.dump()

    with pytest.raises(MessagingDisabled):
        await store.send(ci, _to_scout())
    with pytest.raises(RecipientArchived):
        await store.send(ci, SendRequest(message="x", target="editor"))

    assert await store.dump() == before


async def test_an_agent_does_not_write_to_itself(store: Store) -> None:
    first = await store.send(await store.principal("ci"), _to_scout())

    with pytest.raises(SelfSend):
        await store.send(await _scout(store, first.inbox_id), _to_scout())


async def test_two_agents_have_one_conversation_whoever_writes_first(store: Store) -> None:
    first = await store.send(await store.principal("ci"), _to_scout())
    scout = await _scout(store, first.inbox_id)

    asked = await store.send(scout, SendRequest(message="x", target="editor"))
    again = await store.send(scout, SendRequest(message="y", target="editor"))

    assert asked.conversation_id == again.conversation_id
    assert asked.state == "queued"


async def test_a_conversation_takes_so_many_an_hour_of_both_sides_and_a_repeat_is_none(store: Store) -> None:
    store.messages_per_hour = 5
    ci = await store.principal("ci")
    first = await store.send(ci, _to_scout(key="k"))
    scout = await _scout(store, first.inbox_id)
    for sender in (ci, scout, ci, scout):
        await store.send(sender, SendRequest(message="x", inbox_id=first.inbox_id))

    for sender in (ci, scout):
        with pytest.raises(RateLimited) as refused:
            await store.send(sender, SendRequest(message="x", inbox_id=first.inbox_id))
        assert refused.value.retry_after_seconds == 3600
    assert (await store.send(ci, _to_scout(key="k"))).replayed

    store.now_ms += 3_600_000
    assert (await store.send(ci, SendRequest(message="x", inbox_id=first.inbox_id))).remaining_in_hour == 4


async def test_a_receipt_tells_how_many_wait_before_it_and_for_how_long(store: Store) -> None:
    ci = await store.principal("ci")
    for _ in range(7):
        await store.send(ci, _to_scout())
    store.now_ms += 6 * 3_600_000

    recipient = (await store.send(ci, _to_scout())).recipient

    assert recipient.queue_depth == 7
    assert recipient.oldest_queued_seconds == 6 * 3600
    assert recipient.last_read_at_ms is None
