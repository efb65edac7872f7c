"""The page of every public name is that of the exports."""

import subprocess
import sys

import restante.client
import restante.running
import restante.testing
import restante.turn
from tests.reference_page import MODULES, PAGE, page

SHOWN = PAGE.read_text()


def test_the_reference_is_made_from_the_code() -> None:
    assert page() == SHOWN, "run `.venv/bin/python -m tests.reference_page`"


def test_every_public_name_has_an_entry_with_a_line_of_its_own() -> None:
    modules = (restante, restante.turn, restante.running, restante.client, restante.testing)

    assert [name for module in modules for name in module.__all__ if f"### `{name}`" not in SHOWN] == []
    assert all(f"## `{name}`" in SHOWN for name in MODULES)


def test_every_name_of_the_platform_can_be_had_where_the_page_says() -> None:
    assert all(getattr(restante.running, name) is not None for name in restante.running.__all__)
    assert not hasattr(restante.running, "nothing")


def test_importing_the_platforms_names_loads_no_agent_library() -> None:
    script = "import sys, restante.running, restante.running.config; print('pydantic_ai' in sys.modules)"

    shown = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout

    assert shown == "False\n"
