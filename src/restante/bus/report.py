"""What a turn leaves behind when its bus closes: each unmet obligation, and the words that become the next turn."""

from collections.abc import Sequence
from typing import NamedTuple

from restante.bus.fates import IN_WORDS, Owed, Reason
from restante.bus.mail import Mail
from restante.bus.message import Message
from restante.bus.policy import BusPolicy

SENTENCES = 20
"""How many unmet messages the sentence to the person gives; the report holds every one."""


class Unmet(NamedTuple):
    """One obligation that nobody met."""

    sender: str
    to: str
    address: str | None
    """Who did not read it; None where anybody could have, and where the policy names nobody."""
    reason: Reason
    text: str
    """At most the policy's `report_limit` code points of it."""
    missing: int
    """How many code points of the text are not shown."""
    age_s: float
    """Seconds from its acceptance to the close."""
    also_read_by: tuple[str, ...]
    """Other runs that did read the message."""

    def line(self) -> str:
        """Sender, arrow, selector, text, and why: one line's worth, the text as it is."""
        whom = f"{self.to} ({self.address})" if self.address not in (None, self.to) else self.to
        cut = f" [{self.missing:,} characters more]" if self.missing else ""
        also = f"; {', '.join(self.also_read_by)} also read it" if self.also_read_by else ""
        why = "no matching reader took it" if self.address is None else IN_WORDS[self.reason]
        if self.address is None and self.reason != "never_drained":
            why = f"{why}: {IN_WORDS[self.reason]}"
        return f"{self.sender} -> {whom}: {self.text}{cut} ({why}; {self.age_s:.0f} s after it was accepted{also})"


class CloseReport(NamedTuple):
    """Every accepted message was read, is listed here, or becomes the next turn."""

    unmet: tuple[Unmet, ...]
    """In the order of sending, within one message in the order of opening."""
    next_turn: tuple[Message, ...]
    """The person's words that no entry run read, each with its own text and id."""

    def facts(self) -> dict[str, object]:
        """The report, ready for JSON; the words of the next turn by their ids."""
        return {
            "unmet": [{**unmet._asdict(), "also_read_by": list(unmet.also_read_by)} for unmet in self.unmet],
            "next_turn": [message.message_id for message in self.next_turn],
        }

    def sentence(self) -> str | None:
        """What the person is told, or None where there is nothing to tell."""
        if not self.unmet:
            return None
        shown = [f"Undelivered: {unmet.line()}" for unmet in self.unmet[:SENTENCES]]
        others = len(self.unmet) - len(shown)
        return "\n".join([*shown, *([f"Undelivered: {others:,} more, all in the report."] if others else [])])


def report_of(mails: Sequence[Mail], policy: BusPolicy, *, now_s: float) -> CloseReport:
    """The report on a list whose obligations are all settled. Words that run again are not also reported."""
    unmet = [
        _unmet(mail, owed, owed.reason, policy, now_s=now_s)
        for mail in mails
        if not mail.carried
        for owed in sorted(mail.owed, key=Owed.place)
        if owed.state == "undelivered" and owed.reason is not None
    ]
    return CloseReport(tuple(unmet), tuple(mail.message for mail in mails if mail.carried))


def _unmet(mail: Mail, owed: Owed, reason: Reason, policy: BusPolicy, *, now_s: float) -> Unmet:
    message = mail.message
    limit = policy.report_limit
    return Unmet(
        sender=message.sender,
        to=message.to,
        address=None if policy.one_reader_meets else owed.address,
        reason=reason,
        text=message.text[:limit],
        missing=max(0, len(message.text) - limit),
        age_s=now_s - mail.at_s,
        also_read_by=mail.readers(),
    )
