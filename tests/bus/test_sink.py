"""What a sink is told, and what becomes of one that misbehaves."""

from collections.abc import Callable
from threading import Thread

import pytest

from restante import BusPolicy, JournalEntry, MessageBus, Reader
from tests.bus.policies import both


@both
def test_a_sink_that_raises_is_told_nothing_more_and_the_bus_goes_on_and_says_why(policy: BusPolicy) -> None:
    told: list[str] = []

    def full(entry: JournalEntry) -> None:
        told.append(entry.kind)
        if entry.kind == "message":
            raise OSError("disk full")

    bus = MessageBus(policy, sink=full)
    scout, coder = bus.open("scout"), bus.open("coder")

    assert scout.send("coder", "one").accepted
    assert scout.send("coder", "two").accepted

    assert [delivery.message.text for delivery in coder.drain()] == ["one", "two"]
    assert told == ["bus_opened", "run_opened", "run_opened", "message"]
    assert str(bus.sink_failure) == "disk full"


@both
@pytest.mark.rows("T361", "T336")
def test_the_first_thing_that_is_told_is_the_policy(policy: BusPolicy) -> None:
    told: list[JournalEntry] = []
    MessageBus(policy, sink=told.append)
    assert [(entry.number, entry.kind, entry.facts) for entry in told] == [(1, "bus_opened", {"policy": policy.name})]


def test_a_sink_that_raises_nothing_has_no_failure() -> None:
    bus = MessageBus(sink=lambda _: None)
    bus.open("scout")
    assert bus.sink_failure is None


@both
def test_a_sink_may_ask_the_bus_and_send_on_it_and_the_order_holds(policy: BusPolicy) -> None:
    told: list[int] = []

    def curious(entry: JournalEntry) -> None:
        told.append(entry.number)
        if entry.kind == "run_opened" and entry.address == "coder#1":
            assert [line.address for line in bus.roster()] == ["coder#1"]
            bus.send_person("welcome", to="coder")

    bus = MessageBus(policy, sink=curious)
    coder = bus.open("coder")

    assert [delivery.message.text for delivery in coder.drain()] == ["welcome"]
    assert told == list(range(1, len(told) + 1))


@pytest.mark.parametrize("kind", ["round", "tool_call"])
def test_what_the_turn_notes_shares_the_numbers_of_the_bus(kind: str) -> None:
    told: list[JournalEntry] = []
    bus = MessageBus(sink=told.append)
    coder = bus.open("coder")

    bus.note(kind, coder.address, {"call": 0})
    bus.note(kind, None, {"call": 1})

    assert [(entry.number, entry.kind, entry.address) for entry in told[2:]] == [(3, kind, "coder#1"), (4, kind, None)]
    assert bus.record()["runs"][0][f"{kind}s"] == 1


Act = Callable[[MessageBus, Reader], object]
ACTS: list[tuple[str, str | None, Act]] = [
    ("run_opened", "coder#2", lambda bus, _: bus.open("coder")),
    ("run_opened", "assistant", lambda bus, _: bus.open_entry("assistant")),
    ("message", None, lambda bus, _: bus.send_person("hello")),
    ("message", None, lambda bus, _: bus.send_external("desk", "hello", message_id="x-1")),
    ("message", "coder#1", lambda _, coder: coder.send("scout", "hello")),
    ("message", "coder#1", lambda _, coder: coder.question("scout", "which?")),
    ("delivery", "coder#1", lambda _, coder: coder.drain()),
    ("delivery", "coder#1", lambda _, coder: coder.drain_or_close()),
    ("delivery", "coder#1", lambda _, coder: coder.drain_last()),
    ("run_closed", "coder#1", lambda _, coder: coder.close("error")),
    ("bus_closed", None, lambda bus, _: bus.close()),
    ("round", "coder#1", lambda bus, _: bus.note("round", "coder#1", {"call": 0})),
]


@both
@pytest.mark.parametrize(("kind", "address", "act"), ACTS)
def test_a_sink_has_heard_of_an_act_when_the_act_is_answered(
    policy: BusPolicy, kind: str, address: str | None, act: Act
) -> None:
    told: list[JournalEntry] = []
    bus = MessageBus(policy, sink=told.append)
    coder, scout = bus.open("coder"), bus.open("scout")
    scout.send("coder", "hello")
    told.clear()

    act(bus, coder)

    assert (told[-1].kind, told[-1].address) == (kind, address)


@both
@pytest.mark.parametrize("fails", [True, False])
def test_a_sink_has_heard_of_a_fate_when_the_call_is_noted(policy: BusPolicy, fails: bool) -> None:
    told: list[JournalEntry] = []
    bus = MessageBus(policy, sink=told.append)
    coder, scout = bus.open("coder"), bus.open("scout")
    scout.send("coder", "hello")
    coder.drain()
    told.clear()

    act = coder.failed if fails else coder.returned
    act(call=2)

    states = {True: ["undelivered"] if policy.liveness else [], False: ["delivered"]}[fails]
    assert [(entry.kind, entry.facts["state"]) for entry in told][-1:] == [("fate", state) for state in states]


@both
def test_a_sink_is_told_of_the_end_of_an_empty_drain(policy: BusPolicy) -> None:
    told: list[JournalEntry] = []
    bus = MessageBus(policy, sink=told.append)
    bus.open("coder").drain_or_close()
    assert (told[-1].kind, told[-1].facts) == ("run_closed", {"how": "answered", "error": None})


@both
def test_a_sink_is_told_of_each_run_its_label_and_whether_it_is_the_entry_agents(policy: BusPolicy) -> None:
    told: list[JournalEntry] = []
    bus = MessageBus(policy, sink=told.append)

    bus.open("coder")
    bus.open_entry("assistant")

    assert [entry.facts for entry in told if entry.kind == "run_opened"] == [
        {"label": "coder", "entry": False},
        {"label": "assistant", "entry": True},
    ]


def test_a_sink_is_told_whom_a_message_matched_and_whom_it_did_not_reach() -> None:
    told: list[JournalEntry] = []
    bus = MessageBus(sink=told.append)
    scout, *coders = (bus.open(label) for label in ("scout", "coder", "coder"))
    coders[1].close("answered")

    scout.send("coder", "hello")

    assert told[-1].facts["matched"] == [["coder#1", "running"]]
    assert told[-1].facts["not_reached"] == [["coder#2", "finished"]]


def test_a_sink_is_told_which_runs_a_stop_has_ended_and_of_the_rest_nothing_new() -> None:
    told: list[JournalEntry] = []
    bus = MessageBus(sink=told.append)
    bus.open("coder")
    bus.open("scout").close("error", error="boom")
    told.clear()

    bus.close(stopped=True)

    assert [(entry.kind, entry.address, entry.facts) for entry in told[:-1]] == [
        ("run_closed", "coder#1", {"how": "stopped", "error": None})
    ]
    assert told[-1].facts == {"stopped": True, "unmet": [], "next_turn": []}
    assert [(run["how"], run["error"]) for run in bus.record()["runs"]] == [("stopped", None), ("error", "boom")]


@both
def test_a_sink_that_raises_is_not_told_the_rest_of_the_same_act_either(policy: BusPolicy) -> None:
    told: list[str] = []

    def full(entry: JournalEntry) -> None:
        told.append(entry.kind)
        if entry.kind == "fate":
            raise OSError("disk full")

    bus = MessageBus(policy, sink=full)
    coder, scout = bus.open("coder"), bus.open("scout")
    for text in ("one", "two"):
        scout.send("coder", text)
    told.clear()

    bus.close()
    bus.send_person("too late")
    coder.drain()

    assert told == ["fate"]


@both
def test_no_thread_tells_a_sink_of_what_is_later_before_what_is_earlier_is_told(policy: BusPolicy) -> None:
    told: list[int] = []
    threads: list[Thread] = []

    def slow(entry: JournalEntry) -> None:
        if entry.address == "coder#1":
            threads.append(Thread(target=bus.open, args=("scout",)))
            threads[0].start()
            while len(bus.roster()) < 2:
                pass
        told.append(entry.number)

    bus = MessageBus(policy, sink=slow)
    bus.open("coder")
    threads[0].join(timeout=10)

    assert told == sorted(told)
    assert len(bus.roster()) == 2


@both
def test_the_journal_and_the_record_hold_every_fact_of_a_message(policy: BusPolicy) -> None:
    told: list[JournalEntry] = []
    bus = MessageBus(policy, clock=lambda: 0.0, sink=told.append)
    coder, scout = bus.open("coder"), bus.open("scout")
    question = scout.send("coder#1", "which branch?").message_id
    coder.drain()
    coder.send("scout#1", "main", in_reply_to=question)

    facts = {
        "message_id": "m2", "sequence": 2, "sender": "coder#1", "origin": "agent", "to": "scout#1", "text": "main",
        "in_reply_to": "m1", "answer_by_s": None,
    }  # fmt: skip
    assert {key: told[-1].facts[key] for key in facts} == facts
    assert {key: bus.record()["messages"][1][key] for key in facts} == facts
    scout.drain()
    delivery = {key: fact for key, fact in facts.items() if key not in ("to", "answer_by_s")}
    assert told[-1].facts == {**delivery, "replayed": False, "redelivered": False}
