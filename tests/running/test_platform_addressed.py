"""A person's words to certain runs of the turn alone: checked, stored, offered, and told what became of them."""

import asyncio
from pathlib import Path

import pytest

from restante.bus import BusPolicy, JournalEntry
from restante.durable import words
from restante.errors import InvalidArguments, NotFound, NoTurn, RecipientFinished, RestanteError
from restante.running.platform import Platform
from restante.testing import ScriptedModel, fails, says
from restante.testing.scripted import prompt_of
from tests.running.teams import ended, playing
from tests.turn.playing import BOTH
from tests.turn.stage import Cast, spawns, waits

pytestmark = pytest.mark.anyio
both = pytest.mark.parametrize("policy", BOTH, ids=lambda policy: policy.name)


def cast_of(policy: BusPolicy) -> Cast:
    """Two researchers and a writer, who ends at once, while the assistant waits for all."""
    return Cast(
        policy,
        researcher=[waits("look"), waits("look again"), says("found")],
        writer=[says("written")],
        assistant=[spawns("researcher", "researcher", "writer"), waits("end"), says("ok")],
    )


async def entries_of(platform: Platform, chat_id: str) -> list[JournalEntry]:
    """What has happened in the chat so far."""
    return [entry for turn in (await platform.chat(chat_id)).turns for entry in turn.entries]


async def until(platform: Platform, chat_id: str, kind: str, *addresses: str) -> None:
    """Wait until something has happened to each of these runs."""
    async with asyncio.timeout(60):
        while True:
            happened = {entry.address for entry in await entries_of(platform, chat_id) if entry.kind == kind}
            if set(addresses) <= happened:
                return


async def started(platform: Platform) -> str:
    """A chat in which the researchers work and the writer has ended."""
    chat_id = await platform.create_chat()
    await platform.say(chat_id, "go")
    await until(platform, chat_id, "tool_call", "researcher#1", "researcher#2")
    await until(platform, chat_id, "run_closed", "writer#1")
    return chat_id


async def rows_of(platform: Platform, chat_id: str) -> list[tuple[str, str, str | None]]:
    """The words of the chat's turns, with what became of them."""
    found: list[tuple[str, str, str | None]] = []
    for turn in (await platform.chat(chat_id)).turns:
        turn_id = turn.turn_id
        said = await platform._database.read(lambda tx, turn_id=turn_id: words.list_words(tx, turn_id))
        found += [(one.text, one.state, one.reason) for one in said]
    return found


async def read_by(platform: Platform, chat_id: str, text: str) -> set[str | None]:
    """Who has drained a text."""
    entries = await entries_of(platform, chat_id)
    return {entry.address for entry in entries if entry.kind == "delivery" and entry.facts["text"] == text}


@both
@pytest.mark.rows("T142")
@pytest.mark.reach("the person", "one run by name", "any", "at its next boundary; nobody else reads it")
async def test_words_to_one_run_are_read_by_it_alone_and_those_to_a_label_by_all_of_it(
    tmp_path: Path, policy: BusPolicy
) -> None:
    cast = cast_of(policy)
    async with playing(tmp_path, cast) as platform:
        chat_id = await started(platform)
        said = await platform.say(chat_id, "drop that file", "researcher#2")
        assert said.state == "offered"
        await platform.say(chat_id, "stop", "researcher")
        await cast.open("look", "look again", "end")
        chat = await ended(platform, chat_id)
        rows = await rows_of(platform, chat_id)
        assert await read_by(platform, chat_id, "drop that file") == {"researcher#2"}
        assert await read_by(platform, chat_id, "stop") == {"researcher#1", "researcher#2"}

    assert len(chat.turns) == 1
    assert rows == [("go", "read", None), ("drop that file", "read", None), ("stop", "read", None)]
    prompts = [prompt_of(prompt).splitlines() for prompt in cast.prompts("researcher")]
    assert any("drop that file" in lines for lines in prompts)


@pytest.mark.rows("T143")
@pytest.mark.parametrize(
    ("to", "error"), [("writer#1", RecipientFinished), ("coder", NotFound), ("re searcher", InvalidArguments)]
)
async def test_words_to_nobody_who_reads_are_refused_with_the_roster_and_nothing_is_stored(
    tmp_path: Path, to: str, error: type[RestanteError]
) -> None:
    cast = cast_of(BusPolicy())
    async with playing(tmp_path, cast) as platform:
        chat_id = await started(platform)
        with pytest.raises(error, match=r"researcher#1 \(running\)"):
            await platform.say(chat_id, "hello", to)
        await cast.open("look", "look again", "end")
        await ended(platform, chat_id)
        rows = await rows_of(platform, chat_id)

    assert rows == [("go", "read", None)]


@both
@pytest.mark.rows("T143")
async def test_words_to_a_run_are_refused_where_no_turn_runs(tmp_path: Path, policy: BusPolicy) -> None:
    async with playing(tmp_path, cast_of(policy)) as platform:
        chat_id = await platform.create_chat()
        with pytest.raises(NoTurn, match="no addresses"):
            await platform.say(chat_id, "hello", "researcher#1")
        assert await rows_of(platform, chat_id) == []


@pytest.mark.rows("T145")
async def test_unread_words_to_a_worker_are_reported_and_those_to_the_entry_agent_are_the_next_turn(
    tmp_path: Path,
) -> None:
    cast = Cast(
        BusPolicy(),
        researcher=[waits("look"), fails("gone")],
        assistant=ScriptedModel.of_runs([spawns("researcher"), fails("gone")], [says("and ok")]),
    )

    async with playing(tmp_path, cast) as platform:
        chat_id = await platform.create_chat()
        await platform.say(chat_id, "go")
        await until(platform, chat_id, "tool_call", "researcher#1")
        await platform.say(chat_id, "never read", "researcher#1")
        await platform.say(chat_id, "to you", "assistant")
        await cast.open("look")
        chat = await ended(platform, chat_id)
        rows = await rows_of(platform, chat_id)

    report = chat.turns[0].report or {}
    reported = [(one["text"], one["address"], one["reason"]) for one in report["unmet"]]
    assert reported == [("never read", "researcher#1", "model_call_failed")]
    left = [(text, reason) for text, state, reason in rows if state == "undeliverable"]
    assert left == [("never read", "model_call_failed")]
    assert [message.text for message in chat.turns[1].cause] == ["to you"]
