"""Background spawns, nested two deep: while the sender runs, every other run of the team reads its words.

The team of `test_ancestors`, but nobody waits for its workers, so that nobody is out of reach.
"""

import pytest

from restante.bus import BusPolicy
from restante.testing import Step, call, calls, says
from tests.turn.playing import BOTH
from tests.turn.stage import Cast, sends, waits
from tests.turn.test_ancestors import PAIRS, PARENTS, TEXT

pytestmark = pytest.mark.anyio


def cast_of(policy: BusPolicy, sender: str, recipient: str) -> Cast:
    """Each of the team starts its workers and waits at a gate of its own; the sender sends in between."""

    def script(address: str) -> list[Step]:
        label = address.partition("#")[0]
        workers = [one.partition("#")[0] for one, parent in PARENTS.items() if parent == address]
        spawned = [calls(*(call("spawn", agent=one, task="work", background=True) for one in workers))]
        act = [waits("send"), sends(recipient, TEXT)] if address == sender else []
        return [*(spawned if workers else []), *act, waits(address), says(f"{label} is done"), says("and done")]

    return Cast(policy, **{address.partition("#")[0]: script(address) for address in reversed(PARENTS)})


@pytest.mark.rows("T192")
@pytest.mark.reach("a parent", "a worker that is there", "background", "at its next boundary")
@pytest.mark.reach("a worker", "its parent", "background", "at its next boundary: a wait for workers ends for it")
@pytest.mark.reach("a worker", "its sibling", "background", "at its next boundary, with no act of the parent between")
@pytest.mark.reach("a worker's worker", "its grandparent", "background", "at its next boundary")
@pytest.mark.reach("a worker's worker", "its parent's sibling", "background", "at its next boundary")
@pytest.mark.parametrize("policy", BOTH, ids=lambda policy: policy.name)
@pytest.mark.parametrize(("sender", "recipient"), PAIRS)
async def test_where_nobody_waits_for_a_worker_everybody_reads_while_the_sender_runs(
    policy: BusPolicy, sender: str, recipient: str
) -> None:
    cast = cast_of(policy, sender, recipient)

    async with cast.turn() as turn:
        assert {line.address for line in turn.bus.roster()} == set(PARENTS)
        await cast.open("send")
        assert len(cast.entries.results("send_message", sender)) == 1
        await cast.open(recipient)
        assert cast.readers(TEXT) == [recipient]
        assert cast.all("run_closed", sender) == []
        await cast.open(*(address for address in PARENTS if address != "assistant"))
        await cast.open("assistant")

    assert {fate[2] for fate in cast.entries.fates()} == {"delivered"}


@pytest.mark.rows("T188", "T189")
@pytest.mark.reach("the person", "a worker", "background", "at its own next boundary")
@pytest.mark.reach("the person", "the entry agent", "background", "its next prompt, in the same turn")
@pytest.mark.parametrize("policy", BOTH, ids=lambda policy: policy.name)
async def test_what_the_person_says_while_nobody_waits_each_run_reads_at_its_own_boundary(policy: BusPolicy) -> None:
    cast = cast_of(policy, "coder#1", "lead#1")

    async with cast.turn() as turn:
        assert turn.say("hurry").accepted
        read: list[str | None] = []
        for address in ("reader#1", "lead#1", "assistant"):
            await cast.open(address)
            read.append(address)
            assert cast.readers("hurry") == read
        await cast.open("send", *PARENTS)

    assert set(cast.readers("hurry")) == set(PARENTS)
