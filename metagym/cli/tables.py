"""Tables that the command prints; every number comes from `metagym.stats`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from metagym.ict.evaluate import EvalConfig, Row
from metagym.runs.notices import notices
from metagym.runs.results import Curve, Results, load_results


def titled(title: str) -> Table:
    """An empty table in the command's style."""
    return Table(title=title, title_justify="left", title_style="bold", box=box.SIMPLE_HEAD, pad_edge=False)


def plain_console(width: int | None = None) -> Console:
    """A console that takes texts as they are: a task type may hold what looks like markup."""
    return Console(markup=False, emoji=False, highlight=False, width=width)


def played(results: Results) -> str:
    """What was played, as a title says it, e.g. ``ALFWorld (generated games, native engine)``."""
    family = results.manifest.get("versions", {}).get("family", {})
    facts = [f"{family['data']} games"] if isinstance(family.get("data"), str) else []
    if results.engines:
        facts.append(f"{' and '.join(results.engines)} engine")
    name = str(results.manifest.get("config", {}).get("family", ""))
    return f"{name} ({', '.join(facts)})" if facts else name


def print_run(folder: Path, console: Console | None = None) -> None:
    """Success per meta-turn with intervals, per task type, and what the reader must be warned of."""
    out = console or plain_console()
    results = load_results(folder)
    curves = [curve for curve in results.curves if curve.points]
    out.print(Text(played(results), style="bold"))
    for table in _curve_tables(curves, out.width) if curves else ():
        out.print(table)
    for notice in notices(results):
        out.print(Text("note: " + notice, style="yellow"))


def _curve_tables(curves: Sequence[Curve], width: int) -> Iterator[Table]:
    """The curves as a table; where the task types do not fit beside them, further tables hold the rest of them."""
    what = "held-out tasks" if curves[0].phase == "eval" else "fresh tasks of each batch"
    types = list(dict.fromkeys(name for curve in curves for name in curve.types))
    label = max(len(curve.arm) for curve in curves)
    left = width - (10 + label if label else 7)
    fitting = _fitting(types, left - 27)
    yield _curve_table(curves, f"Success on {what}, 95% interval", types[:fitting], True)
    while types := types[fitting:]:
        fitting = max(1, _fitting(types, left))
        yield _curve_table(curves, "", types[:fitting], False)


def _fitting(types: Sequence[str], room: int) -> int:
    """How many task types fit into `room` characters."""
    for number, name in enumerate(types):
        room -= max(4, *(len(word) for word in _short(name).split())) + 3
        if room < 0:
            return number
    return len(types)


def _curve_table(curves: Sequence[Curve], title: str, types: Sequence[str], first: bool) -> Table:
    several = len(curves) > 1 or bool(curves[0].arm)
    table = titled(title)
    if several:
        table.add_column("arm", no_wrap=True)
    table.add_column("turn", justify="right", no_wrap=True)
    if first:
        table.add_column("success", no_wrap=True)
        table.add_column("n", justify="right", no_wrap=True)
    for name in types:
        table.add_column(_short(name), justify="right")
    for curve in curves:
        for point in curve.points:
            cells = [curve.arm] if several else []
            cells.append(str(point.turn))
            if first:
                cells += [f"{point.success.point()} {point.success.interval()}", str(point.success.n)]
            cells += [point.by_type[name].point() if name in point.by_type else "-" for name in types]
            table.add_row(*cells)
    return table


def _short(name: str) -> str:
    """A task type's telling words; the long names of ALFWorld's types share most of theirs."""
    words = [w for w in name.split("_") if w not in ("pick", "and", "then", "place", "in", "recep", "obj", "at")]
    return " ".join(words) or name or "all"


def arms_table(rows: Sequence[Row], config: EvalConfig, game: str) -> Table:
    """Task type by task type, one line per arm: success, and the paired difference to the initial prompt."""
    run = config.run
    seeds = f"{len(config.seeds)} seed{'s' if len(config.seeds) > 1 else ''}"
    source = f", adapted on {config.train_family}" if config.train_family else ""
    kinds_of_model = {row.backend for row in rows}
    models = f", models: {rows[0].backend}" if len(kinds_of_model) == 1 else ""
    size = f"{run.eval_tasks} held-out tasks, {seeds}, batches of {run.batch_size}"
    table = titled(f"{game}{source}: {size}{models}")
    table.add_column("task type", no_wrap=True)
    table.add_column("arm" if models else "arm (models)")
    table.add_column("success", no_wrap=True)
    table.add_column("n", justify="right", no_wrap=True)
    table.add_column("paired difference", no_wrap=True)
    kinds = list(rows[0].by_type)
    for kind in [None, *kinds] if len(kinds) > 1 else [None]:
        for row in rows:
            success = row.success if kind is None else row.by_type[kind]
            difference = row.difference if kind is None else row.difference_by_type.get(kind)
            table.add_row(
                "all" if kind is None else _short(kind),
                row.name if models else f"{row.name} ({row.backend})",
                f"{success.point()} {success.interval()}",
                str(success.n) + (f" ({success.unscored} unscored)" if success.unscored else ""),
                "-" if difference is None else f"{difference.point(sign=True)} {difference.interval(sign=True)}",
                end_section=row is rows[-1],
            )
    return table


def print_table(table: Table, markdown: bool = False) -> None:
    """Prints a table, as Markdown if asked."""
    if not markdown:
        plain_console().print(table)
        return
    cells = [[_cell(cell) for cell in column.cells] for column in table.columns]
    lines = ["| " + " | ".join(_cell(column.header) for column in table.columns) + " |", "|---" * len(cells) + "|"]
    lines += ["| " + " | ".join(row) + " |" for row in zip(*cells, strict=True)]
    print("\n".join(lines))


def _cell(text: object) -> str:
    return str(text).replace("|", "\\|").replace("\n", " ")
