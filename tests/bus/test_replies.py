"""A message that says what it answers, and questions about messages that nobody sent."""

import pytest

from restante import BusPolicy, Message, MessageBus, Reader
from restante.bus.rendering import prompt_text, provenance
from restante.errors import BadLabel, UnknownMessage
from tests.bus.policies import both


def asked(policy: BusPolicy) -> tuple[MessageBus, Reader, Reader, str]:
    """A bus on which the scout has asked the coder something; the id of the question."""
    bus = MessageBus(policy)
    scout, coder = bus.open("scout"), bus.open("coder")
    question = scout.send("coder#1", "which branch?").message_id
    assert question is not None
    coder.drain()
    return bus, scout, coder, question


@both
def test_a_reply_carries_the_id_of_what_it_answers(policy: BusPolicy) -> None:
    _, scout, coder, question = asked(policy)

    assert coder.send("scout#1", "main", in_reply_to=question).accepted

    (delivery,) = scout.drain()
    assert delivery.message.in_reply_to == question
    assert delivery.provenance()["in_reply_to"] == question


@both
def test_a_run_answers_only_what_came_to_it(policy: BusPolicy) -> None:
    bus, scout, _, question = asked(policy)
    writer = bus.open("writer")

    for sender in (writer, scout):
        receipt = sender.send("coder", "main", in_reply_to=question)
        assert (receipt.accepted, receipt.code) == (False, "invalid_reference")


@both
@pytest.mark.parametrize("message_id", ["m99", "m0", "m-1", "m\u00b2", "nonsense", "m" + "9" * 5_000, ""])
def test_an_answer_to_a_message_that_nobody_sent_is_refused(policy: BusPolicy, message_id: str) -> None:
    _, _, coder, _ = asked(policy)

    receipt = coder.send("scout", "main", in_reply_to=message_id)

    assert (receipt.accepted, receipt.code) == (False, "invalid_reference")


@both
def test_a_broadcast_may_be_answered_by_a_run_that_has_not_drained_it_yet(policy: BusPolicy) -> None:
    bus = MessageBus(policy)
    scout = bus.open("scout")
    question = scout.send("everyone", "which branch?").message_id
    late = bus.open("coder")

    assert late.send("scout", "main", in_reply_to=question).accepted


@both
def test_a_run_answers_its_own_broadcast_only_where_that_came_back_to_it(policy: BusPolicy) -> None:
    bus = MessageBus(policy)
    scout, _ = bus.open("scout"), bus.open("coder")
    question = scout.send("everyone", "which branch?").message_id
    scout.drain()

    receipt = scout.send("coder", "main", in_reply_to=question)

    assert receipt.code == (None if policy.own_sends_come_back else "invalid_reference")


@both
@pytest.mark.parametrize("message_id", ["m1", "m0", "m"])
def test_on_an_empty_list_every_id_is_unknown(policy: BusPolicy, message_id: str) -> None:
    with pytest.raises(UnknownMessage):
        MessageBus(policy).fates(message_id)


@both
@pytest.mark.parametrize("message_id", ["m99", "", "m" + "1" * 400])
def test_the_fate_of_a_message_that_nobody_sent_is_unknown(policy: BusPolicy, message_id: str) -> None:
    bus, *_ = asked(policy)
    with pytest.raises(UnknownMessage):
        bus.fates(message_id)


@both
def test_a_turn_has_one_entry_agent(policy: BusPolicy) -> None:
    bus = MessageBus(policy)
    bus.open_entry("assistant")
    with pytest.raises(BadLabel, match="cannot be 'writer' as well"):
        bus.open_entry("writer")
    assert [line.address for line in bus.roster()] == ["assistant"]


@both
def test_a_late_reader_has_mail_before_its_first_drain(policy: BusPolicy) -> None:
    bus = MessageBus(policy)
    bus.open("scout").send("everyone", "the cache is warm")
    late = bus.open("coder")

    assert late.has_mail()
    late.drain()
    assert not late.has_mail()


def test_a_notice_of_the_bus_begins_with_a_marker_of_its_own_and_is_quoted() -> None:
    notice = Message("m1", 1, "bus", "bus", "coder#1", "two lines\nof it")
    assert prompt_text(notice) == "[notice] two lines\n> of it"
    assert prompt_text(notice._replace(text="")) == "[notice] "


def test_a_message_on_its_own_is_shown_as_news_handed_over_once() -> None:
    message = Message("m1", 1, "scout#1", "agent", "coder#1", "hello")
    assert prompt_text(message) == "[message from scout#1] hello"
    assert (provenance(message)["replayed"], provenance(message)["redelivered"]) == (False, False)
