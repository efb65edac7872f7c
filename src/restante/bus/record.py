"""The whole account of a turn, ready for JSON: every message, every fate, every run."""

from collections import Counter
from collections.abc import Sequence
from typing import Any

from restante.bus.mail import Mail
from restante.bus.message import Message
from restante.bus.policy import BusPolicy
from restante.bus.report import CloseReport
from restante.bus.run import Run


def message_facts(message: Message) -> dict[str, object]:
    """An accepted message."""
    return {
        "message_id": message.message_id,
        "sequence": message.sequence,
        "sender": message.sender,
        "origin": message.origin,
        "to": message.to,
        "text": message.text,
        "in_reply_to": message.in_reply_to,
        "answer_by_s": message.answer_by_s,
    }


def record_of(
    policy: BusPolicy, runs: Sequence[Run], mails: Sequence[Mail], report: CloseReport | None
) -> dict[str, Any]:
    """What happened so far. `report` is None while the turn goes on."""
    return {
        "policy": policy.name,
        "closed": report is not None,
        "messages": [_mail_facts(mail) for mail in mails],
        "runs": [_run_facts(run, live=policy.liveness) for run in runs],
        "report": report.facts() if report else None,
        "books": books_of(mails),
    }


def books_of(mails: Sequence[Mail]) -> dict[str, int]:
    """How many obligations there are, and how many stand in each state. The states add up to `accepted_in_all`."""
    states = Counter(owed.state for mail in mails for owed in mail.owed)
    named = {state: states[state] for state in ("accepted", "claimed", "delivered", "undelivered", "carried")}
    return {"accepted_in_all": states.total(), **named}


def _mail_facts(mail: Mail) -> dict[str, object]:
    return {
        **message_facts(mail.message),
        "at_s": mail.at_s,
        "matched": [run.address for run in mail.match.reading],
        "not_reached": [run.address for run in mail.match.not_reached],
        "fates": [fate._asdict() for fate in mail.fates()],
    }


def _run_facts(run: Run, *, live: bool) -> dict[str, object]:
    return {
        "address": run.address,
        "state": run.state if live else None,
        "how": run.how,
        "error": run.error,
        "sent": run.sent,
        "read": run.read,
        **{f"{kind}s": count for kind, count in sorted({"move": 0, "round": 0, **run.tallies}.items())},
    }
