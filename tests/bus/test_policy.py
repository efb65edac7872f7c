"""The two policies: what they say, and what no policy can be."""

from dataclasses import FrozenInstanceError, fields

import pytest

from restante import BusPolicy
from restante.bus.budget import Budget
from restante.errors import BadPolicy

RULES = ("own_sends_come_back", "liveness", "one_reader_meets", "any_delivery_moves", "drains_first")
LIMITS = {
    "rounds": 10, "agent_extensions": 3, "text_limit": 20_000, "report_limit": 2_000, "broadcasts": None,
    "pair_messages": None, "background": 8, "live_runs": 32, "grace_s": 30.0, "ask_s": 300.0, "wait_max_s": 3_600.0,
}  # fmt: skip


def limits_of(policy: BusPolicy) -> dict[str, object]:
    return {field.name: getattr(policy, field.name) for field in fields(policy) if field.name != "name"}


@pytest.mark.rows("T338")
def test_the_limits_of_both_policies_are_the_same() -> None:
    assert limits_of(BusPolicy()) == limits_of(BusPolicy.classic()) == LIMITS


@pytest.mark.rows("T335")
def test_classic_differs_from_default_in_five_rules() -> None:
    default, classic = BusPolicy(), BusPolicy.classic()

    assert [getattr(default, rule) for rule in RULES] == [False, True, False, False, True]
    assert [getattr(classic, rule) for rule in RULES] == [True, False, True, True, False]


def test_classic_may_have_its_own_rounds_and_nothing_else() -> None:
    assert limits_of(BusPolicy.classic(rounds=3)) == {**LIMITS, "rounds": 3}


def test_a_policy_never_changes() -> None:
    with pytest.raises(FrozenInstanceError):
        BusPolicy().rounds = 3  # pyright: ignore[reportAttributeAccessIssue]


@pytest.mark.rows("T337")
@pytest.mark.parametrize(
    ("field", "value", "least"),
    [
        ("rounds", 0, 1), ("rounds", -1, 1), ("rounds", True, 1), ("rounds", 1.5, 1), ("rounds", None, 1),
        ("rounds", "3", 1), ("agent_extensions", -1, 0), ("text_limit", 0, 1), ("report_limit", 0, 1),
        ("broadcasts", -1, 0), ("pair_messages", -1, 0), ("background", -1, 0), ("live_runs", 0, 1),
        ("grace_s", -0.1, 0), ("grace_s", float("nan"), 0), ("ask_s", 0, 1), ("wait_max_s", float("inf"), 1),
        ("rounds", 1_000_000_001, 1),
    ],
)  # fmt: skip
def test_a_field_out_of_its_range_is_refused_by_name_value_and_range(field: str, value: object, least: int) -> None:
    with pytest.raises(BadPolicy) as refused:
        BusPolicy(**{field: value})  # pyright: ignore[reportArgumentType]

    assert refused.value.field == field
    assert refused.value.message.startswith(f"{field} is {value!r}; it is a ")
    kind = "a number of seconds" if field in ("grace_s", "ask_s", "wait_max_s") else "a whole number"
    none = ", or None" if field in ("broadcasts", "pair_messages") else ""
    assert refused.value.message.endswith(f"; it is {kind} from {least} to 1,000,000,000{none}.")


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("agent_extensions", 0),
        ("broadcasts", 0),
        ("grace_s", 0),
        ("ask_s", 1),
        ("rounds", 1),
        ("rounds", 1_000_000_000),
    ],
)
def test_the_least_and_the_most_that_a_field_may_be_are_allowed(field: str, value: int) -> None:
    assert getattr(BusPolicy(**{field: value}), field) == value  # pyright: ignore[reportArgumentType]


def test_there_are_two_policies_and_no_third() -> None:
    with pytest.raises(BadPolicy, match="it is 'default' or 'classic'") as refused:
        BusPolicy(name="modern")  # pyright: ignore[reportArgumentType]
    assert refused.value.field == "name"


def test_the_fields_of_a_policy_are_given_by_name() -> None:
    with pytest.raises(TypeError):
        BusPolicy("default", 3)  # pyright: ignore[reportCallIssue]


def test_a_notice_of_the_bus_moves_nothing() -> None:
    budget = Budget(BusPolicy())
    budget.count_call()
    assert not budget.move(["bus"])
    assert (budget.base, budget.moves) == (0, 0)


def test_a_question_never_waits_longer_by_itself_than_any_wait_may() -> None:
    with pytest.raises(BadPolicy, match="ask_s is 300, and no wait is longer than wait_max_s, 60"):
        BusPolicy(wait_max_s=60)
    assert BusPolicy(wait_max_s=60, ask_s=60).ask_s == 60
