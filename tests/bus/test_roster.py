"""What the roster says of a run: whether it lives, how it ended, and when it last sent."""

import pytest

from restante import BusPolicy, Line, MessageBus
from restante.bus.run import How
from tests.bus.seen import states


@pytest.mark.rows("T041")
def test_under_classic_a_run_that_has_ended_leaves_everything_as_it_was() -> None:
    bus = MessageBus(BusPolicy.classic(), clock=lambda: 0.0)
    assistant, worker = bus.open_entry("assistant"), bus.open("researcher")
    assistant.send("researcher", "hello")
    before = bus.roster(), bus.fates("m1"), bus.record()["messages"], bus.record()["books"]

    worker.close("answered")

    assert (bus.roster(), bus.fates("m1"), bus.record()["messages"], bus.record()["books"]) == before
    assert bus.roster()[1] == Line("researcher#1", None, None, reads=True, last_sent_s=None)
    assert assistant.send("researcher#1", "thank you").matched == (("researcher#1", None),)
    assert worker.send("assistant", "from a callback").accepted


@pytest.mark.rows("T042")
def test_by_default_a_run_that_has_ended_keeps_its_line_and_says_how() -> None:
    bus = MessageBus()
    ways: list[How] = ["answered", "wrap-up", "error", "cancelled"]
    for how in ways:
        bus.open("researcher").close(how)
    bus.open("researcher")
    assert states(bus) == {**{f"researcher#{number}": "finished" for number in range(1, 5)}, "researcher#5": "running"}

    bus.close(stopped=True)

    assert [(line.address, line.state, line.how) for line in bus.roster()] == [
        ("researcher#1", "finished", "answered"),
        ("researcher#2", "finished", "wrap-up"),
        ("researcher#3", "finished", "error"),
        ("researcher#4", "finished", "cancelled"),
        ("researcher#5", "finished", "stopped"),
    ]


def test_only_the_entry_agent_can_run_once_more() -> None:
    bus = MessageBus()
    for reader in (bus.open_entry("assistant"), bus.open("researcher")):
        reader.close("answered", more=True)

    assert states(bus) == {"assistant": "waiting", "researcher#1": "finished"}
    assert [line.how for line in bus.roster()] == [None, "answered"]


def test_a_run_that_is_open_when_its_turn_ends_reads_no_more_and_nobody_says_how_it_ended() -> None:
    bus = MessageBus()
    bus.open("researcher")

    bus.close()

    assert bus.roster() == (Line("researcher#1", "finished", None, reads=False, last_sent_s=None),)


@pytest.mark.rows("T043")
def test_a_run_is_waiting_while_it_waits_for_anything_and_running_else() -> None:
    bus = MessageBus()
    assistant = bus.open_entry("assistant")
    seen = [states(bus)["assistant"]]

    with assistant.waiting_for("researcher#1"):
        seen.append(states(bus)["assistant"])
        with assistant.waiting_for():
            seen.append(states(bus)["assistant"])
        seen.append(states(bus)["assistant"])
    seen.append(states(bus)["assistant"])

    assert seen == ["running", "waiting", "waiting", "waiting", "running"]


@pytest.mark.rows("T043")
def test_a_run_whose_wait_ends_by_an_error_runs_again() -> None:
    bus = MessageBus()
    assistant = bus.open_entry("assistant")

    with pytest.raises(TimeoutError), assistant.waiting_for():
        raise TimeoutError

    assert states(bus) == {"assistant": "running"}


@pytest.mark.rows("T044", "B195")
def test_silence_is_no_sign_of_death() -> None:
    now = 7.0
    bus = MessageBus(clock=lambda: now)
    worker, _ = bus.open("researcher"), bus.open("coder")
    now += 5
    worker.send("everyone", "hello")

    now += 300

    assert bus.roster() == (
        Line("researcher#1", "running", None, reads=True, last_sent_s=300.0),
        Line("coder#1", "running", None, reads=True, last_sent_s=None),
    )


@pytest.mark.parametrize(
    ("line", "words"),
    [
        (Line("coder#1", "running", None, reads=True, last_sent_s=None), "coder#1 (running)"),
        (Line("coder#1", "waiting", None, reads=False, last_sent_s=1.0), "coder#1 (waiting, reads no more)"),
        (Line("coder#1", "finished", "error", reads=False, last_sent_s=None), "coder#1 (finished: error)"),
        (Line("coder#1", "finished", None, reads=False, last_sent_s=None), "coder#1 (finished)"),
        (Line("coder#1", None, None, reads=True, last_sent_s=None), "coder#1"),
    ],
)
def test_a_line_says_what_is_known_of_a_run(line: Line, words: str) -> None:
    assert line.in_words() == words
