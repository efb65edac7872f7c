"""When the journal is told of what, and that the record is the journal folded."""

import asyncio
from collections import Counter
from collections.abc import Iterable, Mapping
from threading import Thread
from typing import Any

import pytest
from pydantic_ai import Agent, RunContext

from restante.bus import BusPolicy, JournalEntry, MessageBus
from restante.testing import ScriptedModel, Step, call, calls, says
from restante.turn import Turn, TurnOptions, messaging_tools, open_turn
from restante.turn.mailbox import mailbox_of
from restante.turn.parts import message_ids
from tests.turn.playing import BOTH, PATIENCE_SECONDS, Entries
from tests.turn.rich import rich_turn
from tests.turn.stage import Cast, sends, waits

pytestmark = pytest.mark.anyio

both = pytest.mark.parametrize("policy", BOTH, ids=lambda policy: policy.name)
Facts = dict[str, Any]


class Moments:
    """A turn of two runs; in one order what the journal is told, what is sent to a model, and what a send answers."""

    def __init__(self, policy: BusPolicy) -> None:
        self.order: list[tuple[str, str]] = []
        self.entries = Entries()
        self.bus = MessageBus(policy, sink=self._take)
        self.worker = self._agent(*[calls(call("tell", text=text), seconds=1) for text in ("one", "two")], says("42"))
        self.entry = self._agent(
            calls(call("spawn", agent="worker", task="x"), seconds=1), *[says("ok", seconds=1)] * 3
        )

    def _agent(self, *steps: Step) -> Agent[Any, Any]:
        async def thinks(_: float) -> None:
            self.order.append(("call", ",".join(sorted(message_ids(model.prompts[-1])))))

        model = ScriptedModel(*steps, sleep=thinks)
        made: Agent[Any, Any] = Agent(model, toolsets=[messaging_tools()])
        made.tool(self.tell)
        return made

    def _take(self, entry: JournalEntry) -> None:
        self.entries.append(entry)
        what = entry.facts.get("message_id") or entry.facts.get("call") or entry.facts.get("tool_call_id") or ""
        self.order.append((f"{entry.kind} {entry.address}".removesuffix(" None"), str(what)))

    async def tell(self, ctx: RunContext[Any], text: str) -> str:
        """A tool that sends, from a thread."""
        mailbox = mailbox_of(ctx)
        assert mailbox is not None
        reader = mailbox.reader

        def send() -> None:
            for receipt in (reader.send("everyone", text), reader.send("nobody", text)):
                self.order.append(("receipt", receipt.message_id or str(receipt.code)))

        thread = Thread(target=send)
        thread.start()
        thread.join()
        return "told"

    def place(self, *what: str) -> int:
        """Where it first stands in the order."""
        return self.order.index((what[0], what[1] if len(what) > 1 else ""))


@both
@pytest.mark.rows("T361")
async def test_each_entry_is_handed_over_as_it_happens(policy: BusPolicy) -> None:
    moments = Moments(policy)

    async with asyncio.timeout(PATIENCE_SECONDS):
        options = TurnOptions(bus=moments.bus, agents={"worker": moments.worker})
        async with open_turn(moments.entry, "go", options) as turn:
            result = await turn.result()

    place, entries = moments.place, moments.entries
    assert [entry.number for entry in entries] == list(range(1, len(entries) + 1))
    for message_id in ("m1", "m2"):
        assert place("message worker#1", message_id) < place("receipt", message_id)
        assert place("delivery assistant", message_id) < place("call", "m1,m2") < place("fate assistant", message_id)
    assert [what for kind, what in moments.order if kind == "receipt"] == ["m1", "not_found", "m2", "not_found"]
    kinds = [entry.kind for entry in entries if entry.address == "worker#1" and entry.kind in ROUND]
    assert kinds == ["round", "tool_call", "tool_result"] * 2 + ["round"]
    settled = [entry.number for entry in entries if entry.kind == "fate" and entry.address == "assistant"]
    closed = next(entry.number for entry in entries if entry.kind == "run_closed" and entry.address == "assistant")
    assert max(settled) < closed
    assert folded(entries) == without_times(result.record)


ROUND = ("round", "tool_call", "tool_result")


@both
@pytest.mark.rows("T361")
async def test_the_record_of_a_turn_in_which_everything_happens_is_its_journal_folded(policy: BusPolicy) -> None:
    rich = await rich_turn(policy)

    assert folded(rich.cast.entries) == without_times(rich.result.record)
    assert {"delivered", "undelivered", "carried"} == {state for _, _, state, _ in rich.cast.entries.fates()}


@both
@pytest.mark.rows("T361")
@pytest.mark.parametrize("ending", ["ends", "is stopped", "is cancelled"])
async def test_the_record_of_a_turn_however_it_ends_is_its_journal_folded(policy: BusPolicy, ending: str) -> None:
    cast = Cast(policy, assistant=[sends("everyone", "to whoever comes"), waits("for ever"), says("ok")])
    turns: list[Turn] = []
    begun = asyncio.Event()

    async def play() -> None:
        async with cast.turn() as turn:
            turns.append(turn)
            turn.say("are you there?")
            begun.set()
            if ending == "is stopped":
                turn.stop()
            if ending == "ends":
                await cast.open("for ever")
            await turn.result()

    playing = asyncio.ensure_future(play())
    await begun.wait()
    if ending == "is cancelled":
        playing.cancel()
    await asyncio.wait([playing])

    fates = {(state, reason) for _, _, state, reason in cast.entries.fates()}
    assert (
        fates
        & {
            "ends": {("undelivered", "never_drained"), ("delivered", None)},
            "is stopped": {("undelivered", "stopped")},
            "is cancelled": {("carried", None), ("undelivered", "never_drained")},
        }[ending]
    )
    assert folded(cast.entries) == without_times(turns[0].bus.record())


def folded(entries: Iterable[JournalEntry]) -> Facts:
    """The record, made of nothing but the journal of a turn that is over."""
    messages: dict[str, Facts] = {}
    runs: dict[str, Facts] = {}
    report: Facts | None = None
    for entry in entries:
        facts: Mapping[str, Any] = entry.facts
        if entry.kind == "message":
            messages[facts["message_id"]] = {
                **facts,
                "matched": [address for address, _ in facts["matched"]],
                "not_reached": [address for address, _ in facts["not_reached"]],
                "fates": [],
            }
        elif entry.kind == "fate":
            messages[facts["message_id"]]["fates"].append({name: facts[name] for name in FATE})
        elif entry.kind == "bus_closed":
            report = {name: value for name, value in facts.items() if name != "stopped"}
        _fold_run(runs, entry)
    for message in messages.values():
        message["fates"].sort(key=str)
    return {"messages": list(messages.values()), "runs": list(runs.values()), "report": report}


FATE = ("address", "state", "reason", "call", "obliged")
NOT_COUNTED = ("run_opened", "run_closed", "message", "fate", "delivery")


def _fold_run(runs: dict[str, Facts], entry: JournalEntry) -> None:
    if entry.address is None:
        return
    nothing_yet = {"how": None, "error": None, "sent": 0, "read": 0, "rounds": 0, "moves": 0}
    run = runs.setdefault(entry.address, {"address": entry.address, **nothing_yet})
    if entry.kind == "run_closed":
        run.update(entry.facts)
    elif entry.kind == "message":
        run["sent"] += 1
    elif entry.kind == "fate":
        run["read"] += entry.facts["state"] == "delivered"
    elif entry.kind not in NOT_COUNTED:
        name = f"{entry.kind}s"
        run[name] = run.get(name, 0) + 1


def without_times(record: Mapping[str, Any]) -> Facts:
    """A record as far as its journal says it in other words: without moments, the state of runs and the sums."""
    messages = [
        {
            **{name: value for name, value in message.items() if name != "at_s"},
            "fates": sorted(message["fates"], key=str),
        }
        for message in record["messages"]
    ]
    runs = [{name: value for name, value in run.items() if name != "state"} for run in record["runs"]]
    states = Counter(fate["state"] for message in messages for fate in message["fates"] if fate["obliged"])
    assert states.items() <= record["books"].items()
    return {"messages": messages, "runs": runs, "report": record["report"]}
