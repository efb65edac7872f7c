"""What one run notes in the journal: its rounds, and its tool calls with their results."""

import logging
from collections.abc import Mapping, Sequence
from typing import Any, Literal, cast

from pydantic_ai.exceptions import (
    ApprovalRequired,
    CallDeferred,
    ModelRetry,
    SkipToolExecution,
    ToolFailed,
)
from pydantic_ai.messages import (
    ModelMessage,
    ModelRequest,
    ModelResponse,
    RetryFeedbackPart,
    ToolCallPart,
    ToolReturn,
    ToolReturnPart,
)
from pydantic_ai.usage import RunUsage

from restante.bus.budget import Budget
from restante.bus.bus import MessageBus
from restante.texts import Origin
from restante.turn.parts import WRAP_UP, as_text

logger = logging.getLogger(__name__)

Outcome = Literal["ok", "error", "not_executed"]
_OUTCOMES: dict[str, Outcome] = {"success": "ok", "interrupted": "not_executed"}


class Notes:
    """The notes of one run. A tool call has exactly one result, however its round ends."""

    def __init__(self, bus: MessageBus, address: str) -> None:
        self._bus = bus
        self._address = address
        self._open: dict[str, str] = {}
        """The calls without a result: their ids and tools."""
        self._immovable = False
        """It has been logged that no move is left."""

    def round(self, budget: Budget) -> None:
        """A call is about to be made; it has been counted. `of` is how many may be made as it stands."""
        self._note("round", call=budget.calls - 1, of=budget.calls + budget.left)

    def wrap_up(self) -> None:
        """The call without tools is about to be made; `text` is what the loop itself says in its prompt."""
        self._note("wrap_up", text=WRAP_UP)

    def nudge(self, request: ModelRequest) -> None:
        """The loop asks again, in its own words, for an answer that it can use."""
        for part in request.parts:
            if isinstance(part, RetryFeedbackPart):
                self._note("nudge", text=part.model_response())

    def move(self, budget: Budget, origins: Sequence[Origin], *, moved: bool) -> None:
        """Mail of these origins goes into the next call, and moved the base, or would have if a move were left."""
        self._note("move" if moved else "no_move", call=budget.calls, origins=list(origins))
        if not moved and not self._immovable:
            self._immovable = True
            logger.info("%s has no move left: its mail is delivered, and gives it no more rounds.", self._address)

    def response(self, response: ModelResponse) -> None:
        """What the model answered: its text, and the tools that it asks for."""
        if response.text:
            self._note("model_text", text=response.text)
        for call in response.tool_calls:
            self._open[call.tool_call_id] = call.tool_name
            self._note("tool_call", tool_call_id=call.tool_call_id, tool=call.tool_name, args=call.args_as_dict())

    def spawn(self, agent: str, task: str, worker: str, *, background: bool) -> None:
        """A worker is about to start."""
        self._note("spawn", agent=agent, task=task, address=worker, background=background)

    def extra_round(self, text: str) -> None:
        """A call is about to be made that the budget does not count; `text` is what the bus says in its prompt."""
        self._note("extra_round", text=text)

    def returned(self, call: ToolCallPart, value: object) -> None:
        """A tool has returned."""
        if isinstance(value, ToolReturn):
            value = cast("ToolReturn[Any]", value).return_value
        self._result(call.tool_call_id, ToolReturnPart(call.tool_name, value).model_response_str(), "ok")

    def raised(self, call: ToolCallPart, error: Exception) -> None:
        """A tool has raised: to say that it failed, that it wants to be asked again, or since it is broken."""
        if isinstance(error, (CallDeferred, ApprovalRequired, SkipToolExecution)):
            return  # no failures: they put the result off, or give another
        self._result(call.tool_call_id, _said_by(error), "error")

    def results(self, messages: Sequence[ModelMessage]) -> None:
        """Results that came without the tool: of unknown tools, of arguments that do not fit, of output tools."""
        for message in messages:
            for part in message.parts if isinstance(message, ModelRequest) else ():
                if isinstance(part, ToolReturnPart):
                    text = part.model_response_str(wrap_if_error=False)
                    self._result(part.tool_call_id, text, _OUTCOMES.get(part.outcome, "error"))

    def not_executed(self, why: str) -> None:
        """The calls that have no result get none any more."""
        for call_id in list(self._open):
            self._result(call_id, why, "not_executed")

    def usage(self, usage: RunUsage) -> None:
        """What the model calls of the run used. The cost is in US dollars, or None where nothing tells the price."""
        cost = None if usage.cost is None else float(usage.cost)
        tokens = {"input_tokens": usage.input_tokens, "output_tokens": usage.output_tokens}
        self._note("usage", requests=usage.requests, **tokens, cost_usd=cost)

    def approval_asked(self, call_id: str, tool: str, args: Mapping[str, Any]) -> None:
        """A gated call waits for a yes or a no."""
        self._note("approval_asked", tool_call_id=call_id, tool=tool, args=dict(args))

    def approval(self, call_id: str, tool: str, *, by: str, allowed: bool, reason: str | None) -> None:
        """The yes or the no, and who gave it."""
        self._note("approval", tool_call_id=call_id, tool=tool, by=by, allowed=allowed, reason=reason)

    def answer(self, output: object) -> None:
        """The run has answered."""
        self._note("answer", text=as_text(output))

    def failed(self, error: BaseException) -> None:
        """The run has ended by an error."""
        self._note("run_failed", error=describe(error))

    def _result(self, call_id: str, text: str, outcome: Outcome) -> None:
        tool = self._open.pop(call_id, None)
        if tool is not None:
            self._note("tool_result", tool_call_id=call_id, tool=tool, text=text, outcome=outcome)

    def _note(self, kind: str, **facts: Any) -> None:
        self._bus.note(kind, self._address, facts)


def _said_by(error: Exception) -> str:
    part = getattr(error, "tool_failed", None) or getattr(error, "tool_retry", None)
    if isinstance(part, ToolReturnPart):  # the library has made the result already
        return part.model_response_str(wrap_if_error=False)
    return error.message if isinstance(error, (ToolFailed, ModelRetry)) else describe(error)


def describe(error: BaseException) -> str:
    """An error as a model or a person reads it: its kind, and what it says."""
    return f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
