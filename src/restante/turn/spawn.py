"""A worker as a tool call: the parent waits, and gets the worker's answer as the result."""

from collections.abc import Generator, Mapping
from contextlib import contextmanager
from typing import Any

from pydantic_ai import Agent, FunctionToolset, RunContext, ToolFailed

from restante.bus.reader import Reader
from restante.errors import RestanteError
from restante.texts import problem_of
from restante.turn import parts
from restante.turn.mailbox import Mailbox, MailboxOptions, mailbox_of
from restante.turn.notes import describe
from restante.turn.tools import NO_ADDRESS

Agents = Mapping[str, Agent[Any, Any]]


def spawn_tools(agents: Agents) -> FunctionToolset[Any]:
    """`spawn(agent, task)` for these agents, by their labels. A worker may spawn what its own toolsets allow it."""
    toolset = FunctionToolset[Any](id="restante.spawn")
    toolset.add_function(_Spawner(agents).spawn, name="spawn", description=_description(agents))
    return toolset


class _Spawner:
    """Starts workers for the run that calls. It holds the agents and nothing of any run."""

    def __init__(self, agents: Agents) -> None:
        self._agents = dict(agents)

    async def spawn(self, ctx: RunContext[Any], agent: str, task: str) -> str:
        """Run a worker and return its answer. What goes wrong in it is a result, too."""
        # Nothing may wait before the reader is open: so addresses follow the order of the requests.
        caller = mailbox_of(ctx)
        if caller is None:
            raise ToolFailed(NO_ADDRESS)
        if agent not in self._agents:
            raise ToolFailed(f"not_found: there is no agent {agent!r}. You can spawn: {', '.join(self._agents)}.")
        if problem := problem_of(task, len(task)):
            raise ToolFailed(f"{problem.code}: {problem.message}")
        reader = _open(caller, agent)
        caller.notes.spawn(agent, task, reader.address)
        options = MailboxOptions(reader=reader, runs=caller.runs, observer=caller.options.observer)
        mailbox = Mailbox(caller.bus, agent, options=options)
        with caller.reader.waiting_for(reader.address), _ended(caller, reader):
            async with caller.runs.whole(reader.address):
                result = await self._agents[agent].run(
                    [parts.task(task, caller.reader.address)],
                    capabilities=[mailbox, *caller.runs.listened(reader.address)],
                    deps=ctx.deps,
                    usage_limits=caller.runs.limits_of(agent),
                )
        return _answer(caller, reader.address, result.output)


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
    return reader


@contextmanager
def _ended(caller: Mailbox, reader: Reader) -> Generator[None]:
    """However the worker ends, its reader is closed and its place is free; its error is a result for the caller."""
    try:
        yield
    except Exception as error:
        reader.close("error", error=describe(error))
        raise ToolFailed(f"{reader.address} failed: {describe(error)}") from error
    finally:
        # Both matter only for a run that never came to start.
        reader.close("cancelled")
        caller.runs.live.discard(reader.address)


def _answer(caller: Mailbox, address: str, output: object) -> str:
    answer = parts.as_text(output)
    if caller.runs.how(address) != "wrap-up":
        return answer
    return f"The rounds of {address} were used up, so that this answer may be incomplete:\n{answer}"


def _description(agents: Agents) -> str:
    known = "\n".join(
        f"- {name}{f': {agent.description}' if agent.description else ''}" for name, agent in agents.items()
    )
    return (
        "Start another agent on a task and wait for its answer. Several calls in one round run at the same time. "
        f"The agents:\n{known}"
    )
