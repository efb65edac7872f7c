"""Words that cannot be sent: nothing to read, or too much. They are refused in the turn, and change nothing of it."""

import pytest

from restante.bus import BusPolicy
from restante.testing import call, calls, says
from tests.turn.playing import BOTH
from tests.turn.stage import Cast, waits

pytestmark = pytest.mark.anyio

both = pytest.mark.parametrize("policy", BOTH, ids=lambda policy: policy.name)
BLANK = ["", " ", "   ", "\t", "\n", "\n\n\n", "\u00a0", "\u3000", "\u2028", " \t\u00a0\u3000\u2028\n"]


@both
@pytest.mark.rows("T091")
async def test_an_agents_text_with_nothing_to_read_is_refused_and_says_so(policy: BusPolicy) -> None:
    sends = calls(*(call("send_message", to="everyone", text=text) for text in BLANK))
    cast = Cast(policy, assistant=[sends, says("ok")])

    async with cast.turn() as turn:
        result = await turn.result()

    answers = cast.entries.results("send_message")
    assert len(answers) == len(BLANK)
    for answer in answers:
        assert answer.startswith("text_blank: ")
        assert "nothing to read" in answer
    assert {entry.facts["outcome"] for entry in cast.all("tool_result")} == {"error"}
    assert (cast.all("message"), result.record["messages"], result.output) == ([], [], "ok")


@both
@pytest.mark.rows("T091")
@pytest.mark.parametrize("text", BLANK)
async def test_a_blank_line_of_the_person_does_nothing(policy: BusPolicy, text: str) -> None:
    cast = Cast(policy, assistant=[waits("end"), says("ok")])

    async with cast.turn() as turn:
        before = list(cast.entries)
        receipt = turn.say(text)
        assert (receipt.accepted, receipt.code) == (False, "text_blank")
        assert "nothing to read" in receipt.text
        await cast.open()
        assert cast.entries == before
        await cast.open("end")
        result = await turn.result()

    assert (result.report, result.record["messages"]) == (((), ()), [])
    assert len(cast.prompts("assistant")) == 2


@both
async def test_words_of_the_person_that_are_too_long_are_refused_whole_with_limit_and_length(policy: BusPolicy) -> None:
    cast = Cast(policy, assistant=[waits("end"), says("ok")])

    async with cast.turn() as turn:
        fits, too_long = turn.say("x" * 20_000), turn.say("y" * 20_001)
        await cast.open("end")

    assert (fits.accepted, too_long.accepted, too_long.code) == (True, False, "text_too_long")
    assert "20,000" in too_long.text
    assert "20,001" in too_long.text
    assert cast.readers("x" * 20_000) == ["assistant"]
    assert len(cast.all("message")) == 1
