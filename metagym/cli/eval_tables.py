"""Tables of ``metagym eval``: figures per benchmark and model, and models compared task by task."""

from __future__ import annotations

from pathlib import Path

from rich.console import Console
from rich.table import Table
from rich.text import Text

from metagym.cli.tables import plain_console, titled
from metagym.runs.evals_results import load_evals
from metagym.runs.evals_rows import Rows, all_rows

_TYPES = 12  # benchmarks of more task types are told by type in the report alone


def print_evals(run: Path, console: Console | None = None, markdown: bool = False) -> None:
    """The tables of an evaluation, and what the reader must be warned of."""
    out = console or plain_console()
    results = load_evals(run)
    for rows in all_rows(results, types=_TYPES):
        if markdown:
            out.print(rows.markdown(), soft_wrap=True)
        else:
            out.print(_table(rows))
    for notice in results.notices:
        out.print(Text("note: " + notice, style="yellow"))


def _table(rows: Rows) -> Table:
    """Intervals stand below their values, so that a table fits a terminal of 80 columns."""
    table = titled(rows.title)
    for number, heading in enumerate(rows.headings):
        table.add_column(heading, justify="left" if number < rows.labels else "right", overflow="fold")
    for line in rows.lines:
        table.add_row(
            *(
                Text(cell if at < rows.labels else cell.replace(" [", "\n[", 1).replace("] (", "]\n("))
                for at, cell in enumerate(line)
            )
        )
    return table
