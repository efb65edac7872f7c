"""The asking tools: a question to one other run, and the wait for its reply, which always has an end."""

from collections.abc import Generator
from contextlib import contextmanager
from typing import Any

from pydantic_ai import FunctionToolset, RunContext, ToolFailed

from restante.bus.questions import Asked
from restante.bus.receipt import Receipt
from restante.turn.mailbox import Mailbox
from restante.turn.tools import calling_mailbox
from restante.turn.waiting import Limits, wait_until
from restante.turn.workers import Seconds

ASK = (
    "Ask one other agent of this turn and wait for its reply. `to` is an address as `list_agents` gives it "
    "(`researcher#1`). You wait `deadline_s` seconds at most; the wait also ends when the other has ended or when "
    "other mail comes for you. The reply itself comes with your next prompt. No reply is neither a yes nor a no."
)
AWAIT_REPLY = (
    "Wait once more for the reply to a question that you asked with `ask`, by its `question_id`. It asks nothing anew, "
    "and ends as `ask` does."
)


def asking_tools() -> FunctionToolset[Any]:
    """Exactly `ask(to, text, deadline_s)` and `await_reply(question_id, deadline_s)`, of the run that calls."""
    toolset = FunctionToolset[Any](id="restante.asking")
    toolset.add_function(ask, description=ASK)
    toolset.add_function(await_reply, description=AWAIT_REPLY)
    return toolset


async def ask(ctx: RunContext[Any], to: str, text: str, deadline_s: Seconds = None) -> dict[str, object]:
    """Ask, and wait for the one reply. A refusal is a result that is marked as an error; then nothing waits."""
    mailbox = calling_mailbox(ctx)
    return await _reply(mailbox, mailbox.reader.question(to, text, deadline_s=deadline_s), deadline_s)


async def await_reply(ctx: RunContext[Any], question_id: str, deadline_s: Seconds = None) -> dict[str, object]:
    """Wait again for the reply to a question of one's own, answered or not."""
    mailbox = calling_mailbox(ctx)
    return await _reply(mailbox, mailbox.reader.wait_again(question_id, deadline_s=deadline_s), deadline_s)


async def _reply(mailbox: Mailbox, receipt: Receipt, deadline_s: float | None) -> dict[str, object]:
    question_id = receipt.message_id
    if question_id is None:
        raise ToolFailed(f"{receipt.code}: {receipt.text}")
    seconds = mailbox.bus.policy.ask_s if deadline_s is None else deadline_s
    reader = mailbox.reader

    def look(late: bool) -> dict[str, object] | None:  # noqa: FBT001 - as `wait_until` calls it
        return _outcome(reader.asked(question_id), late=late)

    with _waiting(mailbox, question_id):
        return await wait_until(reader, look, Limits(seconds=seconds, clock=mailbox.runs.clock))


@contextmanager
def _waiting(mailbox: Mailbox, question_id: str) -> Generator[None]:
    try:
        yield
    finally:
        mailbox.reader.wait_no_more(question_id)


def _outcome(asked: Asked, *, late: bool) -> dict[str, object] | None:
    """How the wait ends, or None while it goes on."""
    facts: dict[str, object] = {"question_id": asked.question_id, "asked": asked.target}
    if asked.reply_id is not None:
        return {"outcome": "answered", **facts, "reply_id": asked.reply_id, "note": _ANSWERED}
    if asked.ended is not None:
        return {"outcome": "ended", **facts, "how": asked.ended, "note": f"{asked.target} has ended without a reply."}
    if asked.other_mail:
        return {"outcome": "mail", **facts, "note": _MAIL}
    return {"outcome": "deadline", **facts, "note": _DEADLINE} if late else None


_ANSWERED = "The reply comes with your next prompt."
_MAIL = "Other mail came for you, with your next prompt. The question stays open: `await_reply` waits for it again."
_DEADLINE = (
    "There is no reply yet, which is neither a yes nor a no. The question stays open: a late reply comes as a message, "
    "and `await_reply` waits for it again."
)
