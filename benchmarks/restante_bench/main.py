"""`restante-bench`: prints each measurement beside its floor, and fails when a goal is not reached."""

import argparse
import logging
import sys
from collections.abc import Iterable, Sequence

from rich.console import Console
from rich.table import Table

from restante_bench import bus, growth, rounds
from restante_bench.measure import Row

_RIGHT = ("ours", "floor", "ratio", "goal", "messages", "readers", "per message", "stored")


def main() -> None:
    """Measure, print, and exit with 1 when a ratio misses its goal."""
    parser = argparse.ArgumentParser(prog="restante-bench", description=__doc__)
    parser.add_argument("what", nargs="?", choices=("bus", "rounds", "growth"), default="bus", help="what to measure")
    asked = parser.parse_args()
    logging.disable()  # autogen-core logs every message
    console = Console(highlight=False, width=max(120, Console().width))
    rows = {"bus": bus.rows, "rounds": rounds.rows}.get(asked.what)
    missed = _against_floors(console, asked.what, rows()) if rows else _growth(console)
    sys.exit(1 if missed else 0)


def _against_floors(console: Console, what: str, rows: Iterable[Row]) -> int:
    """Each row beside its floor; how many goals were missed."""
    table = _table(f"restante-bench {what}", ("what", "ours", "against", "floor", "ratio", "goal", ""))
    missed = 0
    for row in rows:
        missed += not row.reached
        goal = f"{'<=' if row.better == 'less' else '>='} {row.goal:g}"
        sign = "[green]reached[/]" if row.reached else "[red]missed[/]"
        table.add_row(row.what, row.ours, row.against, row.floor, f"{row.ratio:.2f}", goal, sign)
    console.print(table)
    return missed


def _growth(console: Console) -> int:
    """What a message costs on larger and larger buses; there is no goal but that it stays the same."""
    table = _table("restante-bench growth", ("readers", "messages", "per message", "stored"))
    for cost in growth.costs():
        per_message = f"{cost.seconds * 1e6:.2f} us"
        table.add_row(f"{cost.readers:,}", f"{cost.messages:,}", per_message, f"{cost.stored_bytes:,.0f} bytes")
    console.print(table)
    return 0


def _table(title: str, columns: Sequence[str]) -> Table:
    table = Table(title=title, title_justify="left", box=None, header_style="bold", padding=(0, 2, 0, 0))
    for column in columns:
        table.add_column(column, justify="right" if column in _RIGHT else "left")
    return table
