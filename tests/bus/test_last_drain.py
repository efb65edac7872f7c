"""The end of a run and a send that meet: one of them is first, and nothing accepted is left behind."""

import pytest

from restante import BusPolicy, MessageBus, Reader, Receipt
from restante.testing import call, calls, says
from restante.turn import MailboxOptions
from tests.bus.seen import matched, obliged, texts
from tests.turn.playing import DURING, Stage, agent

CLASSIC = BusPolicy.classic()


def wrapping(bus: MessageBus) -> Reader:
    """A run that has taken its last drain and is in its wrap-up call."""
    reader = bus.open("researcher")
    assert reader.drain_last() == ()
    return reader


@pytest.mark.rows("T099")
def test_a_send_that_comes_before_the_last_drain_keeps_the_run_reading() -> None:
    bus = MessageBus()
    worker, writer = bus.open("researcher"), bus.open("coder")

    receipt = writer.send("researcher#1", "one more thing")

    assert matched(receipt) == ["researcher#1"]
    assert texts(worker.drain_or_close()) == ["one more thing"]
    assert bus.roster()[0].in_words() == "researcher#1 (running)"
    assert writer.send("researcher#1", "and another").accepted
    assert texts(worker.drain_or_close()) == ["and another"]


@pytest.mark.rows("T099")
def test_a_send_that_comes_after_the_last_drain_is_refused() -> None:
    bus = MessageBus()
    worker, writer = bus.open("researcher"), bus.open("coder")

    assert worker.drain_or_close() == ()
    line = bus.roster()[0]
    receipt = writer.send("researcher#1", "one more thing")

    assert (line.state, line.how, line.reads) == ("finished", "answered", False)
    assert (receipt.accepted, receipt.code) == (False, "recipient_finished")
    assert bus.close() == ((), ())


@pytest.mark.anyio
@pytest.mark.rows("T099")
async def test_a_run_that_is_about_to_answer_gets_another_round_for_mail_that_is_first() -> None:
    stage = Stage()

    result = await stage.run(
        agent(says("hi", seconds=DURING), says("hi, bye"), sleep=stage.writes("say bye", "worker#1"))
    )

    assert result.output == "hi, bye"
    assert stage.entries.story("worker#1")[:4] == ["round 0", "says hi", "reads say bye", "round 1"]
    assert stage.friend.send("worker#1", "too late").code == "recipient_finished"


@pytest.mark.rows("T100")
def test_under_classic_a_send_after_the_last_drain_is_accepted_and_told_of_at_the_end() -> None:
    bus = MessageBus(CLASSIC)
    worker, writer = bus.open("researcher"), bus.open("coder")
    assert worker.drain_or_close() == ()

    receipt = writer.send("researcher#1", "too late")

    assert matched(receipt) == ["researcher#1"]
    assert worker.drain() == ()
    assert [(unmet.text, unmet.reason) for unmet in bus.close().unmet] == [("too late", "never_drained")]


@pytest.mark.rows("T100")
def test_under_classic_a_run_in_its_wrap_up_drains_no_more_though_it_is_matched() -> None:
    bus = MessageBus(CLASSIC)
    writer, late = bus.open("coder"), wrapping(bus)

    receipt = writer.send("researcher#1", "too late")

    assert matched(receipt) == ["researcher#1"]
    assert not late.has_mail()
    assert (late.drain(), late.drain_or_close(), late.drain_last()) == ((), (), ())
    assert [(unmet.text, unmet.reason) for unmet in bus.close().unmet] == [("too late", "never_drained")]


@pytest.mark.anyio
@pytest.mark.rows("T100")
async def test_under_classic_what_is_sent_to_a_run_that_has_answered_is_told_of() -> None:
    stage = Stage(CLASSIC)
    await stage.run(agent(says("hi")))

    assert stage.friend.send("worker#1", "too late").accepted

    assert stage.entries.of("delivery") == []
    assert [unmet.text for unmet in stage.bus.close().unmet] == ["too late"]


@pytest.mark.rows("T106")
@pytest.mark.parametrize("to", ["researcher#1", "researcher"])
def test_a_run_in_its_wrap_up_cannot_be_reached(to: str) -> None:
    bus = MessageBus()
    writer, _ = bus.open("coder"), wrapping(bus)

    receipt = writer.send(to, "one more thing")

    assert (receipt.accepted, receipt.code) == (False, "recipient_finished")
    assert "researcher#1" in receipt.text
    assert bus.close() == ((), ())


@pytest.mark.rows("T106")
@pytest.mark.parametrize("to", ["researcher", "everyone"])
def test_a_run_in_its_wrap_up_is_named_as_not_reached_where_another_is_matched(to: str) -> None:
    bus = MessageBus()
    writer, late = bus.open("coder"), wrapping(bus)
    other = bus.open("researcher")

    receipt = writer.send(to, "one more thing")

    assert matched(receipt) == obliged(bus, receipt) == ["researcher#2"]
    assert receipt.not_reached == (("researcher#1", "running"),)
    assert "researcher#1" in receipt.text
    assert late.drain() == late.drain_last() == ()
    assert texts(other.drain_or_close()) == ["one more thing"]
    other.returned()
    assert bus.close() == ((), ())


@pytest.mark.rows("T106")
def test_a_run_in_its_wrap_up_is_not_told_that_it_did_not_reach_itself() -> None:
    bus = MessageBus()
    late, writer, ended = wrapping(bus), bus.open("coder"), bus.open("researcher")
    ended.close("answered")

    receipt = late.send("everyone", "the last words")

    assert (matched(receipt), receipt.not_reached) == ([writer.address], (("researcher#2", "finished"),))


@pytest.mark.rows("T106")
def test_the_line_of_a_run_in_its_wrap_up_says_that_it_runs_and_no_longer_reads() -> None:
    bus = MessageBus()
    writer, late = bus.open("coder"), wrapping(bus)

    line = bus.roster()[1]

    assert (line.state, line.how, line.reads) == ("running", None, False)
    assert line.in_words() == "researcher#1 (running, reads no more)"
    assert late.send("coder", "it still sends").accepted
    assert texts(writer.drain()) == ["it still sends"]


@pytest.mark.anyio
@pytest.mark.rows("T106")
async def test_what_is_sent_during_a_wrap_up_call_is_refused_and_nothing_accepted_is_left() -> None:
    stage = Stage()
    receipts: list[Receipt] = []

    async def write(_: float) -> None:
        receipts.append(stage.friend.send("worker#1", "in time" if not receipts else "too late"))

    worker = agent(calls(call("list_agents"), seconds=DURING), says("ok", seconds=DURING), sleep=write)
    await stage.run(worker, options=MailboxOptions(rounds=1))

    assert [receipt.code for receipt in receipts] == [None, "recipient_finished"]
    assert stage.entries.story("worker#1")[-3:] == ["says ok", "closed wrap-up", "answers ok"]
    assert stage.entries.fates() == [("m1", "worker#1", "delivered", None)]
    assert stage.bus.close() == ((), ())
