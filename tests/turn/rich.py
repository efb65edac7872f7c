"""A turn in which everything happens that can become of a message, for tests of the record and of the export."""

from dataclasses import dataclass
from typing import Any

from pydantic_ai import RunContext

from restante.bus import BusPolicy, JournalEntry
from restante.testing import ScriptedModel, call, calls, fails, says
from restante.turn import TurnResult
from restante.turn.mailbox import mailbox_of
from tests.turn.stage import Cast, sends, spawns, waits


@dataclass(frozen=True)
class Rich:
    """The turn, its cast with the journal, and what a run replied by its reader."""

    cast: Cast
    result: TurnResult


async def rich_turn(policy: BusPolicy) -> Rich:
    """Messages that are accepted, refused, delivered, undelivered and carried, and one that an unobliged run reads."""
    first = [
        waits("both run"),
        sends("everyone", "to all"),
        sends("researcher#2", "to the one that fails"),
        sends("nobody", "to nobody"),
        waits("failed"),
        sends("everyone", "to those that are left"),
        says("1"),
    ]
    second = [waits("fails"), fails("boom")]
    cast = Cast(
        policy,
        coder=[calls(call("reply", message_id="m2")), says("coded")],
        researcher=ScriptedModel.of_runs(first, second),
        assistant=[spawns("researcher", "researcher"), spawns("coder"), calls(call("list_agents")), says("done")],
    )
    cast.agents["coder"].tool(reply)

    def say_after_the_last_drain(entry: JournalEntry) -> None:
        if entry.kind == "run_closed" and entry.address == "assistant":
            turn.say("too late for this turn")

    cast.on_entry = say_after_the_last_drain
    async with cast.turn() as turn:
        turn.bus.send_external("ci", "the build is broken", message_id="x1", to="assistant")
        await cast.open("both run")
        await cast.open("fails")
        await cast.open("failed")
        return Rich(cast, await turn.result())


async def reply(ctx: RunContext[Any], message_id: str) -> str:
    """What a host's own tool may do with the reader: a reply that names what it answers."""
    mailbox = mailbox_of(ctx)
    assert mailbox is not None
    return mailbox.reader.send("assistant", "a reply", in_reply_to=message_id).text
