"""`restante-bench`: prints each measurement beside its floor, and fails when a goal is not reached."""

import logging
import sys

from rich.console import Console
from rich.table import Table

from restante_bench import bus


def main() -> None:
    """Measure, print, and exit with 1 when a ratio misses its goal."""
    logging.disable()  # autogen-core logs every message
    console = Console(highlight=False, width=max(120, Console().width))
    table = Table(title="restante-bench bus", title_justify="left", box=None, header_style="bold", padding=(0, 2, 0, 0))
    for column in ("what", "ours", "against", "floor", "ratio", "goal", ""):
        table.add_column(column, justify="right" if column in ("ours", "floor", "ratio", "goal") else "left")
    missed = 0
    for row in bus.rows():
        missed += not row.reached
        goal = f"{'<=' if row.better == 'less' else '>='} {row.goal:g}"
        sign = "[green]reached[/]" if row.reached else "[red]missed[/]"
        table.add_row(row.what, row.ours, row.against, row.floor, f"{row.ratio:.2f}", goal, sign)
    console.print(table)
    sys.exit(1 if missed else 0)
