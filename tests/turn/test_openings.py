"""What a turn and a spawn may begin with, and what becomes of a sink that fails."""

import logging

import pytest
from pydantic_ai import Agent

from restante import JournalEntry
from restante.errors import InvalidText, TextBlank, TextTooLong
from restante.testing import ScriptedModel, call, calls, says
from restante.turn import TurnOptions, run_turn

pytestmark = pytest.mark.anyio


@pytest.mark.parametrize(
    ("words", "error"), [("", TextBlank), (" \n", TextBlank), ("a\0", InvalidText), ("x" * 20_001, TextTooLong)]
)
async def test_a_turn_begins_with_words_that_could_be_sent(words: str, error: type[Exception]) -> None:
    with pytest.raises(error):
        await run_turn(Agent(ScriptedModel(says("never"))), words)


async def test_a_worker_is_not_started_on_a_blank_task() -> None:
    worker = Agent(ScriptedModel(says("never")))
    boss = Agent(ScriptedModel(calls(call("spawn", agent="coder", task=" ")), says("done")))

    result = await run_turn(boss, "go", TurnOptions(agents={"coder": worker}))

    assert [ran.address for ran in result.runs] == ["assistant"]
    assert result.output == "done"


async def test_a_sink_that_raises_is_logged_once_and_the_journal_goes_on(caplog: pytest.LogCaptureFixture) -> None:
    def full(_: JournalEntry) -> None:
        raise OSError("disk full")

    caplog.set_level(logging.ERROR)

    result = await run_turn(Agent(ScriptedModel(says("hello"))), "go", TurnOptions(sink=full))

    assert result.output == "hello"
    assert [record.getMessage() for record in caplog.records] == [
        "The sink of a turn raised at entry 1; it is told nothing more."
    ]
