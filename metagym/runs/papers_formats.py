"""A paper's table as text for a terminal, Markdown, LaTeX and CSV; the page of it is `metagym.runs.report.papers`.

Names come from run folders and are escaped in each format: a model's name cannot write a macro, a formula or a link.
"""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from metagym.runs.papers import Cell, Column, Row, Table
from metagym.runs.report.text import visible
from metagym.stats import Estimate

if TYPE_CHECKING:
    from rich.console import Group

_LATEX = {
    "\\": r"\textbackslash{}", "&": r"\&", "%": r"\%", "$": r"\$", "#": r"\#", "_": r"\_", "{": r"\{", "}": r"\}",
    "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "<": r"\textless{}", ">": r"\textgreater{}",
    "|": r"\textbar{}", '"': "''",  # the straight sign is not in OT1, LaTeX's default encoding
}  # fmt: skip
_MARKDOWN = re.compile(r"([\\`*_\[\]<>|!~$])")


def head_text(column: Column) -> str:
    """The head of a column: title, and tasks x samples."""
    if not column.name:
        return f"{column.title} of {column.suite}"
    return f"{column.title} ({column.tasks} x {column.samples})"


def cell_text(cell: Cell) -> str:
    """A cell in words: figure, interval, what is unscored or missing."""
    if cell.missing:
        return f"partial (-{cell.missing})"
    if cell.value is None or cell.value.value is None:
        return "-"
    left_out = cell.measures.unscored if cell.measures else cell.value.unscored
    return f"{cell.value.point()} {cell.value.interval()}" + (f" ({left_out} unscored)" if left_out else "")


def difference_text(cell: Cell) -> str:
    """The difference from the baseline with its interval, and McNemar's p where there is one; "" where nothing is."""
    if cell.contrast is None or cell.contrast.difference.value is None:
        return ""
    told = cell.contrast.difference
    p = _p(cell)
    return f"{told.point(sign=True)} {told.interval(sign=True)}" + (f", {p}" if p else "")


def _p(cell: Cell) -> str:
    """McNemar's p against the baseline; "" where there is none."""
    test = None if cell.contrast is None else cell.contrast.test
    if test is None or test.p is None:
        return ""
    return "p < 0.001" if test.p < 0.001 else f"p = {test.p:.3f}"


def as_text(table: Table) -> Group:
    """The table for the terminal: a line for each system, or, where there are many benchmarks, for each of these."""
    from rich import box
    from rich.console import Group
    from rich.table import Table as RichTable
    from rich.text import Text

    shown = RichTable(
        title=Text(_title(table), style="bold"),
        title_justify="left",
        box=box.SIMPLE_HEAD,
        pad_edge=False,
    )
    tops = [visible(head_text(column), 80) for column in table.columns]
    sides = [visible(row.name, 80) for row in table.rows]
    grid = [[_lines(cell, place in best) for cell, best, place in _placed(table, row)] for row in table.rows]
    corner = "system"
    if len(tops) > _WIDE:
        corner, tops, sides, grid = (
            "benchmark (tasks x samples)",
            sides,
            tops,
            [list(one) for one in zip(*grid, strict=True)],
        )
    for top in (corner, *tops):
        shown.add_column(Text(top), overflow="fold")
    for side, cells in zip(sides, grid, strict=True):
        shown.add_row(Text(side), *(Text(text, style="bold" if bold else "") for text, bold in cells))
    return Group(shown, *(Text(visible(line, 400)) for line in below(table)))  # as wide as the terminal


_WIDE = 4  # benchmarks that stand beside each other on a terminal


def _lines(cell: Cell, best: bool) -> tuple[str, bool]:
    return "\n".join(filter(None, (cell_text(cell), difference_text(cell)))), best


def as_markdown(table: Table) -> str:
    """The table as Markdown, with its notes as a list."""

    def line(row: Row) -> list[str]:
        cells = [
            "<br>".join(filter(None, (_bold(cell_text(cell), n in best), difference_text(cell))))
            for cell, best, n in _placed(table, row)
        ]
        return [_markdown(row.name), *cells]

    heads = ["system", *(_markdown(head_text(column)) for column in table.columns)]
    lines = ["| " + " | ".join(heads) + " |", "|---" * len(heads) + "|"]
    lines += ["| " + " | ".join(line(row)) + " |" for row in table.rows]
    return "\n".join([*lines, "", *(f"- {_markdown(text)}" for text in below(table))]) + "\n"


def as_latex(table: Table) -> str:
    """The table as LaTeX (package booktabs): shares in percent, intervals below them, the best of a column in bold."""
    columns = "l" + "c" * len(table.columns)
    lines = [r"\begin{table}", r"\centering", rf"\begin{{tabular}}{{{columns}}}", r"\toprule"]
    groups = [(suite, sum(column.suite == suite for column in table.columns)) for suite in table.suites]
    lines.append(" & ".join(["", *(rf"\multicolumn{{{n}}}{{c}}{{{_latex(suite)}}}" for suite, n in groups)]) + r" \\")
    lines.append(" & ".join(["", *(_latex(column.title) for column in table.columns)]) + r" \\")
    lines.append(r"\midrule")
    share = is_share(table.measure)
    for row in table.rows:
        figures, ranges, differences = [], [], []
        for cell, best, n in _placed(table, row):
            figure, interval = ("partial", "") if cell.missing else _figure(cell.value, share)
            figures.append(rf"\textbf{{{figure}}}" if n in best else figure)
            ranges.append(interval)
            told = _figure(cell.contrast.difference, sign=True) if cell.contrast else ()
            against = " ".join(filter(None, told))
            differences.append(f"{against}, ${p}$" if (p := _p(cell)) else against)
        # Behind the end of a row a bracket or star would be an argument of it.
        lines.append(" & ".join([("{}" if row.name[:1] in ("[", "*") else "") + _latex(row.name), *figures]) + r" \\")
        for small in (ranges, differences):
            if any(small):
                lines.append(" & ".join(["", *(rf"{{\scriptsize {one}}}" if one else "" for one in small)]) + r" \\")
    lines += [r"\bottomrule", r"\end{tabular}"]
    title = f"{_title(table)}{', in percent' if share else ''}, with 95% intervals."
    notes = (text if text.endswith((".", "?", "!")) else f"{text}." for text in below(table))
    caption = " ".join(map(_latex, (title, *notes)))
    lines += [rf"\caption{{{caption}}}", r"\end{table}"]
    return "\n".join(lines) + "\n"


def as_csv(table: Table) -> str:
    """One line per system and benchmark, with everything that was measured; unmeasured fields are empty."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(_FIELDS)
    for row in table.rows:
        for column, cell in zip(table.columns, row.cells, strict=True):
            if cell.value is None and cell.measures is None:
                continue
            told, against = cell.measures, cell.contrast
            writer.writerow(
                [
                    _formula(row.name), "+".join(row.backends), _formula(column.suite), _formula(column.name or "mean"),
                    table.measure, *_numbers(cell.value), column.tasks, column.samples or "",
                    "" if told is None else told.episodes, "" if told is None else told.missing,
                    "" if told is None else told.unscored,
                    _formula(table.baseline or "") if against else "",
                    *_numbers(against.difference if against else None),
                    "" if against is None or against.test is None or against.test.p is None else against.test.p,
                    _formula(" ".join(cell.runs)), "" if told is None else json.dumps(told.to_json(), sort_keys=True),
                ]
            )  # fmt: skip
    return out.getvalue()


FORMATS: dict[str, Callable[[Table], str]] = {"markdown": as_markdown, "latex": as_latex, "csv": as_csv}
"""The formats that are plain text."""

_FIELDS = (
    "system backends suite benchmark measure value low high tasks samples episodes missing unscored baseline difference"
    " difference_low difference_high mcnemar_p runs measures_json"
).split()


def below(table: Table) -> list[str]:
    """What stands below a table: methods, baseline, notes."""
    methods = dict.fromkeys(
        cell.value.method for row in table.rows for cell in row.cells if cell.value is not None and cell.value.method
    )
    lines = [f"Intervals: {'; '.join(methods)}."] if methods else []
    if any(cell.contrast for row in table.rows for cell in row.cells):
        lines.append(
            f"With a sign: the difference from {table.baseline}, paired by task, bootstrapped over tasks; p is "
            "McNemar's exact test, where every task was won or lost."
        )
    return [*lines, *table.notes]


def _title(table: Table) -> str:
    names = {"avg": "avg@k: share of samples that succeed", "maj": "maj@k", "return": "mean return"}
    return names.get(table.measure, table.measure)


def _placed(table: Table, row: Row) -> Sequence[tuple[Cell, frozenset[int], int]]:
    place = table.rows.index(row)
    return [(cell, table.best(number), place) for number, cell in enumerate(row.cells)]


def _bold(text: str, wanted: bool) -> str:
    return f"**{text}**" if wanted else text


def _markdown(text: str) -> str:
    return _MARKDOWN.sub(r"\\\1", visible(text, 400).replace("\n", " "))


def _latex(text: str) -> str:
    return "".join(_LATEX.get(sign, sign) for sign in visible(text, 400).replace("\n", " "))


def is_share(measure: str) -> bool:
    """Whether a measure is a share of something, in [0, 1]."""
    return measure.startswith(("avg", "pass@", "maj"))


def _figure(value: Estimate | None, share: bool = True, sign: bool = False) -> tuple[str, str]:
    """Figure and interval for LaTeX, shares in percent."""
    if value is None or value.value is None:
        return "--", ""

    def form(number: float) -> str:
        shown = f"{100 * number:{'+' if sign else ''}.1f}" if share else f"{number:{'+' if sign else ''}.2f}"
        return f"${shown}$" if sign or number < 0 else shown

    if value.low is None or value.high is None:
        return form(value.value), ""
    return form(value.value), f"[{form(value.low)}, {form(value.high)}]"


def _numbers(estimate: Estimate | None) -> list[float | str]:
    if estimate is None:
        return ["", "", ""]
    return ["" if one is None else one for one in (estimate.value, estimate.low, estimate.high)]


def _formula(text: str) -> str:
    """A spreadsheet computes what begins like a formula: such a text gets an apostrophe."""
    shown = visible(text, 400)
    return f"'{shown}" if shown.startswith(("=", "+", "-", "@", "\t", "\r")) else shown
