"""What `list_agents` tells: who is there, and what has become of the caller's own messages."""

import pytest

from restante.bus import BusPolicy
from restante.testing import call, calls, says
from restante.turn.tools import SHOWN_SENDS
from tests.bus.policies import both
from tests.bus.scenes import a_worker_dies_with_mail
from tests.bus.seen import listed
from tests.turn.playing import Stage, agent

pytestmark = pytest.mark.anyio

LISTS = calls(call("list_agents"))


@pytest.mark.rows("T089", "B27")
async def test_a_sender_that_lists_is_told_what_became_of_its_message_and_why() -> None:
    stage = await a_worker_dies_with_mail(BusPolicy())

    (text,) = stage.entries.results("list_agents")

    assert "- researcher#1 (finished: error)\n" in text
    assert text.splitlines()[-2:] == [
        "What has become of your messages:",
        "* 'check the cache' to researcher#1: researcher#1: undelivered (the run ended before it was read)",
    ]


@both
async def test_a_sender_that_lists_is_told_of_each_address_and_of_messages_that_wait(policy: BusPolicy) -> None:
    stage = Stage(policy)
    stage.bus.open("coder")
    steps = [calls(call("send_message", to=to, text="one\ntwo")) for to in ("coder", "everyone")]

    await stage.run(agent(*steps, LISTS, *[says("ok")] * 2))

    *_, to_one, to_all = stage.entries.results("list_agents")[0].splitlines()
    if policy.name == "default":
        assert to_one == r"* 'one\ntwo' to coder: coder#1: accepted"
        assert to_all == r"* 'one\ntwo' to everyone: friend#1: accepted; coder#1: accepted"
    else:
        assert to_one == r"* 'one\ntwo' to coder: whoever reads it first: accepted"
        assert to_all.startswith(r"* 'one\ntwo' to everyone: whoever reads it first: ")


@both
async def test_of_many_messages_the_newest_are_told_and_the_others_counted(policy: BusPolicy) -> None:
    stage = Stage(policy)
    many = calls(*(call("send_message", to="friend", text=f"{number}") for number in range(SHOWN_SENDS + 3)))

    await stage.run(agent(many, LISTS, says("ok")))

    lines = stage.entries.results("list_agents")[0].splitlines()
    told = [line for line in lines if line.startswith("* ")]
    assert "(3 earlier ones are not shown)" in lines
    assert [line.split()[1] for line in told] == [f"'{number}'" for number in range(3, SHOWN_SENDS + 3)]


@both
@pytest.mark.rows("T089")
async def test_a_run_that_has_sent_nothing_is_told_of_no_messages(policy: BusPolicy) -> None:
    stage = Stage(policy)
    stage.friend.send("everyone", "hello")

    await stage.run(agent(LISTS, *[says("ok")] * 2))

    assert listed(stage.entries.results("list_agents")[0]) == ["friend#1", "worker#1", "everyone"]
    assert "your messages" not in stage.entries.results("list_agents")[0]


@pytest.mark.rows("T090")
async def test_a_long_roster_is_listed_by_fifty_lines_with_those_that_live_and_the_number_of_the_hidden_ones() -> None:
    stage = Stage()
    for number in range(58):
        worker = stage.bus.open("researcher")
        if number < 45:
            worker.close("answered")

    await stage.run(agent(LISTS, says("ok")))

    text = stage.entries.results("list_agents")[0]
    shown = listed(text)[:-2]
    assert len(stage.bus.roster()) == 60
    assert len(shown) == 50
    assert {"friend#1", "worker#1", *(f"researcher#{number}" for number in range(46, 59))} <= set(shown)
    assert "- and 10 more that have finished" in text
