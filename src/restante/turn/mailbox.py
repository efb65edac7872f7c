"""The mailbox of one run: it opens the reader, drains it between rounds, confirms what was read, and counts rounds."""

import asyncio
from copy import copy
from dataclasses import dataclass, replace
from typing import Any, Literal

from pydantic_ai import CallToolsNode, ModelRequestNode, RunContext
from pydantic_ai.capabilities import (
    AbstractCapability,
    AgentNode,
    CapabilityOrdering,
    NodeResult,
    ValidatedToolArgs,
    WrapNodeRunHandler,
    WrapRunHandler,
    WrapToolExecuteHandler,
)
from pydantic_ai.messages import ModelMessage, ModelResponse, ToolCallPart
from pydantic_ai.models import ModelRequestContext
from pydantic_ai.result import FinalResult
from pydantic_ai.run import AgentRunResult
from pydantic_ai.tools import DeferredToolRequests, ToolDefinition
from pydantic_graph import End
from typing_extensions import override

from restante.bus.budget import Budget
from restante.bus.bus import MessageBus
from restante.bus.reader import Reader
from restante.bus.rendering import Delivery
from restante.bus.run import How
from restante.texts import Origin
from restante.turn import parts
from restante.turn.notes import Notes, describe
from restante.turn.observer import Observed, Observer
from restante.turn.runs import Ran, Runs

MAILBOX_ID = "restante.mailbox"
_NO_ANSWER = "The rounds are used up, and the last call, without tools, gave no answer."


class WrapUpFailed(RuntimeError):
    """The rounds were used up, and the call without tools gave no answer."""


@dataclass(frozen=True, kw_only=True)
class MailboxOptions:
    """What a mailbox may be given beyond its bus and its label."""

    rounds: int | None = None
    """Model calls before the wrap-up. None: what the turn gives this label, or the policy's."""
    observer: Observer | None = None
    reader: Reader | None = None
    """Already opened, by whoever spawns the run. None: the mailbox opens it when the run starts."""
    runs: Runs | None = None
    """What the runs of the turn share. None: this run is the first of its turn."""


class Mailbox(AbstractCapability[Any]):
    """Gives one run of an agent its address on a bus: `agent.run(prompt, capabilities=[Mailbox(bus, "researcher")])`.

    It drains once before the first call and once after each (under `classic` not before the first), puts each message
    into the next prompt as a part of its own, and confirms it when the call that carried it is complete. When the
    rounds are used up and no answer stands, or late mail waits, one more call is made, without function tools.
    `entry` is for the agent that the person talks to. Opening raises `BadLabel` or `BusClosed`; then the run does not
    start. Ways of running that take the last drain are `run`, `iter`, and `run_stream_events`, but not `run_stream`:
    what arrives while that one gives its answer is reported as `run_ended_first`.
    """

    def __init__(
        self, bus: MessageBus, label: str, *, entry: bool = False, options: MailboxOptions | None = None
    ) -> None:
        self.id = MAILBOX_ID
        self.bus = bus
        self.label = label
        self.entry = entry
        self.options = options or MailboxOptions()
        self.runs = self.options.runs or Runs()
        own_rounds = self.options.rounds or self.runs.rounds.get(label)
        self._budget = Budget(bus.policy, own_rounds)
        self._claimed: dict[str, Delivery] = {}
        """What was drained and no call has confirmed yet, by id."""
        self._drained = False
        """Whether the drain of this boundary has been taken."""
        self._call = -1
        """The number of the latest call, from 0, the wrap-up included."""
        self._calling = False
        """That call has not come back."""
        self._wrapping = False
        self._earlier: End[FinalResult[Any]] | None = None
        """The healthy answer that stands if nothing better follows: of the last permitted call, or before `_extra`."""
        self._extra: Literal["none", "due", "made", "over"] = "none"
        """The one call outside the budget, of an entry run that has answered while background workers go on."""
        self._output_tools: frozenset[str] = frozenset()
        self._over = False
        """The run has been cut off."""

    @property
    def reader(self) -> Reader:
        """What this run sees the bus through. It is there while the run goes on."""
        return self._reader

    @override
    async def for_run(self, ctx: RunContext[Any]) -> "Mailbox":
        """A mailbox with counters of its own, so that one can be given to several runs."""
        return type(self)(self.bus, self.label, entry=self.entry, options=self.options)

    @override
    def get_ordering(self) -> CapabilityOrdering:
        """Outermost, so that it sees what other capabilities make of a node."""
        return CapabilityOrdering(position="outermost")

    @classmethod
    @override
    def get_serialization_name(cls) -> str | None:
        """None: a mailbox holds a bus, which no file can describe."""
        return None

    # The run

    @override
    async def wrap_run(self, ctx: RunContext[Any], *, handler: WrapRunHandler) -> AgentRunResult[Any]:
        """Open the reader, and close it however the run ends."""
        self._open()
        try:
            result = await handler()
        except BaseException as error:
            await self._ended_badly(ctx, error)
            raise
        await self._close(ctx, "wrap-up" if self._wrapping else "answered")
        # After the close, as where the last drain has closed the reader already.
        self.notes.answer(result.output)
        return result

    def _open(self) -> None:
        self._reader = self.options.reader or self._opened()
        self.notes = Notes(self.bus, self._reader.address)
        self._observed = Observed(self.options.observer, self._reader.address)
        self.runs.opens(self._reader.address)
        self.runs.joined(self._reader.address)

    def _opened(self) -> Reader:
        return self.bus.open_entry(self.label) if self.entry else self.bus.open(self.label)

    async def _ended_badly(self, ctx: RunContext[Any], error: BaseException) -> None:
        self._over = True
        self.notes.not_executed(parts.CUT_OFF)
        if not isinstance(error, Exception):
            await self._close(ctx, "stopped" if self.runs.stopped else "cancelled")
            return
        if self._calling:
            self._reader.failed(call=self._call)
        self.notes.failed(error)
        await self._close(ctx, "error", error)

    async def _close(self, ctx: RunContext[Any], how: How, error: Exception | None = None) -> None:
        address = self._reader.address
        self.notes.usage(ctx.usage)
        self._reader.close(how, error=describe(error) if error else None)
        self.runs.ends(Ran(address=address, how=how, rounds=self._budget.calls, usage=copy(ctx.usage)))
        await self._give_up_claimed()

    def _go_on(self) -> None:
        """Raises where the library goes on with a run that has been cut off, which it does for some steps."""
        if self._over or self.runs.ending:
            raise asyncio.CancelledError

    # Rounds

    @override
    async def before_node_run(self, ctx: RunContext[Any], *, node: "AgentNode[Any]") -> "AgentNode[Any]":
        """When no call is left, what is asked for next is the wrap-up, also if it is a retry."""
        self._go_on()
        if isinstance(node, ModelRequestNode) and self._budget.left <= 0 and self._extra != "due":
            self._wrapping = True
        return node

    @override
    async def prepare_tools(self, ctx: RunContext[Any], tool_defs: list[ToolDefinition]) -> list[ToolDefinition]:
        """In the wrap-up there are no function tools; output tools stay, and do not come through here."""
        return [] if self._wrapping else tool_defs

    @override
    async def wrap_node_run(
        self, ctx: RunContext[Any], *, node: "AgentNode[Any]", handler: "WrapNodeRunHandler[Any]"
    ) -> "NodeResult[Any]":
        """Tools of the last permitted round are not executed; after an empty answer waiting mail is the prompt."""
        if self._extra == "made":
            empty = isinstance(node, CallToolsNode) and parts.is_empty(node.model_response)
            result = self._earlier if empty and self._earlier else await handler(node)
            self._extra = "over"
            return result
        if isinstance(node, CallToolsNode) and not self._wrapping:
            called = parts.function_calls(node.model_response, self._output_tools)
            if self._budget.left <= 0 and called and len(called) == len(node.model_response.tool_calls):
                self.notes.not_executed(parts.NOT_EXECUTED)
                return ModelRequestNode(parts.not_executed(called))
            if parts.is_empty(node.model_response) and (mail := await self._drain()):
                return ModelRequestNode(parts.delivered(mail, self.bus.now_s()))
        return await handler(node)

    @override
    async def before_model_request(
        self, ctx: RunContext[Any], request_context: ModelRequestContext
    ) -> ModelRequestContext:
        """The boundary before a call: drain, unless that was done after the last one, and count."""
        self._go_on()
        self.runs.joined(self._reader.address)
        if not self._drained and (self._budget.calls or self.bus.policy.drains_first):
            self._enqueue(ctx, await self._drain())
            self._go_on()
        self._drained = False
        self._call += 1
        self._calling = True
        parameters = request_context.model_request_parameters
        self._output_tools = frozenset(tool.name for tool in parameters.output_tools)
        if self._extra == "due":
            self._extra = "made"
            return request_context
        if not self._wrapping:
            self._budget.count_call()
            self.notes.round(self._budget)
            return request_context
        ctx.enqueue(parts.wrap_up())
        self.notes.wrap_up()
        request_context.model_request_parameters = replace(parameters, native_tools=[])
        return request_context

    @override
    async def after_model_request(
        self, ctx: RunContext[Any], *, request_context: ModelRequestContext, response: ModelResponse
    ) -> ModelResponse:
        """A complete call has delivered what its request really carried."""
        if self._over:
            raise asyncio.CancelledError
        read: tuple[Delivery, ...] = ()
        if response.state == "complete":
            self._calling = False
            read = self._confirm(request_context.messages)
        if self._wrapping:
            response = self._without_function_calls(response)
        self.notes.response(response)
        # Last, since the run may be cut off while the observer takes its time.
        await self._observed.tell("returned", read)
        return response

    @override
    async def after_node_run(
        self, ctx: RunContext[Any], *, node: "AgentNode[Any]", result: "NodeResult[Any]"
    ) -> "NodeResult[Any]":
        """The boundary after an answer: with mail the run goes on, without it the reader closes in the same step."""
        self._go_on()
        if isinstance(result, ModelRequestNode):
            self.notes.results([result.request])
            if not self._wrapping:
                self.notes.nudge(result.request)
        if not isinstance(node, CallToolsNode):
            return result
        self.notes.results(ctx.messages[-1:])
        if self._wrapping:
            return result if isinstance(result, End) else await self._fall_back(WrapUpFailed(_NO_ANSWER))
        if not isinstance(result, End) or isinstance(result.data.output, DeferredToolRequests):
            return result
        if await self._has_extra(ctx, result):
            return result
        # What another capability has enqueued makes the run go on.
        if mail := await self._drain(close=not ctx.pending_messages):
            self._earlier = result if self._budget.left <= 0 else None
            self._enqueue(ctx, mail)
        return result

    @override
    async def on_node_run_error(
        self, ctx: RunContext[Any], *, node: "AgentNode[Any]", error: Exception
    ) -> "NodeResult[Any]":
        """If the wrap-up or the extra round fails, an earlier answer stands."""
        if self._wrapping or self._extra in ("due", "made"):
            return await self._fall_back(error)
        raise error

    async def _fall_back(self, error: Exception) -> "NodeResult[Any]":
        if self._earlier is None:
            raise error
        if self._calling:
            self._calling = False
            self._reader.failed(call=self._call)
            await self._give_up_claimed()
        self._wrapping = False
        self._extra = "none" if self._extra == "none" else "over"
        return self._earlier

    async def _has_extra(self, ctx: RunContext[Any], answer: End[FinalResult[Any]]) -> bool:
        """One more round, once, for an entry run that has answered while background workers go on."""
        live = self.runs.background.live() if self.runs.background and self.entry and self._extra == "none" else []
        if not live:
            return False
        self._extra, self._earlier = "due", answer
        mail = self._reader.drain()
        await self._took(mail)
        self._enqueue(ctx, mail)
        states = {line.address: line.state or "running" for line in self.bus.roster()}
        notice = parts.workers_notice({worker.address: states[worker.address] for worker in live})
        ctx.enqueue(parts.bus_says(notice, "workers"))
        self.notes.extra_round(notice)
        return True

    def _without_function_calls(self, response: ModelResponse) -> ModelResponse:
        called = parts.function_calls(response, self._output_tools)
        kept = [part for part in response.parts if part not in called]
        return replace(response, parts=kept) if called and kept else response

    # Mail

    async def _drain(self, *, close: bool = False) -> tuple[Delivery, ...]:
        """Take the mail of this boundary. After the last permitted call it is the last drain."""
        if self._budget.left <= 0:
            mail = self._reader.drain_last()
        else:
            mail = self._reader.drain_or_close() if close else self._reader.drain()
            self._move(mail)
        await self._took(mail)
        return mail

    async def _took(self, mail: tuple[Delivery, ...]) -> None:
        self._drained = True
        self._claimed.update({one.message.message_id: one for one in mail})
        await self._observed.tell("claimed", mail)

    def _move(self, mail: tuple[Delivery, ...]) -> None:
        origins: list[Origin] = sorted({one.message.origin for one in mail})
        if self._budget.calls and any(origin != "bus" for origin in origins):
            moved = self._budget.move(origins)
            self.notes.move(self._budget, origins, moved=moved)

    def _enqueue(self, ctx: RunContext[Any], mail: tuple[Delivery, ...]) -> None:
        if mail:
            ctx.enqueue(parts.delivered(mail, self.bus.now_s()))

    def _confirm(self, messages: list[ModelMessage]) -> tuple[Delivery, ...]:
        """Delivered is what was in the request that was sent; the rest stays claimed, for it may still be sent."""
        if not self._claimed:
            return ()
        sent = parts.message_ids(messages)
        carried = [one for message_id, one in self._claimed.items() if message_id in sent]
        self._claimed = {message_id: one for message_id, one in self._claimed.items() if message_id not in sent}
        self._reader.returned([one.message.message_id for one in carried], call=self._call)
        return tuple(carried)

    async def _give_up_claimed(self) -> None:
        unread = tuple(self._claimed.values())
        self._claimed = {}
        await self._observed.tell("failed", unread)

    # Tools

    @override
    async def wrap_tool_execute(
        self,
        ctx: RunContext[Any],
        *,
        call: ToolCallPart,
        tool_def: ToolDefinition,
        args: ValidatedToolArgs,
        handler: WrapToolExecuteHandler,
    ) -> Any:
        """Note what a tool gave. Nothing waits before the tool's body, so that calls begin in their order."""
        self._go_on()
        try:
            if self.runs.approver and self.runs.approver.gates(self.label, call.tool_name):
                await self.runs.approver.decide(self.notes, self._reader.address, call, args)
                # A yes that comes after the turn was stopped lets nothing happen any more.
                self._go_on()
            value = await handler(args)
        except Exception as error:
            self.notes.raised(call, error)
            raise
        self.notes.returned(call, value)
        return value


def mailbox_of(ctx: RunContext[Any]) -> Mailbox | None:
    """The mailbox of the run that calls, or None if that run has none: never that of a run around it."""
    mailbox = ctx.capabilities.get(MAILBOX_ID)
    return mailbox if isinstance(mailbox, Mailbox) else None
