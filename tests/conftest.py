"""What every test shares: the event loop, the strength of the property tests, and the report on the contract's rows."""

import json
import os
from collections import defaultdict
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

ROWS_REPORT = Path(__file__).parent.parent / ".rows.json"
_outcomes: dict[str, set[str]] = defaultdict(set)

settings.register_profile(
    "test",
    deadline=None,
    max_examples=int(os.environ.get("RESTANTE_EXAMPLES", "100")),
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
settings.load_profile("test")


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """Collect, for each row that a test names, how the test ended."""
    if report.when == "call" or report.outcome != "passed":
        for name, row in report.user_properties:
            if name == "row":
                _outcomes[str(row)].add(report.outcome)


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """Write the rows that a test names into its reports."""
    item.user_properties.extend(("row", row) for mark in item.iter_markers("rows") for row in mark.args)


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Write `.rows.json`: row -> outcomes of the tests that name it. One process of several hears of all."""
    if not session.config.option.collectonly and not hasattr(session.config, "workerinput"):
        ROWS_REPORT.write_text(json.dumps({row: sorted(seen) for row, seen in sorted(_outcomes.items())}, indent=1))
