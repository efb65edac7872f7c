"""What holds of any run: nothing unread at its end, nobody else's name on a message, and an end to its rounds."""

import asyncio
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import count
from threading import Event
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic_ai import Agent

from restante.bus import BusPolicy, Reader, Receipt
from restante.testing import Call, ScriptedModel, call, calls, says
from restante.turn import MailboxOptions, messaging_tools
from tests.turn.looping import looping
from tests.turn.playing import DURING, Stage, agent, meanwhile

THREADS = 16
REPETITIONS = 1_000


@pytest.mark.rows("T007")
@pytest.mark.timeout(300)
def test_no_run_ends_with_mail_that_it_could_read() -> None:
    with ThreadPoolExecutor(THREADS) as threads:
        hows, codes = asyncio.run(_races(threads))

    assert set(hows) == {"answered", "wrap-up"}
    assert set(codes) == {None, "recipient_finished"}


async def _races(threads: ThreadPoolExecutor) -> tuple[Counter[str], Counter[str | None]]:
    """How many runs ended how, and what the senders were told."""
    hows: Counter[str] = Counter()
    codes: Counter[str | None] = Counter()
    go = Event()
    answers = [says("ok", seconds=DURING), *[says("ok")] * 8]
    answering, asking = (
        agent(*answers, sleep=meanwhile(go.set)),
        agent(calls(call("list_agents")), *answers, sleep=meanwhile(go.set)),
    )
    for repetition in range(REPETITIONS):
        go.clear()
        stage = Stage(BusPolicy(agent_extensions=repetition % 2))
        senders = [threads.submit(_send, stage, go, number) for number in range(1 + repetition % THREADS)]
        await stage.run(asking if repetition % 4 == 0 else answering, options=MailboxOptions(rounds=1 + repetition % 3))
        go.set()
        codes.update(_outcomes(stage, [receipt for sender in senders for receipt in sender.result()]))
        hows.update(facts["how"] for facts in stage.entries.of("run_closed", "worker#1"))
    return hows, codes


def _send(stage: Stage, go: Event, number: int) -> list[Receipt]:
    """Send when the run is about to end, and until it has ended, but not for ever."""
    go.wait()
    receipts: list[Receipt] = []
    while len(receipts) < 5 and (not receipts or receipts[-1].accepted):
        receipts.append(stage.friend.send("worker" if number % 2 else "worker#1", f"{number}"))
    return receipts


def _outcomes(stage: Stage, receipts: list[Receipt]) -> Iterator[str | None]:
    for receipt in receipts:
        yield receipt.code
        if receipt.message_id is not None:
            assert [fate.state for fate in stage.bus.fates(receipt.message_id)] == ["delivered"]


values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=6,
)
selectors = st.sampled_from(["everyone", "friend", "friend#1", "worker", "worker#1", "user", "friend#01", " friend"])
names = st.sampled_from(["sender", "from", "ctx", "origin", "address", "reply_to"]) | st.text(min_size=1, max_size=8)
extras = st.dictionaries(names, st.sampled_from(["friend#1", "assistant", "person"]) | values, max_size=3)


@st.composite
def arguments(draw: st.DrawFn) -> dict[str, Any]:
    """Any arguments: those that the tools know, of any type, and others."""
    to = draw(st.none() | selectors | values)
    text = draw(st.none() | st.text(max_size=40) | values)
    known = {"to": to, "text": text}
    return {**draw(extras), **{name: value for name, value in known.items() if value is not None}}


@pytest.mark.rows("T008")
@given(
    made=st.lists(st.tuples(st.sampled_from(["send_message", "list_agents"]), arguments()), min_size=1, max_size=4),
    policy=st.sampled_from([BusPolicy(), BusPolicy.classic()]),
    label=st.sampled_from(["worker", "coder"]),
)
def test_the_sender_never_comes_from_arguments(
    made: list[tuple[str, dict[str, Any]]], policy: BusPolicy, label: str
) -> None:
    stage = Stage(policy)
    asked = calls(*[Call(tool, args) for tool, args in made])
    worker = Agent(ScriptedModel(asked, *[says("ok")] * 8), toolsets=[messaging_tools()], retries=5)

    asyncio.run(stage.run(worker, label))

    assert {facts["sender"] for facts in stage.entries.of("message")} <= {f"{label}#1"}
    assert len(stage.entries.of("tool_result")) == len(made)


@pytest.mark.rows("T010")
@given(
    pattern=st.lists(st.sampled_from(["", "person", "agent", "both"]), max_size=30),
    rounds=st.integers(1, 10),
    policy=st.builds(BusPolicy, agent_extensions=st.integers(0, 5)) | st.just(BusPolicy.classic()),
)
def test_rounds_are_bounded_whatever_mail_comes(pattern: list[str], rounds: int, policy: BusPolicy) -> None:
    stage = Stage(policy)
    moments = count()

    def act(_: Reader, __: int) -> None:
        sent = pattern[next(moments) % len(pattern)] if pattern else ""
        if sent in ("person", "both"):
            stage.bus.send_person("go on")
        if sent in ("agent", "both"):
            stage.friend.send("worker", "go on")

    asyncio.run(stage.run(looping(act), options=MailboxOptions(rounds=rounds)))

    moved = [facts["origins"] for facts in stage.entries.of("move")]
    by_person = sum("person" in origins for origins in moved)
    assert len(stage.entries.of("round", "worker#1")) <= rounds + (rounds - 1) * len(moved)
    assert len(stage.entries.of("wrap_up", "worker#1")) == 1
    if policy.name == "classic":
        assert len(moved) <= rounds
    else:
        assert by_person <= rounds
        assert len(moved) - by_person <= policy.agent_extensions
