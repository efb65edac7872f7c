"""Whom a selector means: an address, a label, or everyone, spelled exactly."""

import pytest

from restante import BusPolicy, MessageBus
from restante.bus.address import THREE_FORMS
from tests.bus.policies import both
from tests.bus.seen import addresses, listed, matched, obliged, texts, the_list


@both
@pytest.mark.rows("T056")
def test_an_address_means_one_run_and_a_label_all_of_its_name(policy: BusPolicy) -> None:
    bus = MessageBus(policy)
    assistant = bus.open_entry("assistant")
    for label in ("researcher", "researcher", "coder"):
        bus.open(label)

    assert matched(assistant.send("researcher#2", "hello")) == ["researcher#2"]
    assert matched(assistant.send("researcher", "hello")) == ["researcher#1", "researcher#2"]


@both
@pytest.mark.rows("T057", "B46")
def test_a_label_matches_whole_and_in_its_own_turn_only(policy: BusPolicy) -> None:
    bus, other_turn = MessageBus(policy), MessageBus(policy)
    sender, api, longer = bus.open("assistant"), bus.open("api"), bus.open("api-v2")
    elsewhere = other_turn.open("api")

    assert matched(sender.send("api", "hello")) == ["api#1"]
    assert sender.send("ap", "hello").code == "not_found"

    assert [texts(reader.drain()) for reader in (api, longer, elsewhere)] == [["hello"], [], []]


@pytest.mark.rows("T058")
def test_under_classic_everyone_means_the_sender_as_well() -> None:
    bus = MessageBus(BusPolicy.classic())
    bus.open_entry("assistant")
    sender, _ = bus.open("researcher"), bus.open("researcher")

    assert matched(sender.send("everyone", "hello")) == ["assistant", "researcher#1", "researcher#2"]
    assert texts(sender.drain()) == ["hello"]


@pytest.mark.rows("T059", "B59", "B62")
def test_by_default_everyone_means_every_reader_but_the_sender() -> None:
    bus = MessageBus()
    bus.open_entry("assistant")
    sender, _ = bus.open("researcher"), bus.open("researcher")

    receipt = sender.send("everyone", "hello")

    assert matched(receipt) == ["assistant", "researcher#2"]
    assert "assistant (running), researcher#2 (running)" in receipt.text
    assert sender.address not in receipt.text
    assert sender.drain() == ()
    assert sender.drain_or_close() == ()


@pytest.mark.rows("T060")
def test_by_default_a_run_that_writes_to_its_own_label_means_the_others() -> None:
    bus = MessageBus()
    sender, other = bus.open("researcher"), bus.open("researcher")

    receipt = sender.send("researcher", "hello")

    assert (matched(receipt), obliged(bus, receipt)) == ([other.address], [other.address])
    assert sender.address not in receipt.text
    assert (texts(sender.drain()), texts(other.drain())) == ([], ["hello"])


MEANT = [(" researcher ", "researcher"), ("['researcher']", "researcher"), ("Researcher", "researcher")]


@both
@pytest.mark.rows("T063", "B53")
@pytest.mark.parametrize(("to", "exact"), [*MEANT, ("@researcher#1", "researcher#1"), ("EVERYONE", "everyone")])
def test_a_spelling_that_only_resembles_a_selector_is_refused_and_shown_the_exact_one(
    policy: BusPolicy, to: str, exact: str
) -> None:
    bus = MessageBus(policy)
    assistant, worker = bus.open_entry("assistant"), bus.open("researcher")

    receipt = assistant.send(to, "hello")

    assert not receipt.accepted
    assert f"Write exactly {exact!r}." in receipt.text
    assert (worker.drain(), the_list(bus)) == ((), [])


@both
@pytest.mark.rows("T063")
def test_the_exact_spelling_that_is_shown_keeps_its_capitals(policy: BusPolicy) -> None:
    bus = MessageBus(policy)
    bus.open("Researcher")
    assert "Write exactly 'Researcher'." in bus.open_entry("assistant").send("researcher", "hello").text


@both
@pytest.mark.rows("T066")
@pytest.mark.parametrize("to", ["User", "PERSON", "Everyone", "System", "bus"])
def test_a_reserved_name_in_any_letter_case_is_a_name_that_nobody_answers_to(policy: BusPolicy, to: str) -> None:
    assert MessageBus(policy).open_entry("assistant").send(to, "hello").code == "not_found"


@both
@pytest.mark.rows("T063")
def test_where_nothing_would_match_no_spelling_is_offered(policy: BusPolicy) -> None:
    bus = MessageBus(policy)

    assert "exactly" not in bus.open_entry("assistant").send(" coder ", "hello").text


@both
@pytest.mark.rows("T064", "B53")
@pytest.mark.parametrize(
    "to", ["", "#1", "researcher#", "researcher#01", "researcher#0", "everyone#1", "a b", "researcher#\u0661", "a#1#2"]
)
def test_a_selector_of_none_of_the_three_forms_is_refused_with_the_forms_and_the_roster(
    policy: BusPolicy, to: str
) -> None:
    bus = MessageBus(policy)
    assistant, _ = bus.open_entry("assistant"), bus.open("researcher")

    receipt = assistant.send(to, "hello")

    assert (receipt.accepted, receipt.code) == (False, "invalid_arguments")
    assert THREE_FORMS in receipt.text
    assert listed(receipt.text) == ["assistant", "researcher#1", "everyone"]
    assert the_list(bus) == []


@both
@pytest.mark.rows("T066")
@pytest.mark.parametrize("to", ["user", "person"])
def test_the_person_is_not_on_the_roster_and_cannot_be_written_to(policy: BusPolicy, to: str) -> None:
    bus = MessageBus(policy)
    assistant = bus.open_entry("assistant")
    bus.send_person("hello")

    receipt = assistant.send(to, "done")

    assert addresses(bus) == ["assistant"]
    assert (receipt.accepted, receipt.code) == (False, "not_found")
    assert "never an addressee" in receipt.text
    assert len(the_list(bus)) == 1


@both
@pytest.mark.rows("T061")
def test_labels_and_broadcasts_work_on_a_bus_that_was_told_of_no_label_at_all(policy: BusPolicy) -> None:
    bus = MessageBus(policy)
    sender, *others = bus.open("writer"), bus.open("coder"), bus.open("coder")

    assert matched(sender.send("coder", "to both")) == ["coder#1", "coder#2"]
    assert set(matched(sender.send("everyone", "to all"))) >= {"coder#1", "coder#2"}
    assert [texts(reader.drain()) for reader in others] == [["to both", "to all"]] * 2
