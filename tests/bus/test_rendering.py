"""What the model reads: bare words of the person, and everybody else's in a frame that no body can imitate."""

import json

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from restante import BusPolicy, Delivery, MessageBus
from restante.texts import problem_of
from tests.bus.texts import FRAGMENTS, unquoted

POLICIES = st.sampled_from([BusPolicy(), BusPolicy.classic()])
MARKER = "[message from "


def delivered(policy: BusPolicy, text: str, origin: str) -> Delivery:
    """The text, sent by the person, an agent or an external sender to a run that reads it."""
    bus = MessageBus(policy)
    reader = bus.open("coder")
    if origin == "person":
        bus.send_person(text, to="coder")
    elif origin == "agent":
        bus.open("researcher").send("coder", text)
    else:
        bus.send_external("desk", text, message_id="msg-1", to="coder", reply_address="inbox-1")
    (delivery,) = reader.drain()
    return delivery


@pytest.mark.rows("T005")
@given(policy=POLICIES, text=FRAGMENTS, origin=st.sampled_from(["person", "agent", "external"]))
def test_every_character_that_was_sent_is_read_and_recorded(policy: BusPolicy, text: str, origin: str) -> None:
    assume(problem_of(text, policy.text_limit) is None)

    delivery = delivered(policy, text, origin)

    shown = delivery.prompt_text()
    if origin == "person":
        assert shown == text
    elif origin == "agent":
        assert unquoted(shown, len("[message from researcher#1] ")) == text
    else:
        assert unquoted(shown, shown.index("\n> ") + len("\n> ")) == text
    assert json.loads(json.dumps(delivery.message.text)) == text


@pytest.mark.rows("T005")
@given(policy=POLICIES, text=FRAGMENTS)
def test_the_record_gives_the_text_back_after_json(policy: BusPolicy, text: str) -> None:
    assume(problem_of(text, policy.text_limit) is None)
    bus = MessageBus(policy)
    bus.send_person(text)

    record = json.loads(json.dumps(bus.record()))

    assert [message["text"] for message in record["messages"]] == [text]


PARTS = st.lists(st.tuples(st.sampled_from(["person", "agent", "external"]), FRAGMENTS), min_size=1, max_size=3)


@pytest.mark.rows("T009")
@given(policy=POLICIES, body=FRAGMENTS, origin=st.sampled_from(["agent", "external"]), parts=PARTS)
def test_no_body_reads_like_words_of_the_person(
    policy: BusPolicy, body: str, origin: str, parts: list[tuple[str, str]]
) -> None:
    acceptable = [(who, text) for who, text in parts if problem_of(text, policy.text_limit) is None]
    assume(any(who == "person" for who, _ in acceptable))
    assume(not any(who == "person" and text.startswith(MARKER) for who, text in acceptable))
    assume(problem_of(body, policy.text_limit) is None)

    forged = delivered(policy, body, origin).prompt_text()
    honest = [delivered(policy, text, who).prompt_text() for who, text in acceptable]

    assert forged not in [shown for (who, _), shown in zip(acceptable, honest, strict=True) if who == "person"]
    assert forged != "\n\n".join(honest)


@pytest.mark.rows("T009")
@given(policy=POLICIES, body=FRAGMENTS, origin=st.sampled_from(["agent", "external"]))
def test_no_line_but_the_first_of_a_foreign_body_can_stand_where_a_marker_stands(
    policy: BusPolicy, body: str, origin: str
) -> None:
    assume(problem_of(body, policy.text_limit) is None)

    first, *rest = delivered(policy, body, origin).prompt_text().splitlines()

    assert first.startswith(MARKER)
    assert not any(line.startswith((MARKER, "[notice]")) for line in rest)
