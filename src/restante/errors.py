"""Every error of the product: a code, whose fault it is, and a sentence that says what would have worked.

One list serves every door. On the bus and in the tools of a turn the same codes come as a receipt or a tool result
instead of an exception.
"""

from collections.abc import Sequence
from typing import ClassVar, Literal, NamedTuple

Fault = Literal["caller", "server"]


class Code(NamedTuple):
    """How a code leaves by HTTP and by the command line, and whose fault it is."""

    http_status: int
    exit_code: int
    fault: Fault = "caller"


CODES: dict[str, Code] = {
    "unauthorized": Code(401, 3),
    "insufficient_scope": Code(403, 3),
    "forbidden_origin": Code(403, 3),
    "not_found": Code(404, 5),
    "invalid_arguments": Code(400, 2),
    "invalid_name": Code(400, 2),
    "text_blank": Code(400, 2),
    "text_too_long": Code(400, 2),
    "invalid_text": Code(400, 2),
    "invalid_reference": Code(400, 2),
    "target_inbox_mismatch": Code(400, 2),
    "self_send": Code(400, 2),
    "ambiguous_target": Code(409, 4),
    "recipient_archived": Code(409, 4),
    "recipient_closed": Code(409, 4),
    "recipient_finished": Code(409, 4),
    "turn_closed": Code(409, 4),
    "no_turn": Code(409, 4),
    "no_address": Code(409, 4),
    "sender_finished": Code(409, 4),
    "messaging_disabled": Code(409, 4),
    "turn_running": Code(409, 4),
    "configured_in_file": Code(409, 4),
    "submission_conflict": Code(409, 4),
    "inbox_full": Code(409, 4),
    "wait_cycle": Code(409, 4),
    "rate_limited": Code(429, 4),
    "method_not_allowed": Code(405, 2),
    "body_too_large": Code(413, 2),
    "unsupported_media_type": Code(415, 2),
    "turn_stopped": Code(409, 4),
    "store_unavailable": Code(503, 7, "server"),
    "shutting_down": Code(503, 7, "server"),
    "internal": Code(500, 1, "server"),
}


class Limit(NamedTuple):
    """The limit that a refusal comes from: its name, its value, and what was asked for."""

    name: str
    value: float
    actual: float


class RestanteError(Exception):
    """Something that restante refuses or cannot do. The message says what would have worked."""

    code: ClassVar[str] = "internal"

    def __init__(
        self,
        message: str,
        *,
        field: str | None = None,
        limit: Limit | None = None,
        candidates: Sequence[str] = (),
        retry_after_seconds: float | None = None,
    ) -> None:
        super().__init__(message)
        self.message = message
        self.field = field
        self.limit = limit
        self.candidates = tuple(candidates)
        self.retry_after_seconds = retry_after_seconds

    @property
    def http_status(self) -> int:
        """The status that this error has at the HTTP door."""
        return CODES[self.code].http_status

    @property
    def exit_code(self) -> int:
        """The exit code that this error has at the command line."""
        return CODES[self.code].exit_code

    @property
    def fault(self) -> Fault:
        """`caller` when another request would have worked, `server` when the same one may work later."""
        return CODES[self.code].fault

    def body(self) -> dict[str, object]:
        """The error as every door shows it; fields that do not apply are left out."""
        fields: dict[str, object] = {"code": self.code, "message": self.message}
        if self.field is not None:
            fields["field"] = self.field
        if self.limit is not None:
            fields["limit"] = self.limit._asdict()
        if self.candidates:
            fields["candidates"] = list(self.candidates)
        if self.retry_after_seconds is not None:
            fields["retry_after_seconds"] = self.retry_after_seconds
        return {"error": fields}


class Unauthorized(RestanteError):
    """No token, or one that is unknown, revoked or expired."""

    code = "unauthorized"


class InsufficientScope(RestanteError):
    """The token is a good one, but not for this."""

    code = "insufficient_scope"


class NotFound(RestanteError):
    """Unknown or foreign: one answer for both."""

    code = "not_found"


class UnknownMessage(NotFound):
    """No message of this turn has that id."""


class InvalidArguments(RestanteError):
    """A field is missing, unknown, of the wrong type or out of range."""

    code = "invalid_arguments"


class BadPolicy(InvalidArguments):
    """A field of a bus policy is out of its range."""


class BadConfig(InvalidArguments):
    """`restante.toml` cannot be used as it stands."""


class BadLabel(RestanteError):
    """A name that may not be used, or that is taken."""

    code = "invalid_name"


class BadAgentName(BadConfig, BadLabel):
    """The name of an agent in `restante.toml` may not be used, or is taken."""

    code = "invalid_name"


class TextBlank(RestanteError):
    """The text is empty or only white space."""

    code = "text_blank"


class TextTooLong(RestanteError):
    """The text has more code points than the limit."""

    code = "text_too_long"


class InvalidText(RestanteError):
    """The text holds U+0000 or a lone surrogate."""

    code = "invalid_text"


class InvalidReference(RestanteError):
    """`in_reply_to` names a message outside this conversation."""

    code = "invalid_reference"


class TargetInboxMismatch(RestanteError):
    """The target and the inbox mean different peers."""

    code = "target_inbox_mismatch"


class SelfSend(RestanteError):
    """The recipient is the sender itself."""

    code = "self_send"


class RecipientArchived(RestanteError):
    """The target was archived and takes no messages any more."""

    code = "recipient_archived"


class RecipientFinished(RestanteError):
    """Whoever would be meant has ended and reads no more."""

    code = "recipient_finished"


class MessagingDisabled(RestanteError):
    """The target takes no messages: its switch is off."""

    code = "messaging_disabled"


class SubmissionConflict(RestanteError):
    """That submission_id was used before, for a different message."""

    code = "submission_conflict"


class RateLimited(RestanteError):
    """Too many in too short a time."""

    code = "rate_limited"


class BusClosed(RestanteError):
    """The turn is over, and its bus is closed."""

    code = "turn_closed"


class NoTurn(RestanteError):
    """No turn of the chat runs."""

    code = "no_turn"


class TurnRunning(RestanteError):
    """The chat cannot be cut or deleted while a turn of it runs."""

    code = "turn_running"


class TurnStopped(RestanteError):
    """The person stopped the turn before it had an answer."""

    code = "turn_stopped"


class MethodNotAllowed(RestanteError):
    """The route exists, with other methods."""

    code = "method_not_allowed"


class BodyTooLarge(RestanteError):
    """The request body is larger than the limit."""

    code = "body_too_large"


class UnsupportedMediaType(RestanteError):
    """The request body is not JSON in UTF-8."""

    code = "unsupported_media_type"


class StoreUnavailable(RestanteError):
    """The store is locked, full, read-only, damaged or in use by another process; `field` says which."""

    code = "store_unavailable"


class ShuttingDown(RestanteError):
    """An orderly stop is under way."""

    code = "shutting_down"


class McpServerFailed(RestanteError):
    """A server of the Model Context Protocol could not be started, or does not list its tools."""
