"""What holds on every bus, whatever happens on it and in whatever order."""

import os

import pytest
from hypothesis import settings
from hypothesis.stateful import run_state_machine_as_test

from tests.bus.machine import ClassicMachine, DefaultMachine

SCHEDULES = settings(
    settings.get_profile("test"), max_examples=int(os.environ.get("RESTANTE_SCHEDULES", "1000")), stateful_step_count=30
)


@pytest.mark.rows("T001", "T002", "T003", "T004", "T011", "T012")
def test_by_default_every_accepted_message_has_one_fate_for_each_address() -> None:
    run_state_machine_as_test(DefaultMachine, settings=SCHEDULES)


@pytest.mark.rows("T001", "T002", "T003", "T004", "T011", "T012")
def test_under_classic_every_accepted_message_has_one_fate() -> None:
    run_state_machine_as_test(ClassicMachine, settings=SCHEDULES)
