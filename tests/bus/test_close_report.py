"""What a turn leaves behind: each unmet obligation, told the same way in report, sentence and record."""

from typing import Any

import pytest

from restante import BusPolicy, MessageBus, Unmet
from tests.bus.policies import both

FAMILY = "👩\u200d👩\u200d👧"


def recorded(bus: MessageBus) -> list[dict[str, Any]]:
    """The unmet obligations as the record has them."""
    return bus.record()["report"]["unmet"]


@both
@pytest.mark.rows("T124")
@pytest.mark.parametrize("to", ["coder", "coder#1"])
def test_an_entry_says_who_wrote_what_to_whom_and_why_it_was_not_read(policy: BusPolicy, to: str) -> None:
    now = 100.0
    bus = MessageBus(policy, clock=lambda: now)
    writer = bus.open("researcher")
    bus.open("coder")
    now = 107.5
    writer.send(to, "look at line 3")
    now = 150.0

    report = bus.close()

    assert report.unmet == (
        Unmet(
            sender="researcher#1",
            to=to,
            address="coder#1" if policy.liveness else None,
            reason="never_drained",
            text="look at line 3",
            missing=0,
            age_s=42.5,
            also_read_by=(),
        ),
    )
    assert recorded(bus) == [{**report.unmet[0]._asdict(), "also_read_by": []}]


@both
@pytest.mark.rows("T124")
def test_an_open_obligation_has_no_address(policy: BusPolicy) -> None:
    bus = MessageBus(policy)
    bus.open("researcher").send("everyone", "anybody?")

    assert [(unmet.to, unmet.address) for unmet in bus.close().unmet] == [("everyone", None)]


@both
@pytest.mark.rows("T124")
@pytest.mark.parametrize("opens", [True, False])
def test_words_that_a_stop_left_unread_have_the_address_of_the_entry_agent_by_default(
    policy: BusPolicy, opens: bool
) -> None:
    bus = MessageBus(policy)
    bus.send_person("wait")
    if opens:
        bus.open_entry("assistant")

    (unmet,) = bus.close(stopped=True).unmet

    assert unmet.address == ("assistant" if opens and policy.liveness else None)
    assert ("(assistant)" in unmet.line()) == (unmet.address is not None)
    assert [fate.address for fate in bus.fates("m1")] == ["assistant" if opens else None]


@both
@pytest.mark.rows("T124")
def test_an_entry_names_the_other_runs_that_did_read_the_message(policy: BusPolicy) -> None:
    bus = MessageBus(policy)
    bus.open_entry("assistant")
    readers = [bus.open("coder"), bus.open("researcher")]
    bus.send_person("wait")
    for reader in readers:
        reader.drain()
        reader.returned()

    (unmet,) = bus.close(stopped=True).unmet

    assert unmet.also_read_by == ("coder#1", "researcher#1")


@pytest.mark.rows("T348")
def test_those_who_also_read_a_message_are_named_in_the_order_of_the_roster_whoever_read_first() -> None:
    bus = MessageBus()
    failing, writer = bus.open("coder"), bus.open("researcher")
    writer.send("everyone", "hello")
    failing.close("error")
    late = [bus.open("coder"), bus.open("scout")]
    for reader in reversed(late):
        reader.drain()
        reader.returned()

    assert bus.close().unmet[0].also_read_by == ("coder#2", "scout#1")


@both
@pytest.mark.rows("T125")
@pytest.mark.parametrize(
    ("text", "shown", "missing"),
    [
        ("x" * 1_997 + FAMILY[:3], 2_000, 0),
        ("x" * 1_998 + FAMILY + "y" * 497, 2_000, 500),
    ],
    ids=["2000", "2500"],
)
def test_a_long_text_is_cut_and_the_note_says_how_much_is_missing(
    policy: BusPolicy, text: str, shown: int, missing: int
) -> None:
    assert len(text) == shown + missing
    bus = MessageBus(policy)
    bus.open("coder")
    bus.open("researcher").send("coder", text)

    report = bus.close()

    (unmet,) = report.unmet
    assert (unmet.text, unmet.missing) == (text[:2_000], missing)
    assert [(entry["text"], entry["missing"]) for entry in recorded(bus)] == [(unmet.text, missing)]
    told = report.sentence() or ""
    assert f": {text[:2_000]}{f' [{missing} characters more]' if missing else ' ('}" in told
    assert ("characters more" in told) == bool(missing)
    assert text not in told or not missing


WHY = {
    "run_ended_first": "the run ended before it was read",
    "never_drained": "nobody came to read it before the turn ended",
    "stopped": "the turn was stopped",
}


@both
@pytest.mark.parametrize(
    ("reason", "by_default", "by_classic"),
    [
        ("never_drained", WHY["never_drained"], "no matching reader took it"),
        ("stopped", WHY["stopped"], f"no matching reader took it: {WHY['stopped']}"),
        ("run_ended_first", WHY["run_ended_first"], f"no matching reader took it: {WHY['run_ended_first']}"),
    ],
)
def test_the_sentence_says_why_and_by_default_who_has_not_read(
    policy: BusPolicy, reason: str, by_default: str, by_classic: str
) -> None:
    now = 0.0
    bus = MessageBus(policy, clock=lambda: now)
    worker = bus.open("coder")
    bus.open("researcher").send("coder", "look at line 3")
    if reason == "run_ended_first":
        worker.drain()
        worker.close("cancelled")
    now = 61.0

    told = bus.close(stopped=reason == "stopped").sentence()

    whom, why = ("coder (coder#1)", by_default) if policy.liveness else ("coder", by_classic)
    assert told == f"Undelivered: researcher#1 -> {whom}: look at line 3 ({why}; 61 s after it was accepted)"


@pytest.mark.rows("T129")
def test_entries_come_in_the_order_of_sending_and_within_a_message_in_that_of_the_roster() -> None:
    bus = MessageBus()
    lonely = bus.open("researcher")
    lonely.send("everyone", "open")
    failing, other = bus.open("coder"), bus.open("coder")
    for text in ("one", "two", "three"):
        lonely.send("coder", text)
    other.close("error")
    failing.close("error")

    unmet = [(entry.text, entry.address) for entry in bus.close().unmet]

    of_coders = [(text, address) for text in ("one", "two", "three") for address in ("coder#1", "coder#2")]
    assert unmet == [("open", None), *of_coders]


@pytest.mark.rows("T129")
def test_the_entry_agent_has_its_place_of_the_roster_also_where_it_reads_no_more() -> None:
    bus = MessageBus()
    bus.open_entry("assistant").close("answered")
    bus.open("coder")
    bus.send_person("wait")

    assert [entry.address for entry in bus.close(stopped=True).unmet] == ["assistant", "coder#1"]


def broadcast_that_one_missed(*, is_read: bool) -> MessageBus:
    """Owed to a run that failed and to a second; a third opened later. The last two read it, or nobody does."""
    bus = MessageBus()
    writer = bus.open_entry("assistant")
    first, second = bus.open("researcher"), bus.open("researcher")
    writer.send("everyone", "who has the key?")
    first.close("error")
    third = bus.open("coder")
    for reader in (third, second):
        reader.drain()
        if is_read:
            reader.returned()
        reader.close("cancelled")
    return bus


@pytest.mark.rows("T348")
def test_an_entry_adds_who_else_did_read_the_message() -> None:
    bus = broadcast_that_one_missed(is_read=True)

    report = bus.close()

    (unmet,) = report.unmet
    assert (unmet.address, unmet.also_read_by) == ("researcher#1", ("researcher#2", "coder#1"))
    assert "researcher#2, coder#1 also read it" in (report.sentence() or "")
    assert [entry["also_read_by"] for entry in recorded(bus)] == [["researcher#2", "coder#1"]]


@pytest.mark.rows("T348")
def test_where_nobody_read_it_nothing_of_the_kind_is_said() -> None:
    bus = broadcast_that_one_missed(is_read=False)

    report = bus.close()

    assert [(unmet.address, unmet.also_read_by) for unmet in report.unmet] == [
        ("researcher#1", ()),
        ("researcher#2", ()),
    ]
    assert "also read" not in (report.sentence() or "")
    assert [entry["also_read_by"] for entry in recorded(bus)] == [[], []]


@both
@pytest.mark.rows("T345")
def test_a_report_holds_ten_thousand_entries_and_its_sentence_the_first_twenty(policy: BusPolicy) -> None:
    bus = MessageBus(policy)
    bus.open("coder")
    writer = bus.open("researcher")
    for number in range(10_000):
        writer.send("coder#1", f"message {number}")

    report = bus.close()

    assert [unmet.text for unmet in report.unmet] == [f"message {number}" for number in range(10_000)]
    *first, last = (report.sentence() or "").splitlines()
    assert [line.partition("message ")[2].partition(" ")[0] for line in first] == [str(number) for number in range(20)]
    assert "9,980" in last
    assert all(line.startswith("Undelivered:") for line in (*first, last))
    assert all(line.endswith(" after it was accepted)") for line in first)


@both
@pytest.mark.rows("T128", "B226")
def test_the_record_counts_what_each_run_sent_and_read_so_that_silence_shows(policy: BusPolicy) -> None:
    bus = MessageBus(policy)
    talker, silent, failing = bus.open("researcher"), bus.open("researcher"), bus.open("coder")
    for text in ("one", "two", "three"):
        talker.send("researcher#2", text)
    talker.send("coder", "four")
    silent.drain()
    silent.returned()
    failing.drain()
    failing.failed()
    for reader in (talker, silent, failing):
        reader.close("answered")

    report = bus.close()

    assert [unmet.text for unmet in report.unmet] == ["four"]
    counted = {run["address"]: (run["sent"], run["read"]) for run in bus.record()["runs"]}
    assert counted == {"researcher#1": (4, 0), "researcher#2": (0, 3), "coder#1": (0, 0)}
