"""What a run is told when it sends by a tool: what was accepted and for whom, or why nothing was."""

import asyncio
import re

import pytest
from pydantic_ai import Agent

from restante.bus import BusPolicy
from restante.testing import ScriptedModel, call, calls, says
from restante.turn import TurnOptions, messaging_tools
from tests.bus.policies import both
from tests.bus.scenes import a_worker_dies_with_mail
from tests.bus.seen import listed, the_list
from tests.turn.playing import DURING, Stage, agent, meanwhile, play

pytestmark = pytest.mark.anyio


def sends(to: str, text: str = "hello") -> ScriptedModel:
    """A run that sends once and ends."""
    return ScriptedModel(calls(call("send_message", to=to, text=text)), *[says("ok")] * 3)


async def told(policy: BusPolicy, to: str) -> str:
    """What a run that sends is told, where two researchers and a friend are there."""
    stage = Stage(policy)
    for _ in range(2):
        stage.bus.open("researcher")
    await stage.run(Agent(sends(to), toolsets=[messaging_tools()]))
    return stage.entries.results("send_message")[0]


@pytest.mark.rows("T070")
async def test_a_receipt_reads_the_same_under_both_policies_but_for_the_states_that_one_of_them_knows() -> None:
    by_default, under_classic = [await told(policy, "researcher") for policy in (BusPolicy(), BusPolicy.classic())]

    assert by_default.replace(" (running)", "") == under_classic
    assert "(running)" in by_default


@both
@pytest.mark.rows("T070")
@pytest.mark.parametrize("to", ["researcher#2", "researcher", "everyone"])
async def test_a_receipt_says_accepted_for_whom_and_that_reading_is_not_promised(policy: BusPolicy, to: str) -> None:
    text = await told(policy, to)

    assert text.startswith("Accepted for ")
    named = re.findall(r"\w+#\d+", text)
    everybody = ["friend#1", "researcher#1", "researcher#2", *(["worker#1"] if policy.name == "classic" else [])]
    assert named == {"everyone": everybody, "researcher": everybody[1:3]}.get(to, [to])
    assert "not promised" in text
    assert not re.search("delivered|received|seen|done", text, re.IGNORECASE)


@pytest.mark.rows("T072")
async def test_under_classic_a_broadcast_while_alone_is_accepted_for_the_sender_itself() -> None:
    played = await play(
        Agent(sends("everyone"), toolsets=[messaging_tools()]), options=TurnOptions(policy=BusPolicy.classic())
    )

    (text,) = played.entries.results("send_message")
    assert text.startswith("Accepted for assistant: 1 address.")
    assert "not promised" in text


@pytest.mark.rows("T073")
async def test_by_default_a_broadcast_while_alone_names_nobody_and_waits_for_whoever_opens_later() -> None:
    played = await play(Agent(sends("everyone"), toolsets=[messaging_tools()]))

    (text,) = played.entries.results("send_message")
    assert text.startswith("Accepted. Nobody else is reading now; runs that open later in this turn will get it.")
    assert "assistant" not in text
    assert played.entries.of("message")[0]["matched"] == []


@both
@pytest.mark.rows("T025")
async def test_a_send_by_a_tool_is_refused_once_the_bus_is_closed(policy: BusPolicy) -> None:
    stage = Stage(policy)
    writes = calls(call("send_message", to="friend", text="late"), seconds=DURING)

    await stage.run(agent(writes, says("ok"), sleep=meanwhile(stage.bus.close)))

    (text,) = stage.entries.results("send_message")
    assert text.startswith("turn_closed: ")
    assert "accept" not in text.lower()
    assert the_list(stage.bus) == []


@both
@pytest.mark.rows("T062", "B52")
@pytest.mark.parametrize("text", [" @bob please look", "ok, @bob look", "@bob"])
async def test_a_body_is_never_searched_for_whom_it_is_meant(policy: BusPolicy, text: str) -> None:
    stage = Stage(policy)
    bob, researcher = stage.bus.open("bob"), stage.bus.open("researcher")

    await stage.run(Agent(sends("researcher#1", text), toolsets=[messaging_tools()]))

    assert [delivery.message.text for delivery in researcher.drain()] == [text]
    assert (bob.drain(), stage.friend.drain()) == ((), ())


@both
@pytest.mark.rows("T068")
async def test_a_run_without_messaging_tools_reads_its_mail_and_cannot_send(policy: BusPolicy) -> None:
    stage = Stage(policy)

    async def sibling_writes(_: float) -> None:
        stage.friend.send("worker#1", "to your address")
        stage.friend.send("worker", "to your label")

    steps = (calls(call("send_message", to="friend", text="hello"), seconds=DURING), says("ok"))
    await stage.run(Agent(ScriptedModel(*steps, sleep=sibling_writes)))

    assert [facts["text"] for facts in stage.entries.of("delivery", "worker#1")] == [
        "to your address",
        "to your label",
    ]
    assert [facts["outcome"] for facts in stage.entries.of("tool_result", "worker#1")] == ["error"]
    assert {facts["sender"] for facts in stage.entries.of("message")} == {"friend#1"}


@both
@pytest.mark.rows("T074")
async def test_no_word_of_a_receipt_is_false_when_the_recipient_dies_before_it_reads(policy: BusPolicy) -> None:
    stage = await a_worker_dies_with_mail(policy)

    (text,) = stage.entries.results("send_message")
    assert text.replace(" (running)", "") == (
        "Accepted for researcher#1: 1 address. Accepted means stored; that anybody will read it is not promised."
    )
    stage.bus.close()
    assert [(address, state) for _, address, state, _ in stage.entries.fates()] == [
        ("researcher#1" if policy.name == "default" else None, "undelivered")
    ]


@both
@pytest.mark.rows("T078")
@pytest.mark.parametrize("way", ["inside a tool", "beside it"])
async def test_a_run_without_a_mailbox_of_its_own_never_sends_under_the_name_of_the_one_around_it(
    policy: BusPolicy, way: str
) -> None:
    stage = Stage(policy)
    inner = Agent(sends("everyone"), toolsets=[messaging_tools()])
    told_to_inner: list[str] = []

    async def run_inner() -> None:
        result = await inner.run("go")
        told_to_inner.extend(
            str(part.content)
            for message in result.all_messages()
            for part in message.parts
            if part.part_kind == "tool-return"
        )

    async def beside() -> None:
        await asyncio.get_running_loop().create_task(run_inner())

    outer = agent(calls(call("run_inner" if way == "inside a tool" else "beside")), says("ok"))
    outer.tool_plain(run_inner)
    outer.tool_plain(beside)
    await stage.run(outer)

    assert [text.split(":")[0] for text in told_to_inner] == ["no_address"]
    assert the_list(stage.bus) == []


@both
@pytest.mark.rows("T087")
@pytest.mark.parametrize(("to", "text"), [("everyone", "\0"), ("everyone", " "), ("a b", "hello"), ("nobody", "hello")])
async def test_that_a_run_has_no_address_comes_before_whatever_else_is_wrong(
    policy: BusPolicy, to: str, text: str
) -> None:
    stage = Stage(policy)
    deaf = Agent(sends(to, text), toolsets=[messaging_tools()])

    result = await deaf.run("go")

    (answer,) = [part for message in result.all_messages() for part in message.parts if part.part_kind == "tool-return"]
    assert str(answer.content).startswith("no_address: ")
    assert answer.outcome == "failed"
    assert the_list(stage.bus) == []


@both
@pytest.mark.rows("T076", "B54")
async def test_a_made_up_address_is_answered_with_the_roster_and_the_run_goes_on(policy: BusPolicy) -> None:
    stage = Stage(policy)
    stage.bus.open("researcher")
    blind = messaging_tools().filtered(lambda _, tool: tool.name == "send_message")
    model = ScriptedModel(
        calls(call("send_message", to="researcher#7", text="hello")),
        calls(call("send_message", to="researcher#1", text="hello")),
        says("sent"),
    )

    result = await stage.run(Agent(model, toolsets=[blind]))

    first, second = stage.entries.of("tool_result")
    assert (first["outcome"], first["text"].partition(":")[0]) == ("error", "not_found")
    assert listed(first["text"]) == ["friend#1", "researcher#1", "worker#1", "everyone"]
    assert (second["outcome"], result.output) == ("ok", "sent")
    assert [entry["to"] for entry in the_list(stage.bus)] == ["researcher#1"]
