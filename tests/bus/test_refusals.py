"""Sends that are refused: the code, the words that say what would have worked, and nothing that is stored."""

import pytest

from restante import BusPolicy, MessageBus
from restante.bus.roster import SHOWN_LINES
from tests.bus.policies import both
from tests.bus.seen import listed, matched, the_list


@both
@pytest.mark.rows("T065")
@pytest.mark.parametrize("to", ["researcher#3", "coder#1"])
def test_an_address_that_nobody_in_this_turn_ever_had_is_refused_with_the_roster(policy: BusPolicy, to: str) -> None:
    earlier = MessageBus(policy)
    assert to in [earlier.open(label).address for label in ("researcher", "researcher", "researcher", "coder")]
    bus = MessageBus(policy)
    assistant = bus.open_entry("assistant")
    bus.open("researcher")

    receipt = assistant.send(to, "hello")

    assert (receipt.accepted, receipt.code) == (False, "not_found")
    lead, you, other, all_of_them = receipt.text.splitlines()
    assert lead.endswith("You can write to those that read:")
    if policy.liveness:
        assert (you, other) == ("- assistant (running) (you)", "- researcher#1 (running)")
        assert all_of_them == "- everyone: all of the above that still read, except you."
    else:
        assert (you, other) == ("- assistant (you)", "- researcher#1")
        assert all_of_them == "- everyone: every one of the above at once."
    assert the_list(bus) == []


@both
@pytest.mark.rows("T075")
def test_a_run_that_has_not_been_spawned_cannot_be_written_to_but_everyone_can(policy: BusPolicy) -> None:
    bus = MessageBus(policy)
    assistant = bus.open_entry("assistant")

    for to in ("researcher", "researcher#1"):
        receipt = assistant.send(to, "check the cache")
        assert (receipt.accepted, receipt.code) == (False, "not_found")
        assert repr(to) in receipt.text
        assert "person" not in receipt.text
        assert listed(receipt.text) == ["assistant", "everyone"]

    assert assistant.send("everyone", "check the cache").accepted


@pytest.mark.rows("T075", "T087")
def test_a_refusal_says_so_where_no_address_would_have_worked() -> None:
    bus = MessageBus()
    assistant = bus.open_entry("assistant")

    receipt = assistant.send("researcher", "hello")

    assert "Nobody else is reading now" in receipt.text
    assert "runs that open later in this turn will get it" in receipt.text


@pytest.mark.rows("T079", "B63")
@pytest.mark.parametrize(("label", "to"), [("researcher", "researcher#1"), ("coder", "coder")])
def test_a_send_that_means_only_oneself_is_refused_and_not_quietly_dropped(label: str, to: str) -> None:
    bus = MessageBus()
    readers = {each.address: each for each in map(bus.open, ("researcher", "researcher", "coder"))}
    sender = readers[f"{label}#1"]

    receipt = sender.send(to, "note to myself")

    assert (receipt.accepted, receipt.code) == (False, "self_send")
    means = "is your own address" if to == sender.address else f"means only yourself, {sender.address}"
    assert receipt.text.startswith(f"{to!r} {means}. ")
    assert f"- {sender.address} (running) (you)\n" in receipt.text
    assert listed(receipt.text) == ["researcher#1", "researcher#2", "coder#1", "everyone"]
    assert the_list(bus) == []
    assert sender.drain() == ()


@pytest.mark.rows("T080", "B81")
def test_a_send_to_a_finished_run_is_refused_at_once_and_says_that_no_round_of_it_will_come() -> None:
    bus = MessageBus()
    assistant = bus.open_entry("assistant")
    bus.open("researcher").close("answered")
    bus.open("coder")

    receipt = assistant.send("researcher#1", "thank you")

    assert (receipt.accepted, receipt.code) == (False, "recipient_finished")
    assert "No further round will come of researcher#1 (finished: answered)" in receipt.text
    assert "- coder#1 (running)" in receipt.text
    assert the_list(bus) == []


@pytest.mark.rows("T082")
@pytest.mark.parametrize("sender_is_one_of_them", [False, True])
def test_a_label_whose_other_runs_have_all_finished_is_refused_with_their_names(sender_is_one_of_them: bool) -> None:
    bus = MessageBus()
    assistant, first, second = bus.open_entry("assistant"), bus.open("researcher"), bus.open("researcher")
    second.close("error")
    finished = {"researcher#2 (finished: error)"}
    if not sender_is_one_of_them:
        first.close("answered")
        finished.add("researcher#1 (finished: answered)")

    receipt = (first if sender_is_one_of_them else assistant).send("researcher", "hello")

    assert (receipt.accepted, receipt.code) == (False, "recipient_finished")
    assert set(receipt.text.split(" will come of ")[1].split(". ")[0].split(", ")) == finished


@pytest.mark.rows("T085", "B60")
def test_a_reply_to_the_address_in_a_frame_reaches_that_run_or_nobody() -> None:
    bus = MessageBus()
    assistant, first, sibling = bus.open_entry("assistant"), bus.open("researcher"), bus.open("researcher")
    first.send("assistant", "found it")
    (delivery,) = assistant.drain()
    framed = delivery.prompt_text().removeprefix("[message from ").partition("]")[0]

    assert matched(assistant.send(framed, "thank you")) == [first.address]
    first.drain()
    first.returned()
    first.close("answered")

    assert assistant.send(framed, "one more thing").code == "recipient_finished"
    assert sibling.drain() == ()


@pytest.mark.rows("T086")
def test_a_run_that_has_ended_cannot_send_from_a_callback_that_outlives_it() -> None:
    bus = MessageBus()
    worker = bus.open("researcher")
    bus.open_entry("assistant")

    def callback() -> str | None:
        return worker.send("everyone", "by the way").code

    worker.close("answered")

    assert callback() == "sender_finished"
    assert the_list(bus) == []


@pytest.mark.rows("T090")
def test_a_refusal_shows_fifty_lines_of_a_long_roster_with_those_that_live_and_counts_the_hidden_ones() -> None:
    bus = MessageBus()
    assistant = bus.open_entry("assistant")
    for number in range(59):
        worker = bus.open("researcher")
        if number < 45:
            worker.close("answered")

    shown = listed(assistant.send("coder", "hello").text)

    live = [line.address for line in bus.roster() if line.state != "finished"]
    assert len(bus.roster()) == 60
    assert [address for address in shown if address in live] == live
    assert shown[-2:] == ["and", "everyone"]
    assert len(shown[:-2]) == SHOWN_LINES == 50
    assert "and 10 more that have finished" in assistant.send("coder", "hello").text


@pytest.mark.rows("T087")
def test_a_refusal_says_that_nobody_reads_where_all_others_have_finished() -> None:
    bus = MessageBus()
    assistant = bus.open_entry("assistant")
    bus.open("researcher").close("answered")

    told = assistant.send("coder", "hello").text

    assert "Nobody else is reading now:\n" in told
    assert told.endswith("- everyone: nobody else is reading now; runs that open later in this turn will get it.")


@pytest.mark.rows("T087")
def test_a_refusal_to_somebody_who_is_no_run_excepts_nobody() -> None:
    bus = MessageBus()
    bus.open_entry("assistant")

    for receipt in (
        bus.send_person("hello", to="coder"),
        bus.send_external("desk", "hello", message_id="x-1", to="coder"),
    ):
        assert receipt.text.endswith("- everyone: all of the above that still read.")
        assert "(you)" not in receipt.text


@pytest.mark.rows("T087")
def test_under_classic_even_who_is_alone_can_write_to_an_address() -> None:
    told = MessageBus(BusPolicy.classic()).open_entry("assistant").send("coder", "hello").text

    assert "You can write to those that read:\n- assistant (you)\n" in told


@both
@pytest.mark.rows("T143")
@pytest.mark.parametrize("closed", [True, False])
@pytest.mark.parametrize("to", ["everyone", "coder", "coder#2", "writer", "a b", "desk"])
@pytest.mark.parametrize("text", ["hello", " ", "\0", "x" * 20_001])
def test_the_person_can_learn_how_a_send_would_be_refused_without_sending(
    policy: BusPolicy, closed: bool, to: str, text: str
) -> None:
    bus = MessageBus(policy, clock=lambda: 0.0)
    for label in ("coder", "coder", "writer"):
        bus.open(label).close("answered")
    bus.open("coder")
    if closed:
        bus.close()
    before = bus.record()

    foretold = bus.refusal_of_person(text, to=to)

    assert bus.record() == before
    receipt = bus.send_person(text, to=to)
    assert foretold == (None if receipt.accepted else receipt)
