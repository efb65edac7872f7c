import pytest

from restante.bus import BusPolicy
from tests.turn.playing import BOTH
from tests.turn.scenes import a_question_outlives_its_writer, thanks_to_the_finished, two_researchers

pytestmark = pytest.mark.anyio

READ_BY_SECOND = ["round 0", "calls list_agents", "list_agents: ok", "reads the answer is 42", "round 1"]


async def test_a_broadcast_comes_back_to_its_sender_under_classic() -> None:
    entries = (await two_researchers(BusPolicy.classic())).entries

    assert [names[0] for names in entries.of("message")[0]["matched"]] == ["assistant", "researcher#1", "researcher#2"]
    assert entries.story("researcher#1")[:5] == [
        "round 0",
        "calls send_message",
        "send_message: ok",
        "reads the answer is 42",
        "round 1",
    ]
    assert entries.story("researcher#2")[:5] == READ_BY_SECOND
    assert entries.of("delivery", "researcher#1")[0]["sender"] == "researcher#1"


async def test_a_broadcast_reaches_the_sibling_between_its_rounds_and_the_parent_after_both_results() -> None:
    entries = (await two_researchers(BusPolicy())).entries

    receipt = entries.results("send_message")[0]
    assert "assistant (waiting), researcher#2 (running): 2 addresses" in receipt
    assert entries.story("researcher#2")[:5] == READ_BY_SECOND
    assert not [words for words in entries.story("researcher#1") if words.startswith("reads")]
    assert entries.story("assistant")[5:9] == ["spawn: ok", "spawn: ok", "reads the answer is 42", "round 1"]


async def test_thanks_to_a_finished_worker_are_accepted_and_reported_under_classic() -> None:
    played = await thanks_to_the_finished(BusPolicy.classic())

    assert "- researcher#1\n" in played.entries.results("list_agents")[0]
    assert "Accepted for researcher#1" in played.entries.results("send_message")[0]
    (unmet,) = played.result.report.unmet
    assert (unmet.sender, unmet.to, unmet.text, unmet.reason) == (
        "assistant",
        "researcher#1",
        "thank you",
        "never_drained",
    )
    sentence = played.result.report.sentence()
    assert sentence is not None
    assert sentence.startswith("Undelivered: assistant -> researcher#1: thank you")


async def test_thanks_to_a_finished_worker_are_refused_by_default() -> None:
    played = await thanks_to_the_finished(BusPolicy())

    assert "- researcher#1 (finished: answered)" in played.entries.results("list_agents")[0]
    (refused,) = played.entries.results("send_message")
    assert refused.startswith("recipient_finished: ")
    assert "researcher#1" in refused
    assert played.entries.of("message") == []
    assert played.result.report.sentence() is None


@pytest.mark.parametrize("policy", BOTH, ids=lambda policy: policy.name)
async def test_a_question_of_a_writer_that_has_ended_is_replayed_to_the_next_one(policy: BusPolicy) -> None:
    entries = (await a_question_outlives_its_writer(policy)).entries

    (question,) = [one for one in entries.of("delivery", "report-writer#2") if one["text"] == "which format?"]
    assert question["replayed"]


async def test_an_answer_to_a_writer_that_has_ended_is_refused_by_default() -> None:
    played = await a_question_outlives_its_writer(BusPolicy())

    assert played.entries.results("send_message", "report-writer#2")[0].startswith("recipient_finished: ")
    assert played.result.report.unmet == ()
