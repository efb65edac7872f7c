"""The person's words: what no run of the entry agent has read becomes the next turn, and nothing is run twice."""

import pytest

from restante import BusPolicy, CloseReport, Delivery, JournalEntry, MessageBus
from restante.testing import says
from restante.turn import TurnOptions, run_turn
from tests.bus.policies import both
from tests.bus.seen import texts
from tests.turn.playing import agent, last_parts, model_of

pytestmark = pytest.mark.anyio


def carried(report: CloseReport) -> list[str]:
    """The words that become the next turn."""
    return [message.text for message in report.next_turn]


def flags(deliveries: tuple[Delivery, ...]) -> dict[str, bool]:
    """What a drain gave, and which of it had been handed over before."""
    return {delivery.message.text: delivery.redelivered for delivery in deliveries}


@both
@pytest.mark.rows("T130")
def test_words_after_the_last_drain_are_the_next_turn_each_as_it_was_said(policy: BusPolicy) -> None:
    bus = MessageBus(policy)
    bus.open_entry("assistant").drain_or_close()
    for text, token in (("one\n", "line-1"), (" two", "line-2")):
        assert bus.send_person(text, token=token).accepted

    report = bus.close()

    assert [(words.text, words.message_id, words.token) for words in report.next_turn] == [
        ("one\n", "m1", "line-1"),
        (" two", "m2", "line-2"),
    ]
    assert isinstance(report.next_turn, tuple)
    assert report.unmet == ()


@both
@pytest.mark.rows("T130")
async def test_the_next_turn_is_run_once_and_each_message_is_a_part_of_its_own(policy: BusPolicy) -> None:
    def say(entry: JournalEntry) -> None:
        if entry.kind == "run_closed":
            bus.send_person("one\n")
            bus.send_person(" two")

    bus = MessageBus(policy, sink=say)
    first = await run_turn(agent(says("ok")), "go", TurnOptions(bus=bus))

    second = await run_turn(next_agent := agent(says("ok")), first.report.next_turn, TurnOptions(policy=policy))

    (prompt,) = model_of(next_agent).prompts
    assert last_parts(prompt) == ["one\n", " two"]
    assert second.report == ((), ())


@both
@pytest.mark.rows("T131")
def test_words_that_the_entry_agent_has_read_are_not_run_again(policy: BusPolicy) -> None:
    bus = MessageBus(policy)
    assistant = bus.open_entry("assistant")
    bus.send_person("hello")
    assistant.drain()
    assistant.returned()

    assert bus.close() == ((), ())


@both
@pytest.mark.rows("T132")
def test_words_that_only_a_worker_has_read_become_the_next_turn(policy: BusPolicy) -> None:
    bus = MessageBus(policy)
    bus.open_entry("assistant")
    worker = bus.open("coder")
    bus.send_person("hello")
    worker.drain()
    worker.returned()

    report = bus.close()

    assert carried(report) == ["hello"]
    assert report.unmet == ()


@both
@pytest.mark.rows("T135")
@pytest.mark.parametrize("to", ["everyone", "assistant"])
def test_words_of_a_turn_that_failed_become_the_next_one_in_the_order_of_typing(policy: BusPolicy, to: str) -> None:
    bus = MessageBus(policy)
    assistant = bus.open_entry("assistant")
    bus.send_person("in the call that failed", to=to)
    bus.send_person("in it, too", to=to)
    assistant.drain()
    bus.send_person("never drained", to=to)
    assistant.failed(call=0)
    assistant.close("error", error="boom")
    bus.send_person("after the end", to="everyone")

    report = bus.close()

    assert carried(report) == ["in the call that failed", "in it, too", "never drained", "after the end"]
    assert report.unmet == ()


@pytest.mark.rows("T136")
def test_words_that_run_again_are_not_also_reported_and_the_record_holds_both_fates() -> None:
    bus = MessageBus()
    bus.open_entry("assistant")
    worker = bus.open("coder")
    bus.send_person("hello")
    worker.close("error")

    report = bus.close()

    assert carried(report) == ["hello"]
    assert report.unmet == ()
    (message,) = bus.record()["messages"]
    fates = {fate["address"]: (fate["state"], fate["reason"]) for fate in message["fates"]}
    assert fates == {"assistant": ("carried", None), "coder#1": ("undelivered", "run_ended_first")}


@pytest.mark.rows("T137")
def test_words_that_the_entry_agent_read_and_a_worker_missed_are_reported_and_not_run_again() -> None:
    bus = MessageBus()
    assistant, worker = bus.open_entry("assistant"), bus.open("coder")
    bus.send_person("hello")
    assistant.drain()
    assistant.returned()
    worker.close("error")

    report = bus.close()

    assert [(unmet.sender, unmet.address, unmet.reason) for unmet in report.unmet] == [
        ("person", "coder#1", "run_ended_first")
    ]
    assert report.next_turn == ()


@both
@pytest.mark.rows("T139", "B225")
@pytest.mark.parametrize("opened_before", [True, False])
def test_words_said_while_no_entry_run_is_open_wait_for_the_next_one(policy: BusPolicy, opened_before: bool) -> None:
    bus = MessageBus(policy)
    if opened_before:
        bus.open_entry("assistant").close("answered", more=True)
    assert bus.send_person("hello").accepted
    assert [words.text for words in bus.unread_person()] == ["hello"]

    following = bus.open_entry("assistant")

    assert texts(following.drain()) == ["hello"]
    following.returned()
    assert following.drain() == ()
    assert bus.close() == ((), ())


@both
@pytest.mark.rows("T140", "B225")
@pytest.mark.parametrize("more", [True, False])
def test_words_whose_call_failed_come_again_first_and_in_order_and_are_marked(policy: BusPolicy, more: bool) -> None:
    bus = MessageBus(policy)
    first = bus.open_entry("assistant")
    bus.send_person("one")
    bus.send_person("two")
    first.drain()
    first.failed()
    first.close("error", more=more)
    bus.send_person("three")

    second = bus.open_entry("assistant")

    handed = second.drain()
    assert flags(handed) == {"one": True, "two": True, "three": False}
    assert texts(handed) == ["one", "two", "three"]
    assert [delivery.provenance()["redelivered"] for delivery in handed] == [True, True, False]
    second.returned()
    assert bus.close() == ((), ())


@both
@pytest.mark.rows("T140", "B225")
def test_what_came_during_a_call_that_failed_follows_what_the_call_carried(policy: BusPolicy) -> None:
    bus = MessageBus(policy)
    assistant = bus.open_entry("assistant")
    bus.send_person("one")
    assistant.drain()
    bus.send_person("two")

    assistant.failed()

    handed = assistant.drain()
    assert texts(handed) == ["one", "two"]
    assert flags(handed) == {"one": True, "two": False}
