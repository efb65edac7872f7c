"""A folder says how long its things live, and imports point one way."""

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

SOURCE = Path(__file__).parent.parent / "src" / "restante"
LEAVES = {"errors", "names", "texts"}
MAY_IMPORT = {
    "__init__": {"bus", *LEAVES},
    "errors": set[str](),
    "names": {"errors"},
    "texts": {"errors"},
    "bus": {"bus", *LEAVES},
    "turn": {"turn", "bus", *LEAVES},
    "durable": {"durable", *LEAVES},
    "running": {"running", "turn", "durable", "bus", *LEAVES},
    "surface": {"surface", "running", "turn", "durable", "bus", "client", *LEAVES},
    "client": {"client", *LEAVES},
}

MAY_SCRIPT = {"demo_cast.py"}
"""Uses `testing`, since the models of the demo are scripted."""


def _part(module: str) -> str:
    return module.split(".")[1] if "." in module else "__init__"


def _imports(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            assert node.level == 0, f"{path}: write the whole name of what is imported"
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def _imports_of_ours() -> Iterator[tuple[Path, str, str]]:
    for path in sorted(SOURCE.rglob("*.py")):
        importer = path.relative_to(SOURCE).parts[0].removesuffix(".py")
        for module in _imports(path):
            if module.split(".")[0] == "restante":
                yield path, importer, _part(module)


def test_imports_only_follow_the_arrows() -> None:
    for path, importer, imported in _imports_of_ours():
        if importer == "testing" or path.name in MAY_SCRIPT:
            continue
        assert imported in MAY_IMPORT[importer], f"{path}: {importer} may not import {imported}"


def test_every_folder_has_its_arrows_drawn() -> None:
    parts = {path.relative_to(SOURCE).parts[0].removesuffix(".py") for path in SOURCE.rglob("*.py")}
    assert parts <= {*MAY_IMPORT, "testing"}


def test_importing_restante_loads_only_the_standard_library() -> None:
    script = "import sys; before = set(sys.modules); import restante; print(*sorted(set(sys.modules) - before))"
    loaded = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout.split()
    foreign = {name.split(".")[0] for name in loaded} - set(sys.stdlib_module_names) - {"restante"}
    assert foreign == set()


@pytest.mark.parametrize("module", ["asyncio", "logging", "socket", "sqlite3"])
def test_importing_restante_loads_nothing_that_waits_or_writes(module: str) -> None:
    script = f"import sys, restante; print({module!r} in sys.modules)"
    shown = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout.strip()
    assert shown == "False"
