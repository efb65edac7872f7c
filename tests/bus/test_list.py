"""The list of a turn: what stands on it, and what a reader takes from it."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from restante import BusPolicy, MessageBus, Reader
from tests.bus.policies import both
from tests.bus.seen import addresses, texts, the_list
from tests.bus.threads import together

ACTS = st.lists(
    st.tuples(
        st.sampled_from(["open", "send", "person", "drain", "return", "close"]),
        st.integers(0, 5),
        st.sampled_from(["everyone", "coder", "coder#1", "coder#2", "nobody", "a b"]),
    ),
    max_size=30,
)


@both
@pytest.mark.rows("T013")
def test_a_turn_starts_with_a_list_a_roster_and_cursors_of_its_own(policy: BusPolicy) -> None:
    earlier = MessageBus(policy)
    for _ in range(3):
        earlier.open("researcher").send("everyone", "hello")
    earlier.close()

    bus = MessageBus(policy)
    assistant = bus.open_entry("assistant")

    assert (bus.record()["messages"], addresses(bus), assistant.drain()) == ([], ["assistant"], ())
    worker = bus.open("researcher")
    assert (worker.address, worker.drain()) == ("researcher#1", ())
    assert bus.send_person("hello").message_id == "m1"


@both
@pytest.mark.rows("T014")
def test_a_message_stays_in_its_own_turn(policy: BusPolicy) -> None:
    one, other = MessageBus(policy), MessageBus(policy)
    readers = [bus.open("researcher") for bus in (one, other) for _ in range(2)]

    readers[0].send("everyone", "of the one")
    readers[2].send("everyone", "of the other")

    assert texts(readers[1].drain()) == ["of the one"]
    assert texts(readers[3].drain()) == ["of the other"]
    assert "of the other" not in str(one.record())


@both
@pytest.mark.rows("T015")
@given(acts=ACTS)
def test_entries_keep_their_place_and_content_and_the_list_only_grows(
    policy: BusPolicy, acts: list[tuple[str, int, str]]
) -> None:
    bus = MessageBus(policy)
    readers = [bus.open("coder")]
    before = the_list(bus)
    for act, number, to in acts:
        perform(bus, readers, act, number=number, to=to)
        now = the_list(bus)
        assert now[: len(before)] == before
        assert [entry["sequence"] for entry in now] == list(range(1, len(now) + 1))
        before = now


def perform(bus: MessageBus, readers: list[Reader], act: str, *, number: int, to: str) -> None:
    reader = readers[number % len(readers)]
    if act == "open":
        readers.append(bus.open("coder"))
    elif act == "send":
        reader.send(to, f"note {number}")
    elif act == "person":
        bus.send_person(f"words {number}", to=to)
    elif act == "drain":
        reader.drain()
    elif act == "return":
        reader.returned()
    else:
        reader.close("answered")


@both
@pytest.mark.rows("T016")
def test_a_drain_takes_exactly_ones_own_mail_in_order_and_the_next_one_nothing(policy: BusPolicy) -> None:
    bus = MessageBus(policy)
    first, _, sender = (bus.open("researcher") for _ in range(3))
    for to, text in [(1, "a"), (2, "b"), (2, "c"), (2, "d"), (1, "e")]:
        sender.send(f"researcher#{to}", text)

    assert texts(first.drain()) == ["a", "e"]
    assert not first.has_mail()
    assert first.drain() == ()


@both
@pytest.mark.rows("T017", "B123")
def test_mail_for_others_is_passed_and_what_comes_after_it_is_found_at_once(policy: BusPolicy) -> None:
    bus = MessageBus(policy)
    reader, _, sender = (bus.open("researcher") for _ in range(3))
    for number in range(100):
        sender.send("researcher#2", f"{number}")
    assert reader.drain() == ()
    assert not reader.has_mail()

    sender.send("researcher#1", "for you")

    assert texts(reader.drain()) == ["for you"]
    assert reader.drain() == ()


@both
@pytest.mark.rows("T018")
def test_what_one_reader_drains_the_other_still_gets(policy: BusPolicy) -> None:
    bus = MessageBus(policy)
    one, other, sender = (bus.open("researcher") for _ in range(3))
    sender.send("everyone", "for both")
    sender.send("researcher#2", "for the other")

    assert texts(one.drain()) == ["for both"]

    assert texts(other.drain()) == ["for both", "for the other"]


@both
@pytest.mark.rows("T023", "B133")
def test_ten_threads_that_send_at_once_give_one_list_that_all_read_in_one_order(policy: BusPolicy) -> None:
    bus = MessageBus(policy)
    audience = [bus.open("reader") for _ in range(3)]
    senders = [bus.open("sender") for _ in range(10)]

    together([lambda sender=sender: sender.send("everyone", sender.address) for sender in senders])

    order = [entry["sender"] for entry in the_list(bus)]
    assert sorted(order) == sorted(sender.address for sender in senders)
    assert [entry["sequence"] for entry in the_list(bus)] == list(range(1, 11))
    assert [texts(reader.drain()) for reader in audience] == [order] * 3
    for sender in senders:
        own = () if policy.own_sends_come_back else (sender.address,)
        assert texts(sender.drain()) == [text for text in order if text not in own]


def words_and_mail(policy: BusPolicy) -> tuple[MessageBus, Reader, Reader]:
    """A bus with words of the person and mail of an agent that nobody has read yet."""
    bus = MessageBus(policy, clock=lambda: 0.0)
    assistant, worker = bus.open_entry("assistant"), bus.open("researcher")
    bus.send_person("first")
    worker.send("assistant", "found it")
    bus.send_person("second", to="assistant")
    bus.send_person("for the worker", to="researcher")
    return bus, assistant, worker


@both
@pytest.mark.rows("T024")
def test_a_peek_shows_the_persons_unread_words_and_changes_nothing(policy: BusPolicy) -> None:
    peeked, assistant, worker = words_and_mail(policy)
    untouched, *_ = words_and_mail(policy)

    peeks = [[message.text for message in peeked.unread_person()] for _ in range(2)]

    assert peeks == [["first", "second"]] * 2
    assert peeked.record() == untouched.record()
    assert (assistant.has_mail(), worker.has_mail()) == (True, True)
    assert peeked.close() == untouched.close()


@both
def test_what_the_person_has_said_is_told_in_order_whoever_has_read_it(policy: BusPolicy) -> None:
    bus, assistant, _ = words_and_mail(policy)
    assistant.drain()
    assistant.returned()

    assert [message.text for message in bus.person_words()] == ["first", "second", "for the worker"]


@both
def test_the_time_of_a_bus_begins_when_it_is_made(policy: BusPolicy) -> None:
    readings = iter([100.0, 107.5])
    bus = MessageBus(policy, clock=lambda: next(readings))
    assert bus.now_s() == 7.5


@both
@pytest.mark.rows("T024")
def test_a_peek_leaves_the_words_to_be_drained(policy: BusPolicy) -> None:
    bus, assistant, _ = words_and_mail(policy)
    bus.unread_person()

    assert texts(assistant.drain()) == ["first", "found it", "second"]
    assert bus.unread_person() == ()
