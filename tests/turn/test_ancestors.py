"""Blocking spawns, nested two deep: while the sender runs, its words are read by all but its ancestors and its workers.

The team is `assistant`, which waits for `lead#1` and `researcher#1`; they wait for `coder#1` and `reader#1`. Of every
ordered pair one is the sender. It sends as soon as its own workers have returned, and goes on running; then the
recipient may come to its next boundary, with every worker of it but the sender.
"""

import pytest

from restante.bus import BusPolicy
from restante.testing import Step, says
from tests.turn.playing import BOTH
from tests.turn.stage import Cast, sends, spawns, waits

pytestmark = pytest.mark.anyio

PARENTS = {
    "assistant": None,
    "lead#1": "assistant",
    "researcher#1": "assistant",
    "coder#1": "lead#1",
    "reader#1": "researcher#1",
}
PAIRS = [
    pytest.param(sender, recipient, id=f"{sender} to {recipient}")
    for sender in PARENTS
    for recipient in PARENTS
    if sender != recipient
]
TEXT = "do you read me?"


def ancestors(address: str) -> set[str]:
    """Whoever waits for this run, directly or through others."""
    parent = PARENTS[address]
    return set() if parent is None else {parent, *ancestors(parent)}


def below(address: str) -> set[str]:
    """Whomever this run waits for, directly or through others."""
    return {other for other in PARENTS if address in ancestors(other)}


def cast_of(policy: BusPolicy, sender: str, recipient: str) -> Cast:
    """Each of the team waits at a gate of its own once its workers have returned; the sender sends in between."""

    def script(address: str) -> list[Step]:
        label = address.partition("#")[0]
        workers = [one.partition("#")[0] for one, parent in PARENTS.items() if parent == address]
        act = [waits("send"), sends(recipient, TEXT)] if address == sender else []
        return [*([spawns(*workers)] if workers else []), *act, waits(address), says(f"{label} is done")]

    # Each may spawn those before it, so that the deepest come first.
    return Cast(policy, **{address.partition("#")[0]: script(address) for address in reversed(PARENTS)})


@pytest.mark.rows("T192")
@pytest.mark.parametrize("policy", BOTH, ids=lambda policy: policy.name)
@pytest.mark.parametrize(("sender", "recipient"), PAIRS)
async def test_words_are_read_while_their_sender_runs_unless_one_waits_for_the_other(
    policy: BusPolicy, sender: str, recipient: str
) -> None:
    cast = cast_of(policy, sender, recipient)
    related = sender in ancestors(recipient) or recipient in ancestors(sender)

    async with cast.turn():
        assert [entry.address for entry in cast.all("run_opened")] == list(PARENTS)
        await cast.open("send", *below(sender))
        assert len(cast.entries.results("send_message", sender)) == 1
        await cast.open(recipient, *(below(recipient) - {sender}))
        read_meanwhile = cast.readers(TEXT) == [recipient]
        assert cast.all("run_closed", sender) == []
        await cast.open(*PARENTS)

    assert read_meanwhile is not related
    if recipient in ancestors(sender):
        assert cast.number("delivery", recipient, text=TEXT) > cast.number("run_closed", sender)
    if sender in ancestors(recipient):
        # It had returned by then: by default that is known and said, under classic nobody reads the words.
        assert cast.readers(TEXT) == []
        (answer,) = cast.entries.results("send_message", sender)
        assert answer.startswith("recipient_finished: " if policy.liveness else "Accepted")
