"""A worker as a tool call: the parent waits and gets its answer, or goes on while it works in the background."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pydantic_ai import Agent, FunctionToolset, RunContext, ToolFailed

from restante.bus.reader import Reader
from restante.errors import RestanteError
from restante.texts import problem_of
from restante.turn import parts
from restante.turn.background import Background
from restante.turn.mailbox import Mailbox, MailboxOptions
from restante.turn.notes import describe
from restante.turn.tools import calling_mailbox
from restante.turn.workers import AWAIT_WORKERS, CANCEL_WORKER, await_workers, cancel_worker

Agents = Mapping[str, Agent[Any, Any]]


def spawn_tools(agents: Agents) -> FunctionToolset[Any]:
    """`spawn(agent, task, background)` for these agents, by their labels; `await_workers` and `cancel_worker`.

    A worker may spawn what its own toolsets allow it.
    """
    toolset = FunctionToolset[Any](id="restante.spawn")
    toolset.add_function(_Spawner(agents).spawn, name="spawn", description=_description(agents))
    toolset.add_function(await_workers, description=AWAIT_WORKERS)
    toolset.add_function(cancel_worker, description=CANCEL_WORKER)
    return toolset


@dataclass(frozen=True, slots=True, kw_only=True)
class _Order:
    """A run that is about to start: whose, on what, and seeing the bus through which reader."""

    caller: Mailbox
    label: str
    agent: Agent[Any, Any]
    task: str
    reader: Reader
    deps: Any

    async def work(self) -> object:
        """Run the worker, and give its output. However it ends, its reader is closed and its place is free."""
        caller, reader = self.caller, self.reader
        options = MailboxOptions(reader=reader, runs=caller.runs, observer=caller.options.observer)
        mailbox = Mailbox(caller.bus, self.label, options=options)
        try:
            async with caller.runs.whole(reader.address):
                result = await self.agent.run(
                    [parts.task(self.task, caller.reader.address)],
                    capabilities=[mailbox, *caller.runs.listened(reader.address)],
                    deps=self.deps,
                    usage_limits=caller.runs.limits_of(self.label),
                )
        except Exception as error:
            reader.close("error", error=describe(error))
            raise
        finally:
            self.ended()
        return result.output

    def ended(self) -> None:
        """What matters only for a run that never came to start."""
        self.reader.close("cancelled")
        self.caller.runs.live.discard(self.reader.address)


class _Spawner:
    """Starts workers for the run that calls. It holds the agents and nothing of any run."""

    def __init__(self, agents: Agents) -> None:
        self._agents = dict(agents)

    async def spawn(
        self,
        ctx: RunContext[Any],
        agent: str,
        task: str,
        background: bool = False,  # noqa: FBT001, FBT002 - as a model calls it
    ) -> str | dict[str, str]:
        """Run a worker and return its answer, or its address at once. What goes wrong in it is a result, too."""
        # Nothing may wait before the reader is open: so addresses follow the order of the requests.
        caller = calling_mailbox(ctx)
        if agent not in self._agents:
            raise ToolFailed(f"not_found: there is no agent {agent!r}. You can spawn: {', '.join(self._agents)}.")
        if problem := problem_of(task, len(task)):
            raise ToolFailed(f"{problem.code}: {problem.message}")
        owner = _owner(caller) if background else None
        reader = _open(caller, agent)
        caller.notes.spawn(agent, task, reader.address, background=background)
        order = _Order(caller=caller, label=agent, agent=self._agents[agent], task=task, reader=reader, deps=ctx.deps)
        return _start(owner, order) if owner else await _answer(order)


def _owner(caller: Mailbox) -> Background:
    """Who owns the task of another background worker of this turn. Raises `ToolFailed` if there can be none."""
    owner = caller.runs.background
    if owner is None:
        raise ToolFailed("invalid_arguments: nothing here can own a background worker; spawn it without `background`.")
    limit, live = caller.bus.policy.background, len(owner.live())
    if live >= limit:
        raise ToolFailed(
            f"rate_limited: at most {limit} background workers of a turn may be live at once, and {live} are. "
            "One that ends makes room."
        )
    return owner


def _open(caller: Mailbox, label: str) -> Reader:
    limit, live = caller.bus.policy.live_runs, len(caller.runs.live)
    if live >= limit:
        raise ToolFailed(
            f"rate_limited: at most {limit} runs of a turn may be live at once, and {live} are. "
            "One that ends makes room."
        )
    try:
        reader = caller.bus.open(label)
    except RestanteError as error:
        raise ToolFailed(f"{error.code}: {error.message}") from error
    caller.runs.opens(reader.address)
    if caller.runs.background is not None:
        caller.runs.background.spawned(reader.address, caller.reader.address)
    return reader


def _start(owner: Background, order: _Order) -> dict[str, str]:
    address = order.reader.address
    owner.start(address, order.caller.reader.address, order.work, order.ended)
    return {"address": address, "note": _STARTED}


async def _answer(order: _Order) -> str:
    caller, address = order.caller, order.reader.address
    with caller.reader.waiting_for(address):
        try:
            output = await order.work()
        except Exception as error:
            raise ToolFailed(f"{address} failed: {describe(error)}") from error
    return parts.with_how(parts.as_text(output), address, caller.runs.how(address))


_STARTED = (
    "It works in the background while you go on. Write to it with `send_message`, wait for it with `await_workers`, "
    "end it with `cancel_worker`. Its answer comes only by `await_workers`."
)


def _description(agents: Agents) -> str:
    known = "\n".join(
        f"- {name}{f': {agent.description}' if agent.description else ''}" for name, agent in agents.items()
    )
    return (
        "Start another agent on a task and wait for its answer. Several calls in one round run at the same time. With "
        "`background` you get its address at once and go on, so that you can write to each other while it works. "
        f"The agents:\n{known}"
    )
