"""The tool with which a hosted agent answers the messages that a turn is about."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any, Literal

from pydantic_ai import FunctionToolset, ToolFailed

from restante.durable import sends
from restante.durable.callers import Caller
from restante.durable.db.database import Database
from restante.durable.sends import SendRequest, SendRules
from restante.errors import RestanteError

DESCRIPTION = (
    "Send a message on the platform. `inbox_id` is the reply_address that came with a message: what you send there "
    "goes to its sender. Or name another agent as `target`. The closing text of your turn goes to nobody: only this "
    "tool answers. The result says that the message is stored; nobody has read it yet, and no answer is promised."
)


@dataclass(frozen=True, kw_only=True)
class Replies:
    """One turn's right to send: who it is, and where."""

    database: Database
    caller: Caller
    rules: Callable[[], SendRules]
    """The limits of a send at this moment."""
    before: Callable[[], Awaitable[None]]
    """Stores what happened before, so that nothing is read before what caused it."""

    async def messages(  # noqa: PLR0913  # the fields of a send, each an argument that the model sees
        self,
        action: Literal["send"],
        message: str,
        *,
        inbox_id: str | None = None,
        target: str | None = None,
        submission_id: str | None = None,
        in_reply_to: str | None = None,
    ) -> dict[str, object]:
        """Send under the name of the agent whose turn this is. A refusal is a result that is marked as an error."""
        del action  # one is all there is, and the schema says so
        send = SendRequest(
            message=message,
            inbox_id=inbox_id,
            target=target,
            submission_id=submission_id,
            in_reply_to=in_reply_to,
        )
        rules = self.rules()
        try:
            sends.check_send(send, rules)
            await self.before()
            receipt = await self.database.write(lambda tx: sends.accept(tx, self.caller, send, rules))
        except RestanteError as error:
            raise ToolFailed(f"{error.code}: {error.message}") from error
        return receipt.shape()


def replies_toolset(replies: Replies) -> FunctionToolset[Any]:
    """The tool `messages`, for one turn. Who sends is that turn, and no argument."""
    toolset = FunctionToolset[Any](id="restante.messages")
    toolset.add_function(replies.messages, name="messages", description=DESCRIPTION)
    return toolset
