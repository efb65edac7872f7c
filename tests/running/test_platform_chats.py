"""Chats as a person keeps them: named, listed, searched, cut after whole turns, and deleted."""

import sqlite3
from asyncio import TaskGroup
from pathlib import Path
from typing import Any

import pytest
from pydantic_ai import Agent, ToolOutput

from restante.bus import BusPolicy
from restante.errors import InvalidArguments, NotFound, TurnRunning
from restante.running.feed import Watch
from restante.running.platform import Platform, SendRequest
from restante.running.transcript import TurnRecord
from restante.testing import ScriptedModel, call, calls, says
from restante.testing.scripted import prompt_of
from tests.bus.policies import both
from tests.running.platforms import principal, until
from tests.running.teams import WORK, ended, playing, say
from tests.turn.stage import Cast

pytestmark = [pytest.mark.anyio, pytest.mark.timeout(60)]

NUMBERS = ("one", "two", "three", "four")


def team(policy: BusPolicy) -> Cast:
    researcher, assistant = WORK
    return Cast(policy, researcher=researcher, assistant=assistant)


def talker() -> Cast:
    """An agent whose every turn is one call."""
    return Cast(BusPolicy(), assistant=(says("yes"),))


def facts(turn: TurnRecord) -> dict[str, object]:
    """All of a turn but the ids of the turn itself and of its words."""
    return {
        "state": turn.state,
        "cause": [(one.sender, one.origin, one.text) for one in turn.cause],
        "entries": turn.entries,
        "end": (turn.answer, turn.error, turn.report),
        "times": (turn.queued_at, turn.started_at, turn.ended_at),
    }


async def turns_of(platform: Platform, chat_id: str) -> list[str]:
    """What the person said in each turn."""
    return [one.text for turn in (await platform.chat(chat_id)).turns for one in turn.cause]


async def test_a_chat_is_called_by_its_first_words_until_it_is_renamed(tmp_path: Path) -> None:
    async with playing(tmp_path, talker()) as platform:
        chat_id = await platform.create_chat()
        unnamed = (await platform.chats()).chats[0].chat.title
        await say(platform, chat_id, f"What is\n it? {'x' * 60}")
        called = (await platform.chat(chat_id)).title
        renamed = await platform.change_chat(chat_id, title="The question")

        assert (unnamed, called) == (None, f"What is it? {'x' * 47}…")
        assert (renamed.title, (await platform.chat(chat_id)).title) == ("The question", "The question")
        for title in ("", " ", "x" * 201, "a\0b"):
            with pytest.raises(InvalidArguments) as refused:
                await platform.change_chat(chat_id, title=title)
            assert refused.value.field == "title"
        assert (await platform.change_chat(chat_id, title="x" * 200)).title == "x" * 200
        with pytest.raises(NotFound):
            await platform.change_chat("chat-none", title="x")


async def test_the_chat_in_which_something_happened_last_is_listed_first_and_pages_follow_one_another(
    tmp_path: Path,
) -> None:
    async with playing(tmp_path, talker()) as platform:
        made = [await platform.create_chat(title=f"chat {number}") for number in range(5)]
        await say(platform, made[1], "hello")
        seen: list[str] = []
        after, more = 0, True
        while more:
            page = await platform.chats(after=after, limit=2)
            seen += [each.chat.chat_id for each in page.chats]
            after, more = page.next_cursor, page.has_more
        newest = (await platform.chats(limit=1)).chats[0]

        assert seen == [made[1], made[4], made[3], made[2], made[0]]
        assert (newest.turns, newest.running, newest.last_state) == (1, None, "ended_ok")
        assert (await platform.chats(agent="nobody")).chats == ()
        with pytest.raises(InvalidArguments):
            await platform.chats(limit=101)


@pytest.mark.rows("T305")
@both
async def test_a_branch_has_whole_turns_and_there_is_no_place_to_cut_at_a_message(
    tmp_path: Path, policy: BusPolicy
) -> None:
    async with playing(tmp_path, team(policy)) as platform:
        chat_id = await platform.create_chat()
        for text in ("one", "two", "three"):
            await say(platform, chat_id, text)
        original = await platform.chat(chat_id)
        second = original.turns[1]
        delivered = [entry for entry in second.entries if entry.kind == "delivery" and entry.address == "assistant"]
        assert {entry.facts["origin"] for entry in delivered} == {"agent"}

        branched = await platform.chat(await platform.branch(chat_id, second.turn_id))
        places = await platform.cuts(chat_id)

        assert [facts(turn) for turn in branched.turns] == [facts(turn) for turn in original.turns[:2]]
        assert not {turn.turn_id for turn in branched.turns} & {turn.turn_id for turn in original.turns}
        assert [place.turn_id for place in places] == [turn.turn_id for turn in original.turns]
        assert [(place.number, place.words) for place in places] == [(1, "one"), (2, "two"), (3, "three")]
        for at in (delivered[0].facts["message_id"], second.cause[0].message_id, "turn-none"):
            with pytest.raises(InvalidArguments) as refused:
                await platform.branch(chat_id, str(at))
            assert refused.value.field == "turn_id"
            assert second.turn_id in refused.value.candidates
        assert await platform.chat(chat_id) == original


async def test_the_model_reads_in_a_branch_and_after_a_cut_what_was_said_up_to_there_and_nothing_else(
    tmp_path: Path,
) -> None:
    cast = talker()
    async with playing(tmp_path, cast) as platform:
        chat_id = await platform.create_chat()
        first, second, _ = [await say(platform, chat_id, text) for text in ("one", "two", "three")]
        branch = await platform.branch(chat_id, second.turn_id)
        await say(platform, branch, "four")
        removed = await platform.truncate(chat_id, first.turn_id)
        await say(platform, chat_id, "five")

        assert removed == 2
        assert [prompt_of(prompt) for prompt in cast.prompts("assistant")[3:]] == ["one\ntwo\nfour", "one\nfive"]
        assert await turns_of(platform, chat_id) == ["one", "five"]
        assert await turns_of(platform, branch) == ["one", "two", "four"]


async def test_a_chat_whose_turn_runs_is_neither_cut_nor_deleted(tmp_path: Path) -> None:
    cast = Cast(BusPolicy(), assistant=(calls(call("wait_at", gate="end")), says("done")))
    async with playing(tmp_path, cast) as platform:
        chat_id = await platform.create_chat()
        said = await platform.say(chat_id, "go")
        await until(lambda: cast.prompts("assistant"))

        for change in (
            lambda: platform.delete_chat(chat_id),
            lambda: platform.branch(chat_id, said.turn_id),
            lambda: platform.truncate(chat_id, said.turn_id),
        ):
            with pytest.raises(TurnRunning):
                await change()
        assert (await platform.chats()).chats[0].running == said.turn_id
        await cast.open("end")

        assert (await ended(platform, chat_id)).turns[0].answer == "done"
        await platform.delete_chat(chat_id)


async def test_the_chat_in_which_an_agent_answers_messages_is_no_persons_to_cut_or_delete(tmp_path: Path) -> None:
    async with playing(tmp_path, talker()) as platform:
        await platform.send(await principal(platform), SendRequest(message="hello", target="assistant"))
        chat_id = (await platform.chats()).chats[0].chat.chat_id
        await ended(platform, chat_id)
        (turn,) = (await platform.chat(chat_id)).turns

        with pytest.raises(InvalidArguments):
            await platform.delete_chat(chat_id)
        with pytest.raises(InvalidArguments):
            await platform.branch(chat_id, turn.turn_id)


@pytest.mark.rows("T304")
@both
async def test_a_chat_that_is_deleted_while_its_turn_is_being_stored_stays_deleted(
    tmp_path: Path, policy: BusPolicy
) -> None:
    cast = Cast(policy, assistant=(calls(call("wait_at", gate="end")), says("done")))
    async with playing(tmp_path, cast) as platform, TaskGroup() as group:
        chat_id = await platform.create_chat()
        await platform.say(chat_id, "go")
        await until(lambda: cast.prompts("assistant"))
        other = sqlite3.connect(tmp_path / "store.db", isolation_level=None)
        other.execute("BEGIN IMMEDIATE")
        await cast.open("end")
        await until(lambda: not platform._engine.live.runs(chat_id))
        deleting = group.create_task(platform.delete_chat(chat_id))
        await cast.open()
        other.execute("ROLLBACK")
        await deleting
        await until(lambda: not platform._dispatcher._busy)

        with pytest.raises(NotFound):
            await platform.chat(chat_id)
        assert (await platform.chats()).chats == ()
        assert (await platform.search_chats("go")).hits == ()
        for table in ("chats", "turns", "words", "journal"):
            assert other.execute(f"SELECT COUNT(*) FROM {table}").fetchone() == (0,)  # noqa: S608  # a name from above
        other.close()


@pytest.mark.rows("T306")
@both
async def test_a_search_finds_what_a_person_said_and_nobody_elses_words(tmp_path: Path, policy: BusPolicy) -> None:
    researcher, assistant = WORK
    async with playing(tmp_path, Cast(policy, researcher=researcher, assistant=assistant)) as platform:
        chat_id = await platform.create_chat()
        turn = await say(platform, chat_id, "Hello there. Is 100%_sure\n'quoted' all right? Bye.")
        await platform.send(await principal(platform), SendRequest(message="zebra", target="researcher"))

        for elsewhere in ("found", "43", "It is 42", "thanks", "zebra", "that is all", "[message from", "done"):
            assert (await platform.search_chats(elsewhere)).hits == ()
        (hit,) = (await platform.search_chats("QUOTED")).hits
        assert (hit.chat_id, hit.turn_id, hit.turn, hit.message_id) == (
            chat_id,
            turn.turn_id,
            1,
            turn.cause[0].message_id,
        )
        assert hit.excerpt == "'quoted' all right?"
        assert [one.excerpt for one in (await platform.search_chats("100%_")).hits] == ["Is 100%_sure"]
        for nothing in ("100__", "%", "' OR 1", "there\\. Is", "100%%"):
            assert len((await platform.search_chats(nothing)).hits) == (1 if nothing == "%" else 0)


async def test_hits_come_newest_first_in_pages_and_a_long_sentence_is_shown_around_the_place(tmp_path: Path) -> None:
    async with playing(tmp_path, talker()) as platform:
        chat_id = await platform.create_chat()
        for number in range(3):
            await say(platform, chat_id, f"{'word ' * 100}needle {number} {'word ' * 100}")
        first = await platform.search_chats("needle", limit=2)
        rest = await platform.search_chats("needle", after=first.next_cursor, limit=2)

        assert [hit.turn for hit in (*first.hits, *rest.hits)] == [3, 2, 1]
        assert (first.has_more, rest.has_more) == (True, False)
        for hit in first.hits:
            assert len(hit.excerpt) <= 200
            assert hit.excerpt.startswith("…")
            assert f"needle {hit.turn - 1}" in hit.excerpt
        for blank_or_long in ("", " ", "x" * 201):
            with pytest.raises(InvalidArguments):
                await platform.search_chats(blank_or_long)


async def test_a_branch_of_a_chat_whose_model_calls_an_output_tool_has_its_history_too(tmp_path: Path) -> None:
    model = ScriptedModel(calls(call("final_result", response=42)))
    agent: Agent[Any, Any] = Agent(model, output_type=ToolOutput(int))
    cast = talker()
    cast.agents["assistant"] = agent
    async with playing(tmp_path, cast) as platform:
        chat_id = await platform.create_chat()
        turns = [await say(platform, chat_id, text) for text in ("one", "two", "three")]
        branch = await platform.branch(chat_id, turns[1].turn_id)
        await say(platform, branch, "four")

    prompts = [[line for line in prompt_of(prompt).splitlines() if line in NUMBERS] for prompt in model.prompts]
    assert [turn.answer for turn in turns] == ["42", "42", "42"]
    assert prompts == [["one"], ["one", "two"], ["one", "two", "three"], ["one", "two", "four"]]


async def test_whoever_watches_a_chat_that_is_deleted_is_told_of_nothing_more(tmp_path: Path) -> None:
    async with playing(tmp_path, talker()) as platform, TaskGroup() as group:
        chat_id = await platform.create_chat()
        watching = group.create_task(_count(platform, chat_id))
        await until(lambda: platform.waiting)
        await platform.delete_chat(chat_id)

        assert await watching == 0


async def _count(platform: Platform, chat_id: str) -> int:
    return len([event async for event in platform.watch_chat(chat_id, Watch(after=0))])
