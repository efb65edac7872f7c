"""The bus alone: the standard library, no system around it, and no time but what it is given."""

import inspect
import subprocess
import sys
from pathlib import Path

import pytest

from restante import MessageBus, Reader

BARE = Path(__file__).parent / "bare.py"


@pytest.mark.rows("T027")
def test_every_operation_works_without_files_sockets_threads_logging_and_system_clocks() -> None:
    ran = subprocess.run([sys.executable, "-B", str(BARE)], capture_output=True, text=True, timeout=60, check=False)

    assert (ran.returncode, ran.stderr) == (0, "")


@pytest.mark.rows("T027")
@pytest.mark.parametrize("owner", [MessageBus, Reader])
def test_no_operation_is_a_coroutine(owner: type) -> None:
    operations = [one for name, one in inspect.getmembers(owner) if not name.startswith("_") and callable(one)]

    assert len(operations) > 8
    assert not any(inspect.iscoroutinefunction(one) or inspect.isasyncgenfunction(one) for one in operations)
