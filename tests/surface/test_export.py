"""A chat as it is exported: every message, tool call and fate in its place."""

import json
import re

import pytest

from restante.bus import BusPolicy, Message
from tests.surface.chats import Bench, cut_off, exported, turn
from tests.turn.playing import Played
from tests.turn.scenes import thanks_to_the_finished, two_researchers

pytestmark = pytest.mark.anyio

DELIVERY = "> **Message (mid-turn):** [message from researcher#1] the answer is 42"


def of(played: Played) -> str:
    return exported(turn(played.entries, answer=str(played.result.output)))


def card(export: str, address: str) -> str:
    """The quotation that follows a worker's heading."""
    return export.split(f"**Sub-agent ({address}):**")[1].split("\n\n")[1]


def places(text: str, *parts: str) -> list[int]:
    return [text.index(part) for part in parts]


@pytest.mark.rows("T204")
async def test_under_classic_both_researchers_read_the_broadcast_between_their_rounds() -> None:
    export = of(await two_researchers(BusPolicy.classic()))
    first, second = card(export, "researcher#1"), card(export, "researcher#2")

    assert '"text": "the answer is 42"' in first
    found = places(first, "**Tool call: `send_message`**", "> Accepted for", DELIVERY, "*Round 2*")
    assert found == sorted(found)
    assert re.search(r"Accepted for assistant, researcher#1, researcher#2\b", first)
    found = places(second, "*Round 1*", "**Tool call: `list_agents`**", DELIVERY, "*Round 2*")
    assert found == sorted(found)


@pytest.mark.rows("T205")
async def test_by_default_the_sender_does_not_read_itself_and_the_parent_reads_after_both_results() -> None:
    export = of(await two_researchers(BusPolicy()))
    first, second = card(export, "researcher#1"), card(export, "researcher#2")
    own = [line for line in export.splitlines() if not line.startswith(">")]

    assert "Accepted for assistant (waiting), researcher#2 (running): 2 addresses" in first
    assert DELIVERY not in first
    found = places(second, "*Round 1*", DELIVERY, "*Round 2*")
    assert found == sorted(found)
    spawns = [place for place, line in enumerate(own) if "`spawn`" in line]
    assert len(spawns) == 2
    assert spawns[-1] < own.index(DELIVERY.removeprefix("> ")) < own.index("*Round 2*")


@pytest.mark.rows("T206", "T309", "T310")
async def test_under_classic_thanks_to_a_finished_worker_are_reported_after_the_answer() -> None:
    played = await thanks_to_the_finished(BusPolicy.classic())
    export = of(played)

    assert "- researcher#1\n" in export
    assert "Accepted for researcher#1" in export
    assert export.count("Undelivered:") == 1
    (line,) = [line for line in export.splitlines() if "Undelivered:" in line]
    assert re.fullmatch(
        r"> \*\*Undelivered:\*\* assistant -> researcher#1: thank you \(.* took it; 0 s after it was accepted\)", line
    )
    assert export.index("**Answer:** The answer is 42.") < export.index(line)
    assert str(played.result.report.sentence()).count("Undelivered:") == 1
    assert not [entry for entry in played.entries.of("tool_result") if "Undelivered" in entry["text"]]


@pytest.mark.rows("T207")
async def test_by_default_thanks_to_a_finished_worker_are_refused_and_nothing_is_reported() -> None:
    played = await thanks_to_the_finished(BusPolicy())
    export = of(played)

    assert "- researcher#1 (finished: answered)" in export
    assert re.search(r"recipient_finished: [^\n]*researcher#1", export)
    assert "Undelivered:" not in export
    assert played.result.report.sentence() is None


@pytest.mark.rows("T294", "T295", "T296")
async def test_a_card_names_role_and_task_and_holds_rounds_calls_and_messages_in_order() -> None:
    bench = Bench()
    worker = bench.spawn("find the answer")
    bench.reads(worker)
    bench.call(worker.address, "send_message", "Accepted.", to="assistant", text='say "hi"\n')
    bench.assistant.send("researcher#1", "hurry")
    bench.reads(worker)

    export = exported(turn(bench.entries))

    inside = card(export, "researcher#1")
    assert "**Sub-agent (researcher#1):** find the answer\n" in export
    arguments = inside.split("> ```json\n")[1].split("> ```")[0]
    assert json.loads(re.sub("(?m)^> ", "", arguments)) == {"to": "assistant", "text": 'say "hi"\n'}
    mail = "> **Message (mid-turn):** [message from assistant] hurry"
    found = places(inside, "**Tool call: `send_message`**", "> Accepted.", mail)
    assert found == sorted(found)


async def test_a_worker_of_a_worker_has_its_card_inside_the_card() -> None:
    bench = Bench()
    worker = bench.spawn("plan")
    inner = bench.bus.open("reader")
    bench.bus.note("spawn", worker.address, {"agent": "reader", "task": "read", "address": inner.address})
    bench.bus.note("model_text", inner.address, {"text": "deep"})

    export = exported(turn(bench.entries))

    assert "> **Sub-agent (reader#1):** read\n" in export
    assert "> > **reader#1:** deep\n" in export


async def test_each_message_of_one_drain_is_signed_by_itself() -> None:
    bench = Bench()
    bench.bus.send_person("and be quick")
    bench.spawn("x").send("assistant", "found it")
    bench.reads(bench.assistant)

    export = exported(turn(bench.entries))

    assert "\n**Message (mid-turn):** and be quick\n" in export
    assert "\n**Message (mid-turn):** [message from researcher#1] found it\n" in export


async def test_a_message_that_was_sent_before_its_reader_started_says_so() -> None:
    bench = Bench()
    bench.assistant.send("everyone", "check the cache first")
    bench.reads(bench.spawn("look"))

    marker = "[message from assistant, sent before you started]"
    assert f"> **Message (mid-turn):** {marker} check the cache first" in exported(turn(bench.entries))


async def test_what_nobody_read_is_told_with_its_address_its_reason_and_its_age() -> None:
    bench = Bench()
    worker = bench.spawn("x")
    bench.assistant.send("researcher", "wait")
    bench.now_s = 90.0
    worker.close("error")
    bench.bus.close()

    assert (
        "> **Undelivered:** assistant -> researcher (researcher#1): wait "
        "(the run ended before it was read; 90 s after it was accepted)\n"
    ) in exported(turn(bench.entries))


async def test_the_export_tells_what_the_close_report_tells() -> None:
    bench = Bench()
    first, second = bench.spawn("x"), bench.spawn("y")
    bench.assistant.send("researcher", "to both")
    bench.assistant.send("everyone", "to all")
    bench.bus.send_person("carried")
    bench.reads(first)
    second.close("cancelled")
    sentence = bench.bus.close().sentence()

    export = exported(turn(bench.entries))

    told = [line.replace("> **Undelivered:**", "Undelivered:") for line in export.splitlines() if "Undelivered" in line]
    assert told == str(sentence).splitlines()
    assert "> **Not read, and so the next turn:** carried" in export


async def test_a_failed_turn_shows_the_failure_first_and_then_what_was_not_delivered() -> None:
    bench = Bench()
    bench.spawn("x").send("assistant", "too late")
    bench.assistant.close("error", error="boom")
    bench.bus.close()

    export = exported(turn(bench.entries, state="ended_failed", error="RuntimeError: boom"), turn())

    found = places(export, "## Turn 1", "**Failed:** RuntimeError: boom", "> **Undelivered:**", "## Turn 2")
    assert found == sorted(found)


@pytest.mark.parametrize(
    ("state", "words"),
    [("queued", "not started"), ("running", "not ended"), ("stopped", "stopped"), ("interrupted", "not run again")],
)
async def test_a_turn_that_did_not_end_well_says_so(state: str, words: str) -> None:
    assert words in exported(turn(state=state))


async def test_a_call_that_was_cut_off_is_shown_as_not_finished() -> None:
    bench = Bench()
    bench.bus.note("tool_call", "assistant", {"tool_call_id": "c1", "tool": "look", "args": {}})

    assert "*not finished*" in exported(turn(bench.entries, state="interrupted"))


async def test_what_a_crash_cut_off_is_undelivered_as_interrupted_and_the_persons_words_come_next() -> None:
    bench = Bench()
    worker = bench.spawn("x")
    bench.bus.send_person("one more thing")
    bench.assistant.send("everyone", "read by nobody")
    worker.send("assistant", "claimed")
    bench.assistant.drain()

    export = exported(cut_off(bench.entries))

    assert "> **Undelivered:** assistant -> everyone (researcher#1): read by nobody (the process ended" in export
    assert "> **Undelivered:** researcher#1 -> assistant: claimed (the process ended" in export
    assert "> **Not read, and so the next turn:** one more thing" in export
    assert export.count("Undelivered") == 2


async def test_under_classic_a_crash_cuts_off_each_message_once() -> None:
    bench = Bench(BusPolicy.classic())
    worker = bench.spawn("x")
    bench.assistant.send("everyone", "read by one")
    bench.reads(worker)
    worker.send("everyone", "read by nobody")

    export = exported(cut_off(bench.entries))

    assert "> **Undelivered:** researcher#1 -> everyone: read by nobody (" in export
    assert export.count("Undelivered") == 1


async def test_each_call_has_its_own_result_also_where_a_model_uses_an_id_again() -> None:
    bench = Bench()
    for number in ("first", "second"):
        facts = {"tool_call_id": "call_0", "tool": "look"}
        bench.bus.note("tool_call", "assistant", {**facts, "args": {"at": number}})
        bench.bus.note("tool_result", "assistant", {**facts, "text": f"{number} result", "outcome": "ok"})

    found = places(exported(turn(bench.entries)), '"first"', "first result", '"second"', "second result")

    assert found == sorted(found)


async def test_what_began_a_turn_is_shown_with_its_sender() -> None:
    person = Message("w1", 1, "person", "person", "everyone", "hello")
    client = Message("w2", 2, "ci", "external", "assistant", "build\nbroken")

    export = exported(turn(cause=(person, client)))

    assert "**Person:** hello\n" in export
    assert "**Message:** [message from ci]\n\n```text\nbuild\nbroken\n```" in export


@pytest.mark.parametrize("full", [True, False])
async def test_a_plain_export_says_what_it_shortened_and_a_full_one_shortens_nothing(*, full: bool) -> None:
    body = "x" * 15_000
    bench = Bench()
    bench.call("assistant", "send_message", body, to="researcher#1", text=body)
    bench.spawn(body).send("assistant", body)
    bench.reads(bench.assistant)
    bench.assistant.send("researcher", body)
    bench.bus.close()

    export = exported(turn(bench.entries, answer=body), full=full)

    assert export.count(body) == (6 if full else 0)
    assert export.count("x [13,000 characters more]") == (0 if full else 6)


@pytest.mark.parametrize(
    "body", ["# x\n## Turn 2", "```\n> **Undelivered:** a -> b: c", "ok\n\n**Answer:** no", "a\u2028b"]
)
async def test_no_body_changes_the_outline_of_an_export(body: str) -> None:
    outlines: list[list[str]] = []
    for text in ("harmless", body):
        bench = Bench()
        worker = bench.spawn(text)
        worker.send("assistant", text)
        bench.call(worker.address, "send_message", text, to="assistant", text=text)
        bench.reads(bench.assistant)
        bench.assistant.send("everyone", text)
        bench.bus.close()
        cause = (Message("w1", 1, "person", "person", "everyone", text),)
        export = exported(turn(bench.entries, answer=text, cause=cause))
        outlines.append(_outline(export))

    assert outlines[0] == outlines[1]


def _outline(export: str) -> list[str]:
    """The lines that say what is what, outside of fences."""
    outside = re.sub(r"(?ms)^(> )*(`{3,}).*?^(> )*\2$", "", export)
    return re.findall(r"(?m)^(?:> )*(?:#+ .*|\*\*[^*]+\*\*)", outside)


async def test_what_waits_to_be_read_in_a_turn_that_runs_has_its_place() -> None:
    bench = Bench()
    worker = bench.spawn("look")
    bench.assistant.send("researcher#1", "first")
    bench.reads(worker)
    bench.assistant.question("researcher#1", "is it so?")
    bench.bus.send_person("go on")

    text = exported(turn(bench.entries, "running"))

    assert text.count("> **Not read yet:** ") == 2
    assert "> **Not read yet:** assistant -> researcher#1 (question): is it so?\n" in text
    assert "> **Not read yet:** person -> everyone: go on\n" in text


@pytest.mark.parametrize(
    ("by", "reason", "words"),
    [
        ("person", None, "**Allowed:** `write_file`, the person said yes.\n"),
        ("reviewer", None, "**Allowed:** `write_file`, the reviewer said yes.\n"),
        ("person", "no # file", "**Refused:** `write_file`, the person said no: no # file\n"),
        ("nobody", "nobody attends.", "**Refused:** `write_file`, nobody could be asked: nobody attends.\n"),
    ],
)
async def test_a_gated_call_and_its_verdict_have_a_line_each(by: str, reason: str | None, words: str) -> None:
    bench = Bench()
    facts = {"tool_call_id": "c1", "tool": "write_file"}
    bench.bus.note("approval_asked", "assistant", {**facts, "args": {"path": "a"}})
    bench.bus.note("approval", "assistant", {**facts, "by": by, "allowed": reason is None, "reason": reason})

    text = exported(turn(bench.entries))

    assert text.index('**Waits for a yes:** `write_file` with `{"path": "a"}`\n') < text.index(words)
