"""The rounds of one run as numbers: when mail may move their base, and on whose account."""

import pytest

from restante import BusPolicy
from restante.bus.budget import Budget
from restante.texts import Origin
from tests.bus.policies import both


def after_calls(policy: BusPolicy, rounds: int, calls: int) -> Budget:
    """A budget of which some calls are made."""
    budget = Budget(policy, rounds)
    for _ in range(calls):
        budget.count_call()
    return budget


@both
@pytest.mark.rows("T157")
@pytest.mark.parametrize("origin", ["person", "agent", "external"])
def test_mail_before_the_first_call_moves_nothing_and_takes_no_move(policy: BusPolicy, origin: Origin) -> None:
    budget = Budget(policy, 1)

    moved = [budget.move([origin]) for _ in range(5)]

    assert (moved, budget.base, budget.moves, budget.left) == ([False] * 5, 0, 0, 1)
    later = after_calls(policy, 2, 0)
    later.move([origin])
    later.count_call()
    assert later.move([origin])
    assert (later.base, later.moves, later.left) == (1, 1, 2)


@both
@pytest.mark.rows("T182")
@pytest.mark.parametrize("origin", ["person", "agent", "external"])
@pytest.mark.parametrize("calls", [3, 4])
def test_mail_after_the_last_permitted_call_moves_nothing(policy: BusPolicy, origin: Origin, calls: int) -> None:
    budget = after_calls(policy, 3, calls)

    assert not budget.move([origin])
    assert (budget.base, budget.moves, budget.left) == (0, 0, 3 - calls)


@both
@pytest.mark.rows("T172")
def test_a_move_sets_the_base_to_the_call_whose_prompt_holds_the_mail(policy: BusPolicy) -> None:
    budget = after_calls(policy, 10, 4)

    assert budget.move(["person"])

    assert (budget.base, budget.left) == (4, 10)
    budget.count_call()
    assert (budget.base, budget.left) == (4, 9)


@pytest.mark.rows("T181")
def test_by_default_words_of_the_person_and_mail_of_others_move_on_accounts_of_their_own() -> None:
    budget = after_calls(BusPolicy(agent_extensions=1), 2, 1)

    drains: list[list[Origin]] = [["agent", "person"], ["person"], ["agent", "person"], ["agent"], ["external"]]
    moved = [budget.move(origins) for origins in drains]

    assert (moved, budget.moves) == ([True, True, False, True, False], 3)


@pytest.mark.rows("T176", "T171")
def test_under_classic_whatever_is_delivered_moves_on_one_account() -> None:
    budget = after_calls(BusPolicy.classic(), 3, 1)

    drains: list[Origin] = ["agent", "person", "external", "agent"]
    moved = [budget.move([origin]) for origin in drains]

    assert (moved, budget.moves) == ([True, True, True, False], 3)


@both
def test_a_run_without_rounds_of_its_own_has_those_of_the_policy(policy: BusPolicy) -> None:
    assert (Budget(policy).left, Budget(policy, 4).left) == (10, 4)
