"""A person's words: committed first, then read by the turn that runs or by the next one."""

import asyncio
from pathlib import Path

import pytest
from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart, ToolCallPart
from pydantic_ai.models import Model
from pydantic_ai.models.function import AgentInfo, FunctionModel

from restante.durable import words
from restante.durable.words import Words
from restante.running.platform import Platform, Transcript, open_platform
from restante.testing import ScriptedModel
from restante.testing.scripted import prompt_of, says
from tests.running.platforms import config, hosting, platform_of, until

pytestmark = [pytest.mark.anyio, pytest.mark.timeout(60)]


class Held:
    """A model whose every call waits until it is let go, one at a time."""

    def __init__(self) -> None:
        self.prompts: list[str] = []
        self._go = asyncio.Semaphore(0)
        self.model: Model = FunctionModel(self._respond)

    def let_go(self, calls: int = 1) -> None:
        for _ in range(calls):
            self._go.release()

    async def _respond(self, messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        del info
        self.prompts.append(prompt_of(messages))
        await self._go.acquire()
        return ModelResponse(parts=[TextPart(f"answer {len(self.prompts)}")])


async def _end(platform: Platform, chat_id: str) -> Transcript:
    """Wait until the chat has nothing left to run."""
    _ = [entry async for entry in platform.watch(chat_id)]
    return await platform.transcript(chat_id)


async def _words(platform: Platform, turn_id: str) -> list[Words]:
    return await platform._database.read(lambda tx: words.list_words(tx, turn_id))


async def test_words_begin_a_turn_and_its_answer_is_in_the_transcript(tmp_path: Path) -> None:
    async with platform_of(tmp_path, ScriptedModel(says("hello to you"))) as platform:
        chat_id = await platform.create_chat()
        said = await platform.say(chat_id, "hello")
        chat = await _end(platform, chat_id)

    (turn,) = chat.turns
    assert said.state == "queued"
    assert (turn.state, turn.answer, [one.text for one in turn.cause]) == ("ended_ok", "hello to you", ["hello"])
    assert [entry.number for entry in turn.entries] == list(range(1, len(turn.entries) + 1))
    assert {"run_opened", "round", "model_text", "answer", "run_closed", "bus_closed"} <= {
        entry.kind for entry in turn.entries
    }


async def test_watching_gives_the_entries_that_the_transcript_has(tmp_path: Path) -> None:
    async with platform_of(tmp_path, ScriptedModel(says("hi"))) as platform:
        chat_id = await platform.create_chat()
        await platform.say(chat_id, "hello")
        seen = [entry async for entry in platform.watch(chat_id)]
        chat = await platform.transcript()

    assert seen == list(chat.turns[0].entries)


async def test_the_next_turn_of_a_chat_knows_the_earlier_ones(tmp_path: Path) -> None:
    held = Held()
    held.let_go(2)
    async with platform_of(tmp_path, held.model) as platform:
        chat_id = await platform.create_chat()
        for text in ("my name is Ada", "what is my name?"):
            await platform.say(chat_id, text)
            await _end(platform, chat_id)

    assert held.prompts[1] == "my name is Ada\nwhat is my name?"


async def test_words_join_the_running_turn_and_are_read_in_its_next_call(tmp_path: Path) -> None:
    held = Held()
    async with platform_of(tmp_path, held.model) as platform:
        chat_id = await platform.create_chat()
        first = await platform.say(chat_id, "begin")
        await until(lambda: len(held.prompts) == 1)
        joined = await platform.say(chat_id, "and this")
        held.let_go(2)
        chat = await _end(platform, chat_id)
        rows = await _words(platform, first.turn_id)

    assert (joined.state, joined.turn_id) == ("offered", first.turn_id)
    assert held.prompts[1] == "begin\nand this"
    assert [(one.text, one.state) for one in rows] == [("begin", "read"), ("and this", "read")]
    assert len(chat.turns) == 1


async def test_words_unread_when_the_person_stops_are_undeliverable(tmp_path: Path) -> None:
    held = Held()
    async with platform_of(tmp_path, held.model) as platform:
        chat_id = await platform.create_chat()
        first = await platform.say(chat_id, "begin")
        await until(lambda: held.prompts)
        await platform.say(chat_id, "unread")
        await platform.stop(chat_id)
        chat = await _end(platform, chat_id)
        rows = await _words(platform, first.turn_id)

    assert [turn.state for turn in chat.turns] == ["stopped"]
    assert [(one.text, one.state, one.reason) for one in rows] == [
        ("begin", "undeliverable", "stopped"),
        ("unread", "undeliverable", "stopped"),
    ]


async def test_words_that_a_failed_turn_never_read_become_the_next_turn(tmp_path: Path) -> None:
    waiting, go = asyncio.Event(), asyncio.Event()
    prompts: list[str] = []

    async def respond(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        del info
        prompts.append(prompt_of(messages))
        if len(prompts) == 1:
            waiting.set()
            await go.wait()
            raise RuntimeError("the model is gone")
        return ModelResponse(parts=[TextPart("fine")])

    async with platform_of(tmp_path, FunctionModel(respond)) as platform:
        chat_id = await platform.create_chat()
        await platform.say(chat_id, "begin")
        await waiting.wait()
        for text in ("one", "two"):
            await platform.say(chat_id, text)
        go.set()
        chat = await _end(platform, chat_id)

    assert [turn.state for turn in chat.turns] == ["ended_failed", "ended_ok"]
    assert [one.text for one in chat.turns[1].cause] == ["one", "two"]
    assert prompts == ["begin", "one\ntwo"]


async def test_words_said_at_any_moment_are_read_once_whatever_the_turn_does(tmp_path: Path) -> None:
    heard: list[str] = []

    def respond(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        del info
        heard.extend(line for line in prompt_of(messages[-1:]).splitlines() if line.startswith("w"))
        return ModelResponse(parts=[TextPart("ok")])

    async with platform_of(tmp_path, FunctionModel(respond)) as platform:
        chat_id = await platform.create_chat()
        for n in range(60):
            await platform.say(chat_id, f"w{n}")
            for _ in range(n % 7 * 40):
                await asyncio.sleep(0)
        chat = await _end(platform, chat_id)
        rows = [row for turn in chat.turns for row in await _words(platform, turn.turn_id)]

    assert sorted(heard) == sorted(f"w{n}" for n in range(60))
    assert {row.state for row in rows} == {"read"}
    assert len(rows) == 60


async def test_a_crash_leaves_the_transcript_and_carries_words_that_nobody_read(tmp_path: Path) -> None:
    going = asyncio.Event()

    async def work() -> str:
        going.set()
        await asyncio.Event().wait()
        return "never"

    def respond(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        del messages, info
        return ModelResponse(parts=[TextPart("I begin."), ToolCallPart("work", {})])

    agents = {"scout": hosting("scout", FunctionModel(respond), (work,))}
    async with open_platform(config(), agents, tmp_path / "store.db") as platform:
        chat_id = await platform.create_chat()
        await platform.say(chat_id, "begin")
        await going.wait()
        await platform.say(chat_id, "unread")
    async with platform_of(tmp_path, ScriptedModel(says("later"))) as platform:
        chat = await _end(platform, chat_id)

    first, second = chat.turns
    assert (first.state, second.state) == ("interrupted", "ended_ok")
    assert [entry.facts["text"] for entry in first.entries if entry.kind == "model_text"] == ["I begin."]
    assert [one.text for one in second.cause] == ["unread"]


async def test_no_two_messages_of_a_chat_have_the_same_id(tmp_path: Path) -> None:
    held = Held()
    async with platform_of(tmp_path, held.model) as platform:
        chat_id = await platform.create_chat()
        ids: list[object] = []
        for count in (1, 2):
            await platform.say(chat_id, "begin")
            await until(lambda count=count: len(held.prompts) == 2 * count - 1)
            await platform.say(chat_id, "and this")
            held.let_go(2)
            turn = (await _end(platform, chat_id)).turns[-1]
            ids += [entry.facts["message_id"] for entry in turn.entries if entry.kind == "message"]

    assert ids == ["m1", "t2m1"]
