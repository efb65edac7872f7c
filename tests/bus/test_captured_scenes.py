"""Scenes seen in real runs of such systems, played on the bus by hand."""

import pytest

from restante import BusPolicy, MessageBus

BOTH = pytest.mark.parametrize("policy", [BusPolicy(), BusPolicy.classic()], ids=lambda policy: policy.name)


@BOTH
@pytest.mark.rows("T208")
def test_a_broadcast_before_the_spawn_briefs_the_worker_and_nothing_is_left(policy: BusPolicy) -> None:
    bus = MessageBus(policy)
    assistant = bus.open_entry("assistant")
    assert [line.address for line in bus.roster()] == ["assistant"]
    assert assistant.send("everyone", "check the cache first").accepted

    worker = bus.open("researcher")
    assert [line.address for line in bus.roster()] == ["assistant", "researcher#1"]
    shown = [delivery.prompt_text() for delivery in worker.drain()]
    worker.returned()

    assert shown == ["[message from assistant, sent before you started] check the cache first"]
    assert bus.close() == ((), ())


@BOTH
@pytest.mark.rows("T209")
def test_a_question_of_a_finished_writer_carries_the_replay_mark(policy: BusPolicy) -> None:
    bus = MessageBus(policy)
    first = bus.open("report-writer")
    first.send("everyone", "can anyone read this file?")
    first.close("answered")

    second = bus.open("report-writer")

    shown = [delivery.prompt_text() for delivery in second.drain()]
    assert shown == ["[message from report-writer#1, sent before you started] can anyone read this file?"]


@pytest.mark.rows("T210")
def test_an_answer_to_a_finished_writer_is_refused_and_the_person_never_hears_of_it() -> None:
    bus = MessageBus()
    first = bus.open("report-writer")
    first.send("everyone", "can anyone read this file?")
    first.close("answered")
    second = bus.open("report-writer")
    second.drain()
    second.returned()

    receipt = second.send("report-writer#1", "yes, I can")
    second.close("answered")

    assert (receipt.accepted, receipt.code) == (False, "recipient_finished")
    assert "report-writer#1" in receipt.text
    assert bus.close().sentence() is None


@pytest.mark.rows("T211")
def test_under_classic_a_run_reads_what_it_sent_to_itself() -> None:
    bus = MessageBus(BusPolicy.classic())
    writer = bus.open("report-writer")

    assert writer.send("report-writer#1", "please check the file you wrote").accepted

    shown = [delivery.prompt_text() for delivery in writer.drain()]
    assert shown == ["[message from report-writer#1] please check the file you wrote"]


@pytest.mark.rows("T212")
def test_by_default_a_send_to_oneself_is_refused_and_says_so() -> None:
    bus = MessageBus()
    writer = bus.open("report-writer")

    receipt = writer.send("report-writer#1", "please check the file you wrote")

    assert (receipt.accepted, receipt.code) == (False, "self_send")
    assert "your own address" in receipt.text
    assert writer.drain() == ()
