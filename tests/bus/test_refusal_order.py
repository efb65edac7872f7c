"""A send that breaks several rules at once: the first in one order gives the code."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import product

import pytest

from restante import BusPolicy, MessageBus, Receipt
from tests.bus.policies import both
from tests.bus.seen import listed

ORDER = (
    "turn_closed", "sender_finished", "invalid_text", "text_too_long", "text_blank", "invalid_arguments",
    "invalid_reference", "not_found", "self_send", "recipient_finished", "ambiguous_target", "wait_cycle",
    "rate_limited",
)  # fmt: skip
BY_DEFAULT_ONLY = {"sender_finished", "self_send", "recipient_finished"}
NAMES_THE_ROSTER = {"invalid_arguments", "not_found", "self_send", "recipient_finished"}
LIMIT = 30

TEXTS: Mapping[str, set[str]] = {
    "fine": set(),
    "\0": {"invalid_text"},
    "\0" * (LIMIT + 1): {"invalid_text", "text_too_long"},
    "\ud800 ": {"invalid_text"},
    "x" * (LIMIT + 1): {"text_too_long"},
    " " * (LIMIT + 1): {"text_too_long", "text_blank"},
    "\n": {"text_blank"},
}
SELECTORS: Mapping[str, set[str]] = {
    "coder": set(),
    "a b": {"invalid_arguments"},
    "nobody": {"not_found"},
    "researcher#1": {"self_send"},
    "writer": {"recipient_finished"},
}


@dataclass(frozen=True)
class Case:
    """A send and what it breaks."""

    text: str
    to: str
    closed: bool
    finished: bool
    bad_reference: bool
    used_up: bool

    def broken(self, policy: BusPolicy) -> set[str]:
        flags = {
            "turn_closed": self.closed,
            "sender_finished": self.finished,
            "invalid_reference": self.bad_reference,
            "rate_limited": self.used_up and self.to in ("coder", "writer"),
        }
        broken = {code for code, holds in flags.items() if holds} | TEXTS[self.text] | SELECTORS[self.to]
        return broken if policy.liveness else broken - BY_DEFAULT_ONLY


def cases() -> Iterator[Case]:
    yes_or_no = (False, True)
    for combination in product(TEXTS, SELECTORS, yes_or_no, yes_or_no, yes_or_no, yes_or_no):
        yield Case(*combination)


def decide(policy: BusPolicy, case: Case) -> tuple[Receipt, bool]:
    """The receipt of the send, and whether anything changed."""
    bus = MessageBus(
        BusPolicy(name=policy.name, text_limit=LIMIT, pair_messages=1 if case.used_up else None), clock=lambda: 0.0
    )
    sender, _, writer = bus.open("researcher"), bus.open("coder"), bus.open("writer")
    for to in ("coder", "writer"):
        assert sender.send(to, "before").accepted
    writer.close("answered")
    if case.finished:
        sender.close("answered")
    if case.closed:
        bus.close()
    before = bus.record()
    receipt = sender.send(case.to, case.text, in_reply_to="m99" if case.bad_reference else None)
    return receipt, bus.record() != before


@both
@pytest.mark.rows("T087")
def test_the_first_broken_rule_gives_the_code_and_nothing_changes(policy: BusPolicy) -> None:
    for case in cases():
        receipt, changed = decide(policy, case)
        broken = case.broken(policy)
        assert receipt.code == next((code for code in ORDER if code in broken), None), case
        assert changed == receipt.accepted == (not broken), case


QUESTION_SELECTORS = {**SELECTORS, "pair": {"ambiguous_target"}, "everyone": {"ambiguous_target"}, "free": set[str]()}


def ask(policy: BusPolicy, case: Case, *, endless: bool) -> tuple[Receipt, bool]:
    """The receipt of the same as a question to runs that wait for who asks, and whether anything changed."""
    bus = MessageBus(
        BusPolicy(name=policy.name, text_limit=LIMIT, pair_messages=1 if case.used_up else None), clock=lambda: 0.0
    )
    labels = ("researcher", "coder", "writer", "pair", "pair", "free")
    asker, coder, writer, *pair, _ = [bus.open(label) for label in labels]
    for to in ("coder", "writer", "pair"):
        assert asker.send(to, "before").accepted
    writer.close("answered")
    for waiting in (coder, *pair):
        assert waiting.question("researcher#1", "?").code == ("rate_limited" if case.used_up else None)
    if case.finished:
        asker.close("answered")
    if case.closed:
        bus.close()
    before = bus.record()
    receipt = asker.question(case.to, case.text, deadline_s=0 if endless else None)
    return receipt, bus.record() != before


@both
@pytest.mark.rows("T087")
def test_the_first_broken_rule_gives_the_code_of_a_question_too(policy: BusPolicy) -> None:
    yes_or_no = (False, True)
    seen: set[str | None] = set()
    flags = product(yes_or_no, yes_or_no, yes_or_no, yes_or_no)
    for (text, to), (closed, finished, used_up, endless) in product(product(TEXTS, QUESTION_SELECTORS), flags):
        case = Case(text, to, closed, finished, bad_reference=False, used_up=used_up)
        broken = QUESTION_SELECTORS[to] | TEXTS[text]
        broken |= {"turn_closed"} if closed else set()
        broken |= {"sender_finished"} if finished else set()
        broken |= {"invalid_arguments"} if endless else set()
        broken |= {"rate_limited"} if used_up and to in ("coder", "writer", "pair") else set()
        # Where the limit is used up, nobody could ask who asks now, so that nobody waits.
        broken |= {"wait_cycle"} if to == "coder" and not used_up else set()
        if not policy.liveness:
            broken -= BY_DEFAULT_ONLY
            broken |= {"wait_cycle"} if to == "researcher#1" else set()
        receipt, changed = ask(policy, case, endless=endless)
        seen.add(receipt.code)
        assert receipt.code == next((code for code in ORDER if code in broken), None), case
        assert changed == receipt.accepted == (not broken), case
    assert {"ambiguous_target", "wait_cycle", "rate_limited", None} <= seen


@both
@pytest.mark.rows("T087")
def test_a_refused_selector_is_answered_with_the_addresses_that_would_have_worked(policy: BusPolicy) -> None:
    seen: set[str | None] = set()
    for case in cases():
        receipt, _ = decide(policy, case)
        if receipt.code in NAMES_THE_ROSTER:
            assert listed(receipt.text) == ["researcher#1", "coder#1", "writer#1", "everyone"]
            seen.add(receipt.code)
    assert seen == (NAMES_THE_ROSTER if policy.liveness else NAMES_THE_ROSTER - BY_DEFAULT_ONLY)
