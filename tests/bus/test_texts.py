"""Bodies: whole or refused, and never changed on their way."""

import json

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from restante import BusPolicy, Delivery, MessageBus
from restante.texts import problem_of
from tests.bus.policies import both
from tests.bus.seen import texts, the_list
from tests.bus.texts import BREAKS, FRAGMENTS, unquoted

FAMILY = "\U0001f469\u200d\U0001f469\u200d\U0001f467"
LIMIT = 20_000


@both
@pytest.mark.rows("T092")
def test_a_zero_width_space_is_something_to_read(policy: BusPolicy) -> None:
    bus = MessageBus(policy)
    reader = bus.open("coder")

    assert bus.open("writer").send("coder", "\u200b").accepted
    assert texts(reader.drain()) == ["\u200b"]


@both
@pytest.mark.rows("T093")
@pytest.mark.parametrize(
    "text", ["x" * LIMIT, "\U0001f600" * LIMIT, FAMILY * 5_000], ids=["letters", "emoji", "joined"]
)
def test_a_text_of_as_many_code_points_as_the_limit_arrives_whole(policy: BusPolicy, text: str) -> None:
    bus = MessageBus(policy)
    reader = bus.open("coder")
    text = text[:LIMIT]

    assert len(text) == LIMIT
    assert bus.open("writer").send("coder", text).accepted
    assert texts(reader.drain()) == [text]


@both
@pytest.mark.rows("T093")
@pytest.mark.parametrize("character", ["x", "\U0001f600", "\n"])
def test_a_text_of_one_more_is_refused_with_limit_and_length_and_not_cut(policy: BusPolicy, character: str) -> None:
    bus = MessageBus(policy)
    reader = bus.open("coder")

    receipt = bus.open("writer").send("coder", character * (LIMIT + 1))

    assert (receipt.accepted, receipt.code) == (False, "text_too_long")
    assert "20,000" in receipt.text
    assert "20,001" in receipt.text
    assert (the_list(bus), reader.drain()) == ([], ())


@both
@pytest.mark.rows("T094")
@given(
    before=FRAGMENTS.filter(lambda text: "\0" not in text) | st.just(""),
    bad=st.sampled_from(["\0", "\ud800", "\udbff", "\udc00", "\udfff"]),
    after=FRAGMENTS | st.just(""),
)
def test_a_character_that_cannot_be_sent_is_named_with_its_place_and_not_replaced(
    policy: BusPolicy, before: str, bad: str, after: str
) -> None:
    bus = MessageBus(policy)
    reader = bus.open("coder")

    receipt = bus.open("writer").send("coder", before + bad + after)

    assert (receipt.accepted, receipt.code) == (False, "invalid_text")
    assert receipt.text.startswith(f"U+{ord(bad):04X} at place {len(before)} ")
    assert (the_list(bus), reader.drain()) == ([], ())


HOSTILE = [
    "👩‍👩‍👧 ok",
    "e\u0301 and \u00e9",
    "\u05d0\u200f\u202eabc\u202c\u2066x\u2069",
    "\u200b\u200c\ufeffx",
    "".join(map(chr, [*range(1, 32), *range(127, 160)])) + "x",
    "\n\n  x  \n\n",
    "\u3000x\u3000",
    *(f"{line_break}a{line_break}" for line_break in BREAKS),
]


@both
@pytest.mark.rows("T095")
@pytest.mark.parametrize("text", HOSTILE)
def test_nothing_is_normalised_trimmed_or_stripped_on_any_step(policy: BusPolicy, text: str) -> None:
    assert_whole_on_every_step(policy, text)


@both
@pytest.mark.rows("T095")
@given(text=FRAGMENTS)
def test_any_text_that_is_accepted_is_the_same_on_every_step(policy: BusPolicy, text: str) -> None:
    assume(problem_of(text, LIMIT) is None)
    assert_whole_on_every_step(policy, text)


def assert_whole_on_every_step(policy: BusPolicy, text: str) -> None:
    told: list[object] = []
    bus = MessageBus(policy, sink=lambda entry: told.append(entry.facts.get("text")))
    reader = bus.open("coder")
    assert bus.open("writer").send("coder", text).accepted
    assert texts(reader.drain()) == [text]
    bus.close()

    assert [one for one in told if one is not None] == [text, text]
    record = bus.record()
    for loaded in (record, json.loads(json.dumps(record)), json.loads(json.dumps(record, ensure_ascii=False))):
        assert [message["text"] for message in loaded["messages"]] == [text]
        assert [unmet["text"] for unmet in loaded["report"]["unmet"]] == [text]


BODY = "".join(f"line {number}{BREAKS[number % len(BREAKS)]}" for number in range(3000))[: LIMIT - 1] + "."


def every_kind_of_delivery(policy: BusPolicy) -> list[Delivery]:
    """A long body, delivered in each way that there is, on a bus that shows as little as it may."""
    bus = MessageBus(BusPolicy(name=policy.name, report_limit=1))
    assistant, writer = bus.open_entry("assistant"), bus.open("writer")
    writer.send("everyone", BODY)
    bus.send_person(BODY)
    bus.send_external("desk", BODY, message_id="x-1", reply_address="inbox-1")
    live = assistant.drain()
    assistant.failed()
    return [*live, *bus.open("coder").drain(), *assistant.drain()]


def body_of(delivery: Delivery) -> str:
    """What a model reads of a delivery, its frame and quoting removed."""
    shown = delivery.prompt_text()
    if delivery.message.origin == "person":
        return shown
    frame = "] " if delivery.message.origin == "agent" else "\n> "
    return unquoted(shown, shown.index(frame) + len(frame))


@both
@pytest.mark.rows("T022", "B02", "B171")
def test_every_kind_of_delivery_carries_every_character(policy: BusPolicy) -> None:
    deliveries = every_kind_of_delivery(policy)

    kinds = {(one.message.origin, one.replayed, one.redelivered) for one in deliveries}
    assert len(kinds) == 9
    assert len(BODY) == LIMIT
    for delivery in deliveries:
        assert delivery.message.text == BODY
        assert body_of(delivery) == BODY
