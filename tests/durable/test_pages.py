"""Reading takes nothing away, and a cursor passes nothing."""

import asyncio
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from restante.durable import pages
from restante.durable.callers import Caller
from restante.durable.pages import Page, ReadRequest, check_paging
from restante.durable.sends import SendRequest
from restante.errors import InvalidArguments, NotFound
from tests.durable.stores import Store, open_store

pytestmark = [pytest.mark.anyio, pytest.mark.timeout(60)]


class Talk:
    """A conversation in which scout writes to ci."""

    def __init__(self, store: Store, ci: Caller, scout: Caller, inbox_id: str) -> None:
        self.store, self.ci, self.scout, self.inbox_id = store, ci, scout, inbox_id

    async def reply(self, text: str) -> int:
        return (await self.store.send(self.scout, SendRequest(message=text, inbox_id=self.inbox_id))).sequence

    async def page(self, after: int = 0, limit: int = 30, *, whole: bool = False) -> Page:
        request = ReadRequest(inbox_id=None if whole else self.inbox_id, after=after, limit=limit)
        return await self.store.database.read(lambda tx: pages.read_page(tx, self.ci, request))


@pytest.fixture
async def talk(store: Store) -> Talk:
    return await _talk(store, "ci")


async def _talk(store: Store, label: str) -> Talk:
    ci = await store.principal(label)
    sent = await store.send(ci, SendRequest(message="hello", target="scout"))
    row = await store.database.read(lambda tx: tx.first("SELECT * FROM inboxes WHERE peer_id = ?", sent.inbox_id))
    assert row is not None
    scout = Caller(kind="agent", id=row["owner_id"], name="scout", chat_id=row["chat_id"], turn_id="turn-1")
    return Talk(store, ci, scout, sent.inbox_id)


async def test_seven_messages_come_in_pages_of_three_each_once(talk: Talk) -> None:
    sent = [await talk.reply(f"m{n}") for n in range(7)]

    first = await talk.page(limit=3)
    second = await talk.page(first.next_cursor, 3)
    third = await talk.page(second.next_cursor, 3)
    empty = await talk.page(third.next_cursor, 3)

    seen = [one.sequence for page in (first, second, third) for one in page.messages]
    assert seen == sent
    assert [page.has_more for page in (first, second, third, empty)] == [True, True, False, False]
    assert (empty.messages, empty.next_cursor) == ((), third.next_cursor)


async def test_an_empty_page_has_the_fields_of_a_page_and_no_sign_of_an_end(talk: Talk) -> None:
    shape = (await talk.page()).shape()

    assert shape.keys() == {
        "messages", "next_cursor", "has_more", "inbox_id", "conversation_id", "store_id", "cursor_reset",
        "cursor_reset_reason",
    }  # fmt: skip
    assert shape["next_cursor"] == 0


async def test_what_is_in_other_inboxes_fills_no_page_of_this_one(talk: Talk) -> None:
    other = await _talk(talk.store, "other")
    await asyncio.gather(*(other.reply(str(n)) for n in range(100)))
    mine = await talk.reply("here")

    assert [one.sequence for one in (await talk.page()).messages] == [mine]


async def test_the_whole_mail_holds_every_conversation_in_order(talk: Talk) -> None:
    second = await talk.store.send(talk.ci, SendRequest(message="hello", target="scout"))
    other = Talk(talk.store, talk.ci, talk.scout, second.inbox_id)
    sent = [await talk.reply("a"), await other.reply("b"), await talk.reply("c")]

    page = await talk.page(whole=True)

    assert [one.sequence for one in page.messages] == sent
    assert (page.inbox_id, page.conversation_id) == (None, None)


async def test_paging_while_writers_run_yields_everything_once(talk: Talk) -> None:
    other = await _talk(talk.store, "other")
    dice = random.Random(7)
    seen: list[int] = []

    async def read_all(total: int) -> None:
        cursor = 0
        while len(seen) < total:
            page = await talk.page(cursor, dice.randint(1, 7))
            seen.extend(one.sequence for one in page.messages)
            cursor = page.next_cursor

    async def write_all() -> list[int]:
        foreign = (other.reply(f"o{n}") for n in range(100))
        both = await asyncio.gather(*(talk.reply(f"m{n}") for n in range(100)), *foreign)
        return both[:100]

    sent, _ = await asyncio.gather(write_all(), read_all(100))

    assert seen == sorted(sent)


async def test_a_cursor_of_another_store_or_of_the_future_starts_again(talk: Talk) -> None:
    sent = await talk.reply("kept")

    async def page(after: int, store_id: str | None) -> Page:
        request = ReadRequest(inbox_id=talk.inbox_id, after=after, store_id=store_id)
        return await talk.store.database.read(lambda tx: pages.read_page(tx, talk.ci, request))

    own = (await talk.page()).store_id
    found = [await page(sent, "store-other"), await page(sent + 1000, own), await page(sent, own)]

    assert [each.cursor_reset_reason for each in found] == ["other_store", "ahead_of_store", None]
    assert [len(each.messages) for each in found] == [1, 1, 0]


async def test_reading_again_gives_the_same_and_changes_nothing(talk: Talk) -> None:
    await talk.reply("one")
    before = await talk.store.dump()

    assert (await talk.page()).shape() == (await talk.page()).shape()
    assert await talk.store.dump() == before


@pytest.mark.parametrize(("after", "limit"), [(-1, 30), (2**63, 30), (0, 0), (0, 101)])
def test_a_cursor_or_limit_out_of_range_is_refused(after: int, limit: int) -> None:
    with pytest.raises(InvalidArguments) as refused:
        check_paging(after, limit, 100)
    assert refused.value.field in {"after", "limit"}


async def test_an_inbox_of_another_is_not_found(talk: Talk) -> None:
    rival = await talk.store.principal("rival")

    with pytest.raises(NotFound):
        await talk.store.database.read(lambda tx: pages.read_page(tx, rival, ReadRequest(inbox_id=talk.inbox_id)))


@given(texts=st.lists(st.text(min_size=1).filter(lambda text: text.strip() and "\0" not in text), max_size=3))
def test_any_text_is_read_as_it_was_sent(texts: list[str], tmp_path_factory: pytest.TempPathFactory) -> None:
    asyncio.run(_roundtrip(texts, tmp_path_factory))


async def _roundtrip(texts: list[str], folders: pytest.TempPathFactory) -> None:
    async with open_store(folders.mktemp("texts") / "s.db") as store:
        talk = await _talk(store, "ci")
        for text in texts:
            await talk.reply(text)
        assert [one.message for one in (await talk.page()).messages] == texts
