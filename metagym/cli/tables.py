"""Tables that the command prints; every number comes from `metagym.stats`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from metagym.ict.evaluate import EvalConfig, Row
from metagym.runs.notices import notices
from metagym.runs.results import Results, load_results


def _table(title: str) -> Table:
    return Table(title=title, title_justify="left", title_style="bold", box=box.SIMPLE_HEAD, pad_edge=False)


def print_run(folder: Path, console: Console | None = None) -> None:
    """Success per meta-turn with intervals, per task type, and what the reader must be warned of."""
    out = console or Console()
    results = load_results(folder)
    curve = results.curve(results.arms[0])
    if curve.points:
        out.print(_curve_table(results))
    for notice in notices(results):
        out.print(Text("note: " + notice, style="yellow"))


def _curve_table(results: Results) -> Table:
    curve = results.curve(results.arms[0])
    what = "held-out tasks" if curve.phase == "eval" else "fresh tasks of each batch"
    table = _table(f"Success on {what}, 95% interval")
    table.add_column("turn", justify="right")
    table.add_column("success", no_wrap=True)
    table.add_column("n", justify="right")
    for name in curve.types:
        table.add_column(_short(name), justify="right")
    for point in curve.points:
        types = [point.by_type[name].point() if name in point.by_type else "-" for name in curve.types]
        success = f"{point.success.point()} {point.success.interval()}"
        table.add_row(str(point.turn), success, str(point.success.n), *types)
    return table


def _short(name: str) -> str:
    """A task type's telling words; the long names of ALFWorld's types share most of theirs."""
    words = [w for w in name.split("_") if w not in ("pick", "and", "then", "place", "in", "recep", "obj", "at")]
    return " ".join(words) or name or "all"


def arms_table(rows: Sequence[Row], config: EvalConfig) -> Table:
    """One row per arm: success, paired difference to the initial prompt, and success per task type."""
    run = config.run
    seeds = f"{len(config.seeds)} seed{'s' if len(config.seeds) > 1 else ''}"
    source = f", adapted on {config.train_family}" if config.train_family else ""
    table = _table(f"{run.family}{source}: {run.eval_tasks} held-out tasks, {seeds}, batches of {run.batch_size}")
    table.add_column("arm")
    table.add_column("backend")
    table.add_column("success", no_wrap=True)
    table.add_column("difference (paired)", no_wrap=True)
    kinds = list(rows[0].by_type)
    for kind in kinds:
        table.add_column(_short(kind), justify="right")
    for row in rows:
        difference = "-" if row.difference is None else row.difference.text(sign=True)
        types = [row.by_type[kind].point() for kind in kinds]
        table.add_row(row.name, row.backend, row.success.text(), difference, *types)
    return table


def print_table(table: Table, markdown: bool = False) -> None:
    """Prints a table, as Markdown if asked."""
    console = Console(width=200) if markdown else Console()
    if not markdown:
        console.print(table)
        return
    cells = [[str(cell) for cell in column.cells] for column in table.columns]
    lines = ["| " + " | ".join(str(column.header) for column in table.columns) + " |", "|---" * len(cells) + "|"]
    lines += ["| " + " | ".join(row) + " |" for row in zip(*cells, strict=True)]
    print("\n".join(lines))
