"""The tool with which a hosted agent answers the messages that a turn is about."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any, Literal, NotRequired

from pydantic import ConfigDict, TypeAdapter, with_config
from pydantic_ai import AbstractToolset, RunContext, ToolDefinition, ToolFailed
from pydantic_ai.toolsets import ToolsetTool
from pydantic_core import SchemaValidator
from typing_extensions import TypedDict, override

from restante.durable import sends
from restante.durable.callers import Caller
from restante.durable.db.database import Database
from restante.durable.sends import SendRequest, SendRules
from restante.errors import RestanteError

NAME = "messages"
DESCRIPTION = (
    "Send a message on the platform. `inbox_id` is the reply_address that came with a message: what you send there "
    "goes to its sender. Or name another agent as `target`. The closing text of your turn goes to nobody: only this "
    "tool answers. The result says that the message is stored; nobody has read it yet, and no answer is promised."
)


@with_config(ConfigDict(extra="forbid", strict=True))
class Arguments(TypedDict):
    """What the model says. Who sends is none of it."""

    action: Literal["send"]
    message: str
    inbox_id: NotRequired[str | None]
    target: NotRequired[str | None]
    submission_id: NotRequired[str | None]
    in_reply_to: NotRequired[str | None]


# Made once: to make a schema for each turn would take longer than the rest of its tools.
_ARGUMENTS = TypeAdapter(Arguments)
_VALIDATOR = SchemaValidator(_ARGUMENTS.core_schema)
_DEFINITION = ToolDefinition(name=NAME, description=DESCRIPTION, parameters_json_schema=_ARGUMENTS.json_schema())
_TRIES = 1


@dataclass(frozen=True, kw_only=True)
class Replies(AbstractToolset[Any]):
    """One turn's right to send: who it is, and where. It holds the tool `messages` and nothing else."""

    database: Database
    caller: Caller
    rules: Callable[[], SendRules]
    """The limits of a send at this moment."""
    before: Callable[[], Awaitable[None]]
    """Stores what happened before, so that nothing is read before what caused it."""

    @property
    @override
    def id(self) -> str:
        """One name for all turns."""
        return "restante.messages"

    @override
    async def get_tools(self, ctx: RunContext[Any]) -> dict[str, ToolsetTool[Any]]:
        """The one tool."""
        tool = ToolsetTool[Any](toolset=self, tool_def=_DEFINITION, max_retries=_TRIES, args_validator=_VALIDATOR)
        return {NAME: tool}

    @override
    async def call_tool(
        self, name: str, tool_args: dict[str, Any], ctx: RunContext[Any], tool: ToolsetTool[Any]
    ) -> dict[str, object]:
        """Send under the name of the agent whose turn this is. A refusal is a result that is marked as an error."""
        fields = {key: value for key, value in tool_args.items() if key != "action"}
        send, rules = SendRequest(**fields), self.rules()
        try:
            sends.check_send(send, rules)
            await self.before()
            receipt = await self.database.write(lambda tx: sends.accept(tx, self.caller, send, rules))
        except RestanteError as error:
            raise ToolFailed(f"{error.code}: {error.message}") from error
        return receipt.shape()
