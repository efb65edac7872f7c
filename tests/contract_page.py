"""Writes `docs/contract.md`: which test holds which row of the contract, in words.

`python -m tests.contract_page` writes the page; a test compares it with the tests.
"""

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parent.parent
PAGE = ROOT / "docs" / "contract.md"

HEAD = """\
# The contract, as tests

restante's behaviour is written down as numbered rows; each row here is held by at least one test, whose name says what
the row demands. `T` rows are about the turn and its bus, `P` rows about the platform, `B` rows are faults that were
seen elsewhere. Run one with `.venv/bin/pytest FILE -k NAME`. This page is made from the tests by `make contract`.

| Row | What holds | Test |
|---|---|---|
"""


class Held(NamedTuple):
    """A row and a test that holds it."""

    row: str
    sentence: str
    file: str


def page() -> str:
    """The page, as it should be."""
    held = sorted(set(_held()), key=lambda one: (one.row[0], int(one.row[1:]), one.file, one.sentence))
    return HEAD + "".join(f"| {one.row} | {one.sentence} | `{one.file}` |\n" for one in held)


def _held() -> Iterator[Held]:
    for path in sorted((ROOT / "tests").rglob("test_*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name.startswith("test_"):
                sentence = node.name.removeprefix("test_").replace("_", " ")
                for row in _rows(node):
                    yield Held(row, sentence, path.relative_to(ROOT).as_posix())


def _rows(test: ast.FunctionDef | ast.AsyncFunctionDef) -> Iterator[str]:
    for mark in test.decorator_list:
        if isinstance(mark, ast.Call) and ast.unparse(mark.func) == "pytest.mark.rows":
            for argument in mark.args:
                row = ast.literal_eval(argument)
                assert re.fullmatch(r"[TPB]\d+", row), f"{test.name} names {row!r}, which is no row"
                yield row


if __name__ == "__main__":
    PAGE.parent.mkdir(exist_ok=True)
    PAGE.write_text(page())
