"""A turn as it goes, on the terminal: a line for each message, with its fate as soon as it is known."""

import io
import json
import re

import pytest
from rich.console import Console

from restante.bus import BusPolicy
from restante.surface.cli.live import LiveView
from restante.surface.visible import visible, visible_json, visible_line
from tests.surface.chats import Bench

WIDE = 200


def shown(bench: Bench, *, steps: bool = False) -> list[str]:
    """The lines that a pipe gets; with `steps` after each entry what a terminal would show at last."""
    console = Console(file=io.StringIO(), width=WIDE, force_terminal=steps)
    with LiveView(console) as view:
        for entry in bench.entries:
            view.take(entry)
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue().splitlines()


@pytest.mark.rows("T321", "B22")
def test_accepted_delivered_and_undelivered_have_three_signs_and_the_last_its_reason() -> None:
    bench = Bench()
    worker = bench.spawn("look")
    worker.send("assistant", "one")
    bench.reads(bench.assistant)
    bench.assistant.send("researcher", "two")
    worker.close("error")
    bench.assistant.send("everyone", "three")

    assert shown(bench) == [
        "+ researcher#1 starts: look",
        "researcher#1 -> assistant: one  ✓ delivered",
        "assistant -> researcher#1: two  ✗ undelivered: the run ended before it was read",
        "assistant -> everyone: three  ○ accepted",
    ]


def test_each_address_has_its_own_fate_where_they_differ() -> None:
    bench = Bench()
    first, second = bench.spawn("x"), bench.spawn("y")
    bench.assistant.send("everyone", "hello")
    bench.reads(second)
    first.close("cancelled")

    assert shown(bench)[-1] == (
        "assistant -> researcher#1, researcher#2: hello  "
        "✗ undelivered for researcher#1: the run ended before it was read; ✓ delivered for researcher#2"
    )


@pytest.mark.rows("T321", "B22")
def test_under_classic_accepted_delivered_and_undelivered_have_three_signs_too() -> None:
    bench = Bench(BusPolicy.classic())
    bench.spawn("look").send("assistant", "one")
    bench.reads(bench.assistant)
    bench.assistant.send("researcher", "two")
    accepted = shown(bench)[-1]
    bench.bus.close(stopped=True)

    assert shown(bench)[1].endswith("one  ✓ delivered to assistant")
    assert accepted.endswith("two  ○ accepted")
    assert shown(bench)[-1].endswith("two  ✗ undelivered: the turn was stopped")


def test_under_classic_one_fate_says_who_read_it() -> None:
    bench = Bench(BusPolicy.classic())
    first = bench.spawn("x")
    bench.spawn("y")
    bench.assistant.send("researcher", "hello")
    bench.reads(first)

    assert shown(bench)[-1] == "assistant -> researcher#1, researcher#2: hello  ✓ delivered to researcher#1"


def test_lines_stand_in_the_order_of_sending_whatever_is_settled_first() -> None:
    bench = Bench()
    worker = bench.spawn("x")
    worker.send("assistant", "first sent, last read")
    bench.assistant.send("researcher#1", "second sent, first read")
    bench.reads(worker)
    bench.reads(bench.assistant)

    assert [line.split(": ")[1].split("  ")[0] for line in shown(bench)[1:]] == [
        "first sent, last read",
        "second sent, first read",
    ]


@pytest.mark.rows("T323", "B144", "B147")
@pytest.mark.parametrize("policy", [BusPolicy(), BusPolicy.classic()], ids=["default", "classic"])
def test_no_clock_orders_what_is_shown(policy: BusPolicy) -> None:
    bench = Bench(policy)
    worker = bench.spawn("x")
    for at_s, reader, text in ((3_600.0, worker, "one"), (0.5, bench.assistant, "two"), (0.5, worker, "three")):
        bench.now_s = at_s
        reader.send("researcher" if reader is bench.assistant else "assistant", text)
    bench.reads(bench.assistant)
    bench.reads(worker)
    bench.bus.close()

    live = [line.split(": ")[1].split("  ")[0] for line in shown(bench)[1:]]
    messages = [entry for entry in bench.entries if entry.kind == "message"]
    assert [entry.facts["text"] for entry in messages] == live == ["one", "two", "three"]
    assert [entry.facts["sequence"] for entry in messages] == [1, 2, 3]


def test_a_long_text_begins_with_its_first_character_and_says_how_much_is_missing() -> None:
    bench = Bench()
    bench.spawn("x").send("assistant", "a" * 100 + "\nb")

    assert shown(bench)[1] == f"researcher#1 -> assistant: {'a' * 80} [22 characters more]  ○ accepted"


def test_on_a_terminal_a_fate_changes_in_place_and_every_line_is_left_once() -> None:
    bench = Bench()
    bench.spawn("x").send("assistant", "hello")
    bench.reads(bench.assistant)

    written = "\n".join(shown(bench, steps=True))
    plain = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", written)

    states = [words for words in ("○ accepted", "◐ claimed", "✓ delivered") if words in plain]
    assert states == ["○ accepted", "◐ claimed", "✓ delivered"]
    assert [plain.index(words) for words in states] == sorted(plain.index(words) for words in states)
    assert plain.count("✓ delivered") == 1


def test_a_line_that_is_live_is_never_wider_than_the_terminal() -> None:
    bench = Bench()
    bench.spawn("x").send("assistant", "long " * 30)
    console = Console(file=io.StringIO(), width=60, force_terminal=True, color_system=None)
    with LiveView(console) as view:
        for entry in bench.entries:
            view.take(entry)
        assert isinstance(console.file, io.StringIO)
        live = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", console.file.getvalue()).splitlines()

    assert live[-1].endswith("○ accepted")
    assert len(live[-1]) <= 60


def test_without_colour_nothing_is_lost(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    bench = Bench()
    bench.spawn("x").send("assistant", "hello")
    bench.bus.close(stopped=True)

    assert not re.search(r"\x1b\[(\d+;)*3[0-7]m", "".join(shown(bench, steps=True)))
    assert shown(bench)[1] == "researcher#1 -> assistant: hello  ✗ undelivered: the turn was stopped"


@pytest.mark.parametrize(
    ("text", "seen"),
    [
        ("\x1b]0;t\x07\x1b[2J", "\\x1b]0;t\\x07\\x1b[2J"),
        ("a\x08\r\x7f\x9b", "a\\x08\\r\\x7f\\x9b"),
        ("\u202eabc\u2066\u200f", "\\u202eabc\\u2066\\u200f"),
        ("a\u2028b\ufeff", "a\\u2028b\\ufeff"),
        ("\ud800", "\\ud800"),
        ("né 日本\u3000 👩\u200d🚀 \xa0", "né 日本\u3000 👩\u200d🚀 \xa0"),
    ],
)
def test_what_would_act_on_a_terminal_is_shown_as_an_escape(text: str, seen: str) -> None:
    assert visible(text) == seen
    assert visible("a\n\tb") == "a\n\tb"
    assert visible_line("a\n\tb") == "a\\n\\tb"


def test_json_for_a_terminal_means_the_same_and_holds_nothing_that_acts() -> None:
    value = {"text": 'a"\x1b\x9b\u202e\ud800\U000e0001 日本\n'}
    shown_json = visible_json(value)

    assert json.loads(shown_json) == value
    assert shown_json == visible(shown_json)
    assert "日本" in shown_json
