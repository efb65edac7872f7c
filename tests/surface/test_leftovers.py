"""The sentences that tell the person what nobody read: they say what is known, and nothing that is not."""

from collections.abc import Callable

import pytest

from restante.bus import BusPolicy, Reader
from restante.bus.fates import IN_WORDS
from restante.surface.leftovers import Leftovers
from tests.surface.chats import Bench, cut_off, exported, turn


def never(_: Bench, __: Reader) -> None:
    """Nobody comes before the turn ends."""


def ends(_: Bench, worker: Reader) -> None:
    """The worker ends before it reads."""
    worker.close("error", error="boom")


def call_fails(_: Bench, worker: Reader) -> None:
    """The worker has the message in a call that fails for good."""
    worker.drain()
    worker.failed()
    worker.close("error", error="boom")


def stops(bench: Bench, _: Reader) -> None:
    """The person stops the turn."""
    bench.bus.close(stopped=True)


LEAVES = {"never_drained": never, "run_ended_first": ends, "model_call_failed": call_fails, "stopped": stops}
leaving = pytest.mark.parametrize(("reason", "leave"), LEAVES.items(), ids=LEAVES)


def sentences(bench: Bench) -> list[str]:
    """What is said of the one message that was left: by the report, on the terminal, and in the export."""
    report = bench.bus.close().sentence()
    (shown,) = Leftovers(turn(bench.entries)).sentences()
    (line,) = [line for line in exported(turn(bench.entries)).splitlines() if "Undelivered" in line]
    assert report is not None
    return [report, shown, line]


@leaving
@pytest.mark.rows("T127")
@pytest.mark.parametrize("to", ["researcher", "researcher#1", "everyone"])
def test_by_default_the_sentence_names_the_address_and_the_reason(
    reason: str, leave: Callable[[Bench, Reader], None], to: str
) -> None:
    bench = Bench()
    worker = bench.spawn("look")
    bench.assistant.send(to, "the cache is cold")
    leave(bench, worker)

    for sentence in sentences(bench):
        assert "researcher#1" in sentence
        assert IN_WORDS[reason] in sentence
        assert not any(word in sentence for word in ("lost", "refuse", "ignore", "would not", "did not want"))


@leaving
@pytest.mark.rows("T126")
def test_under_classic_the_sentence_says_that_nobody_took_it_and_names_no_run_that_missed_it(
    reason: str, leave: Callable[[Bench, Reader], None]
) -> None:
    bench = Bench(BusPolicy.classic())
    first, _ = bench.spawn("look"), bench.spawn("look around")
    bench.assistant.send("researcher", "the cache is cold")
    leave(bench, first)

    for sentence in sentences(bench):
        assert "assistant -> researcher: the cache is cold" in sentence
        assert "no matching reader took it" in sentence
        assert "#" not in sentence
        assert IN_WORDS[reason] in sentence or reason in ("never_drained", "run_ended_first")


def test_what_a_crash_cut_off_is_told_with_its_address_and_its_reason() -> None:
    bench = Bench()
    bench.spawn("look")
    bench.assistant.send("researcher", "the cache is cold")

    (sentence,) = Leftovers(cut_off(bench.entries)).sentences()

    assert "researcher#1" in sentence
    assert IN_WORDS["interrupted"] in sentence
