import logging
from dataclasses import replace
from typing import Any

import pytest
from pydantic_ai import Agent, ModelRetry
from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart, ThinkingPart
from pydantic_ai.models.fallback import FallbackModel
from pydantic_ai.models.function import AgentInfo, FunctionModel

from restante.bus import BusPolicy, JournalEntry, MessageBus
from restante.testing import ScriptedModel, call, calls, fails, says
from restante.testing.scripted import ScriptedFailure
from restante.turn import TurnOptions, messaging_tools
from restante.turn.runs import Ran
from restante.turn.turn import TurnResult
from tests.turn.playing import BOTH, DURING, Entries, agent, meanwhile, play

pytestmark = pytest.mark.anyio

both = pytest.mark.parametrize("policy", BOTH, ids=lambda policy: policy.name)
SPAWNS = calls(call("spawn", agent="researcher", task="find out"))


class Heard:
    """What a listener has heard, in order."""

    def __init__(self) -> None:
        self.pieces: list[tuple[str, str]] = []

    def __call__(self, address: str, piece: str) -> None:
        self.pieces.append((address, piece))

    def texts(self, address: str) -> list[str]:
        """The texts of a run, put together; an empty piece begins a new one."""
        texts: list[str] = []
        for _, piece in (one for one in self.pieces if one[0] == address):
            if not piece:
                texts.append("")
            texts[-1] += piece
        return texts


def one(text: str = "one piece") -> ModelResponse:
    return ModelResponse(parts=[TextPart(text)])


async def test_the_texts_of_every_run_come_in_pieces() -> None:
    heard = Heard()
    options = TurnOptions(agents={"researcher": agent(says("It is 42."))}, on_text=heard)

    played = await play(agent(SPAWNS, says("The answer is 42.")), options=options)

    assert heard.pieces == [
        ("assistant", ""),
        ("researcher#1", ""),
        ("researcher#1", "It "),
        ("researcher#1", "is "),
        ("researcher#1", "42."),
        ("assistant", ""),
        ("assistant", "The "),
        ("assistant", "answer "),
        ("assistant", "is "),
        ("assistant", "42."),
    ]
    assert played.result.output == "The answer is 42."


@both
async def test_a_turn_whose_texts_are_listened_to_leaves_the_same_as_one_whose_are_not(policy: BusPolicy) -> None:
    heard = Heard()

    silent, silent_entries = await a_full_turn(policy, TurnOptions())
    told, told_entries = await a_full_turn(policy, TurnOptions(on_text=heard))

    assert without_usage(told_entries) == without_usage(silent_entries)
    assert told.record == silent.record
    assert (told.outcome, told.output, told.report) == (silent.outcome, silent.output, silent.report)
    assert without_tokens(told.runs) == without_tokens(silent.runs)
    assert [facts["text"] for facts in told_entries.of("model_text", "assistant")] == [
        text for text in heard.texts("assistant") if text
    ]


def without_usage(entries: Entries) -> list[JournalEntry]:
    """A model that only scripts its answers counts the tokens of streamed ones otherwise."""
    return [entry._replace(facts={}) if entry.kind == "usage" else entry for entry in entries]


def without_tokens(runs: tuple[Ran, ...]) -> list[Ran]:
    return [replace(ran, usage=replace(ran.usage, input_tokens=0, output_tokens=0)) for ran in runs]


async def a_full_turn(policy: BusPolicy, options: TurnOptions) -> tuple[TurnResult, Entries]:
    """Mail during calls and between runs, a worker that fails, one that is asked again, and a wrap-up."""
    entries = Entries()
    bus = MessageBus(policy, clock=lambda: 0.0, sink=entries.append)
    writes = calls(call("send_message", to="everyone", text="hello"))
    talks = meanwhile(lambda: bus.send_person("go on"))
    assistant = agent(
        writes,
        SPAWNS,
        calls(call("spawn", agent="coder", task="code"), call("nothing")),
        says("almost there", seconds=DURING),
        says("the end"),
        sleep=talks,
    )
    agents = {"researcher": agent(writes, says(""), says("42 it is")), "coder": agent(fails("boom"))}
    rounds = {"assistant": 4}
    if policy.name == "classic":
        rounds = {"assistant": 2}
    played = await play(assistant, options=replace(options, bus=bus, agents=agents, rounds=rounds))
    return played.result, entries


async def test_a_text_that_breaks_off_is_followed_by_an_empty_piece_when_another_begins() -> None:
    heard = Heard()
    worker = ScriptedModel.of_runs([fails("the line is dead", after="It is")], [says("It is 42.")])
    again = calls(call("spawn", agent="researcher", task="find out"))

    played = await play(
        agent(SPAWNS, again, says("ok")), options=TurnOptions(agents={"researcher": Agent(worker)}, on_text=heard)
    )

    assert heard.texts("researcher#1") == ["It is"]
    assert heard.texts("researcher#2") == ["It is 42."]
    assert "the line is dead" in played.entries.results("spawn")[0]


async def test_a_call_that_is_made_again_in_the_same_run_begins_anew() -> None:
    heard = Heard()
    rejects = Agent(ScriptedModel(says("no, no"), says("yes")))

    @rejects.output_validator
    def check(text: str) -> str:
        if text != "yes":
            raise ModelRetry("Say yes.")
        return text

    await play(rejects, options=TurnOptions(on_text=heard))

    assert heard.texts("assistant") == ["no, no", "yes"]


async def test_a_model_that_fails_before_it_says_anything_is_replaced_by_its_fallback() -> None:
    heard = Heard()
    model = FallbackModel(ScriptedModel(fails("boom")), ScriptedModel(says("here I am")), fallback_on=ScriptedFailure)

    played = await play(Agent(model), options=TurnOptions(on_text=heard))

    assert played.result.output == "here I am"
    assert heard.texts("assistant") == ["here I am"]


async def test_a_model_that_cannot_stream_says_all_in_one_piece() -> None:
    heard = Heard()

    def answer(_: list[ModelMessage], __: AgentInfo) -> ModelResponse:
        return one()

    for model in (FunctionModel(answer), FallbackModel(FunctionModel(answer), ScriptedModel(says("no")))):
        played = await play(Agent(model), options=TurnOptions(on_text=heard))
        assert played.result.output == "one piece"

    assert heard.pieces == [("assistant", ""), ("assistant", "one piece")] * 2


async def test_texts_with_something_between_them_are_set_apart_as_in_the_journal() -> None:
    heard = Heard()

    def answer(_: list[ModelMessage], __: AgentInfo) -> ModelResponse:
        return ModelResponse(parts=[ThinkingPart("hm"), TextPart("one"), ThinkingPart("hm"), TextPart("two")])

    played = await play(Agent(FunctionModel(answer)), options=TurnOptions(on_text=heard))

    assert heard.texts("assistant") == [played.entries.of("model_text")[0]["text"]] == ["one\n\ntwo"]


async def test_a_listener_that_raises_is_logged_once_and_changes_nothing(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.ERROR, logger="restante")

    def raises(address: str, piece: str) -> None:
        raise OSError(address, piece)

    options = TurnOptions(agents={"researcher": agent(says("It is 42."))}, on_text=raises)
    played = await play(agent(SPAWNS, says("The answer is 42.")), options=options)

    assert played.result.output == "The answer is 42."
    assert len(caplog.records) == 1


@both
async def test_mail_while_an_answer_is_streamed_is_read_in_one_more_round(policy: BusPolicy) -> None:
    bus = MessageBus(policy)

    def write(_: str, piece: str) -> None:
        if piece == "hi":
            bus.send_person("also say bye")

    entry: Agent[Any, Any] = Agent(ScriptedModel(says("hi"), says("bye")), toolsets=[messaging_tools()])
    played = await play(entry, options=TurnOptions(bus=bus, on_text=write))

    assert played.result.output == "bye"
    assert played.result.report == ((), ())
