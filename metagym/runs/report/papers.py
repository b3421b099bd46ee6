"""A paper's table as a page: one file, no script, no network, as the reports are."""

from __future__ import annotations

import json
from typing import Any

from markupsafe import Markup

from metagym.errors import MetaGymError
from metagym.runs.papers import Column, Table
from metagym.runs.papers_formats import as_latex, as_markdown, below, difference_text, head_text, is_share
from metagym.runs.report import plots
from metagym.runs.report.frame import MAX_BYTES, templates
from metagym.runs.report.text import visible

_FIGURES = 24  # columns that are drawn
_NOTES = 60


def render_papers(table: Table) -> str:
    """The page of a table, always below `MAX_BYTES` bytes of UTF-8.

    Raises:
        MetaGymError: There are so many systems and benchmarks that it would be larger.
    """
    names = [visible(row.name, 120) for row in table.rows]
    values: dict[str, Any] = {
        "name": " / ".join(table.runs[:4]) + (" / ..." if len(table.runs) > 4 else ""),
        "facts": [
            ("systems", str(len(table.rows))),
            ("benchmarks", str(sum(bool(column.name) for column in table.columns))),
            ("measure", table.measure),
            ("baseline", table.baseline or "none"),
        ],
        "notices": [visible(line, 600) for line in table.notes[:_NOTES]],
        "heads": [visible(head_text(column), 120) for column in table.columns],
        "rows": [
            {
                "name": names[place],
                "backends": " and ".join(row.backends) or "-",
                "cells": [
                    {"cell": cell, "best": place in table.best(number), "difference": difference_text(cell)}
                    for number, cell in enumerate(row.cells)
                ],
            }
            for place, row in enumerate(table.rows)
        ],
        "figures": [_figure(table, number, names) for number in _drawn(table)],
        "below": [visible(line, 600) for line in below(table)[:_NOTES]],
        "texts": [("Markdown", as_markdown(table)), ("LaTeX (booktabs)", as_latex(table))],
        "manifest": json.dumps({"runs": list(table.runs), "columns": [_card(c) for c in table.columns]}, indent=2),
    }
    page = templates().get_template("papers.html.j2").render(values)
    if (size := len(page.encode("utf-8", "replace"))) >= MAX_BYTES:
        raise MetaGymError(f"the table's page would take {size:,} bytes, more than {MAX_BYTES:,}: compare fewer runs")
    return page


def _drawn(table: Table) -> list[int]:
    """Columns with a figure: shares, of which something was measured."""
    if not is_share(table.measure):
        return []
    measured = [n for n, _ in enumerate(table.columns) if any(row.cells[n].value is not None for row in table.rows)]
    return measured[:_FIGURES]


def _figure(table: Table, number: int, names: list[str]) -> dict[str, Any]:
    there = [(place, row.cells[number].value) for place, row in enumerate(table.rows) if row.cells[number].value]
    title = f"{table.measure} of {len(there)} systems with 95% intervals"
    return {
        "svg": Markup(plots.intervals([one for _, one in there if one is not None], title, f"column{number}")),
        "legend": [(at % plots.SERIES, f"{at + 1}: {names[place]}") for at, (place, _) in enumerate(there)],
        "caption": f"{visible(head_text(table.columns[number]), 120)}: {title}.",
    }


def _card(column: Column) -> dict[str, Any]:
    return {
        "suite": visible(column.suite, 120),
        "benchmark": visible(column.name or column.title, 120),
        "tasks": column.tasks,
        "samples": column.samples,
    }
