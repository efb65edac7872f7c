"""Writes `docs/who-can-reach-whom.md`: senders and recipients under both ways of spawning, from the tests.

A test says which cell it proves: `@pytest.mark.reach(sender, recipient, spawn, when)`, `spawn` being "blocking",
"background" or "any". `python -m tests.reach_page` writes the page; a test compares it with the tests.
"""

import ast
from collections import defaultdict
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parent.parent
PAGE = ROOT / "docs" / "who-can-reach-whom.md"
SPAWNS = ("blocking", "background")

HEAD = """\
# Who can reach whom

Runs of one turn write to each other while they work; each reads between two of its model calls, at a *boundary*. What a
run that waits can read depends on how it spawned. With a **blocking** spawn it waits in a tool call until its worker
has ended. With a **background** spawn it gets the address at once, and its waits end early when mail comes. Each cell
is held by the tests whose numbers it gives. This page is made from the tests by `make contract`.

| Sender | Recipient | Blocking spawn | Background spawn |
|---|---|---|---|
"""


class Reach(NamedTuple):
    """One cell, and the test that holds it."""

    sender: str
    recipient: str
    spawn: str
    when: str
    test: str
    file: str


def page() -> str:
    """The page, as it should be."""
    rows: dict[tuple[str, str], dict[str, list[Reach]]] = defaultdict(lambda: defaultdict(list))
    for reach in sorted(_reaches()):
        for spawn in SPAWNS if reach.spawn == "any" else (reach.spawn,):
            rows[reach.sender, reach.recipient][spawn].append(reach)
    tests = list(dict.fromkeys((reach.file, reach.test) for _, cells in sorted(rows.items()) for reach in _all(cells)))
    places = {test: place for place, test in enumerate(tests, 1)}
    table = "".join(
        f"| {sender} | {recipient} | {' | '.join(_cell(cells[spawn], places) for spawn in SPAWNS)} |\n"
        for (sender, recipient), cells in sorted(rows.items())
    )
    proofs = "".join(f"{place}. {test} (`{file}`)\n" for place, (file, test) in enumerate(tests, 1))
    return f"{HEAD}{table}\n## The tests\n\n{proofs}"


def empty_cells() -> list[tuple[str, str, str]]:
    """Those that no test holds."""
    held = {(reach.sender, reach.recipient, reach.spawn) for reach in _reaches()}
    pairs = {(sender, recipient) for sender, recipient, _ in held}
    return [(*pair, spawn) for pair in sorted(pairs) for spawn in SPAWNS if not {(*pair, spawn), (*pair, "any")} & held]


def _all(cells: Mapping[str, list[Reach]]) -> Iterator[Reach]:
    return (reach for spawn in SPAWNS for reach in cells[spawn])


def _cell(reaches: list[Reach], places: Mapping[tuple[str, str], int]) -> str:
    """What holds, and the numbers of the tests that hold it."""
    return "; ".join(f"{reach.when} [[{places[reach.file, reach.test]}]](#the-tests)" for reach in reaches)


def _reaches() -> Iterator[Reach]:
    for path in sorted((ROOT / "tests").rglob("test_*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                for mark in node.decorator_list:
                    if isinstance(mark, ast.Call) and ast.unparse(mark.func) == "pytest.mark.reach":
                        sender, recipient, spawn, when = (str(ast.literal_eval(argument)) for argument in mark.args)
                        assert spawn in (*SPAWNS, "any"), f"{node.name} names {spawn!r}"
                        test = node.name.removeprefix("test_").replace("_", " ")
                        yield Reach(sender, recipient, spawn, when, test, path.relative_to(ROOT).as_posix())


if __name__ == "__main__":
    PAGE.write_text(page())
