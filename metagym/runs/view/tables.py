"""The table of an evaluation (``metagym eval``): models against benchmarks, and what is missing in each cell."""

from __future__ import annotations

from typing import Any

from metagym.runs.evals_results import EvalResults, load_evals
from metagym.runs.report.evals import rows_view
from metagym.runs.report.text import visible
from metagym.runs.view.catalogue import Run, refuse_damaged


def eval_results(run: Run) -> EvalResults:
    """The results of an evaluation, read once per state.

    Raises:
        MetaGymError: They cannot be read.
    """
    refuse_damaged(run)
    results: EvalResults = run.kept("eval", lambda: load_evals(run.path))
    return results


def eval_table(run: Run) -> dict[str, Any]:
    """What the template of an evaluation needs.

    Raises:
        MetaGymError: The run cannot be read.
    """
    results = eval_results(run)
    rows = []
    for entrant in results.entrants:
        cells = []
        for benchmark in results.benchmarks:
            told = results.score(entrant.name, benchmark.name).measures
            k = max(told.pass_at, default=1)
            cells.append(
                {
                    "avg": told.avg,
                    "best": told.pass_at.get(k) if k > 1 else None,
                    "k": k,
                    "maj": told.maj,
                    "missing": told.missing,
                    "unscored": told.unscored,
                    "query": {"arm": entrant.name, "phase": benchmark.name},
                }
            )
        rows.append({"name": visible(entrant.name, 80), "model": visible(entrant.model, 160), "cells": cells})
    return {
        "facts": [
            ("suite", visible(results.suite, 80)),
            ("MetaGym", visible(str(run.manifest.get("metagym", "-")), 40)),
        ],
        "eval_title": visible(results.title, 120),
        "columns": [
            {
                "name": visible(one.label, 80),
                "samples": one.samples,
                "notes": [visible(note, 300) for note in one.notes],
            }
            for one in results.benchmarks
        ],
        "rows": rows,
        "tables": run.kept("tables", lambda: rows_view(results)),
        "left_out": [(visible(name, 80), visible(why, 200)) for name, why in results.left_out.items()],
    }
