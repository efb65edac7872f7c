"""The tools for background workers: to wait for one's own, and to cancel one."""

from collections.abc import Iterable
from typing import Annotated, Any, Literal, NoReturn

from pydantic import WithJsonSchema
from pydantic_ai import RunContext, ToolFailed

from restante.turn import parts
from restante.turn.background import Background, Worker
from restante.turn.mailbox import Mailbox
from restante.turn.tools import calling_mailbox
from restante.turn.waiting import Limits, wait_until

AWAIT_WORKERS = (
    "Wait for background workers that you have started, by their addresses: for `all` of them or for `any` one. You "
    "wait `timeout_s` seconds at most (0: look only), and the wait ends early when mail comes for you, which is then "
    "in your next prompt: so a worker can ask you something while you wait. Each answer is handed over once."
)
CANCEL_WORKER = "End a background worker that you have started, and whatever it has started, by its address."

Seconds = Annotated[Any, WithJsonSchema({"anyOf": [{"type": "number"}, {"type": "null"}]})]
"""A number of seconds that we check ourselves, so that a wrong one is answered with its range."""


async def await_workers(
    ctx: RunContext[Any], addresses: list[str], mode: Literal["all", "any"] = "all", timeout_s: Seconds = None
) -> dict[str, object]:
    """Wait until they have ended, mail has come, or the time is over; tell which, and what is known of each."""
    mailbox, background = _caller(ctx)
    seconds = _seconds(timeout_s, mailbox.bus.policy.wait_max_s)
    awaited = [_own(mailbox, background, address) for address in dict.fromkeys(addresses)]
    if not awaited:
        _refuse_unknown(mailbox, background, "Nobody is named.")

    def look(late: bool) -> dict[str, object] | None:  # noqa: FBT001 - as `wait_until` calls it
        ended = [not worker.live for worker in awaited]
        enough = all(ended) if mode == "all" else any(ended)
        mail = mailbox.reader.has_mail()
        # One whose reader is closed has its result in a moment: then both facts are told at once.
        if not (enough or late or (mail and not _any_is_ending(mailbox, awaited))):
            return None
        cause = "ended" if enough else "mail" if mail else "timeout"
        return {"cause": cause, "mail": mail, "workers": [_facts(mailbox, worker) for worker in awaited]}

    limits = Limits(seconds=seconds, clock=mailbox.runs.clock, tasks=[worker.task for worker in awaited])
    with mailbox.reader.waiting_for():
        return await wait_until(mailbox.reader, look, limits)


async def cancel_worker(ctx: RunContext[Any], address: str) -> dict[str, object]:
    """Cancel a worker and what it has started. One that has ended stays as it ended, and the result says how."""
    mailbox, background = _caller(ctx)
    worker = _own(mailbox, background, address)
    was_live = worker.live
    with mailbox.reader.waiting_for():
        await background.cancel(worker)
    how = _how(mailbox, worker)
    note = "It was cancelled." if was_live else "It had ended before."
    return {"address": address, "how": how, "note": note}


def _any_is_ending(mailbox: Mailbox, awaited: Iterable[Worker]) -> bool:
    closed = {line.address for line in mailbox.bus.roster() if line.state == "finished"}
    return any(worker.live and worker.address in closed for worker in awaited)


def _facts(mailbox: Mailbox, worker: Worker) -> dict[str, object]:
    """What is known of a worker. An answer is given as new once, and from then on only named."""
    if worker.live:
        states = {line.address: line.state for line in mailbox.bus.roster()}
        return {"address": worker.address, "state": states.get(worker.address) or "running"}
    facts: dict[str, object] = {"address": worker.address, "state": "finished", "how": _how(mailbox, worker)}
    if worker.result_id is not None:
        return {**facts, "result_id": worker.result_id, "note": "This result was handed over to you already."}
    worker.result_id = f"{worker.address}/result"
    facts["result_id"] = worker.result_id
    if worker.error is not None:
        return {**facts, "error": worker.error}
    if not worker.answered:
        return facts
    return {**facts, "text": parts.with_how(parts.as_text(worker.output), worker.address, str(facts["how"]))}


def _how(mailbox: Mailbox, worker: Worker) -> str:
    return mailbox.runs.how(worker.address) or ("error" if worker.error else "cancelled")


def _caller(ctx: RunContext[Any]) -> tuple[Mailbox, Background]:
    mailbox = calling_mailbox(ctx)
    if mailbox.runs.background is None:
        raise ToolFailed("not_found: there are no background workers here.")
    return mailbox, mailbox.runs.background


def _own(mailbox: Mailbox, background: Background, address: str) -> Worker:
    own = {worker.address: worker for worker in background.of(mailbox.reader.address)}
    if address not in own:
        _refuse_unknown(mailbox, background, f"{address!r} is no background worker of yours.")
    return own[address]


def _refuse_unknown(mailbox: Mailbox, background: Background, words: str) -> NoReturn:
    own = ", ".join(worker.address for worker in background.of(mailbox.reader.address))
    raise ToolFailed(f"not_found: {words} {f'Yours: {own}.' if own else 'You have started none.'}")


def _seconds(timeout_s: object, most_s: float) -> float:
    if timeout_s is None:
        return most_s
    if isinstance(timeout_s, int | float) and not isinstance(timeout_s, bool) and 0 <= timeout_s <= most_s:
        return timeout_s
    raise ToolFailed(f"invalid_arguments: timeout_s is {timeout_s!r}; it is a number of seconds from 0 to {most_s:g}.")
