"""What a page asks for after it was drawn: how the run stands now, its notices, its figures."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from metagym.errors import UnknownName
from metagym.runs.notices import notices
from metagym.runs.report.evals import evals_figures
from metagym.runs.report.page import report_figures
from metagym.runs.report.sesa import evaluation_figure, sesa_figures
from metagym.runs.report.spade import spade_figures
from metagym.runs.report.text import visible
from metagym.runs.sesa_evals import evaluation_scores
from metagym.runs.sesa_notices import sesa_notices
from metagym.runs.spade_notices import spade_notices
from metagym.runs.view.catalogue import Run, refuse_damaged
from metagym.runs.view.curves import sesa_results, spade_results
from metagym.runs.view.figures import drawn
from metagym.runs.view.tables import eval_results

_MOST = 60  # notices that are shown


def state(run: Run, query: Mapping[str, str]) -> dict[str, Any]:
    """How the run stands."""
    records = run.records
    counts = {"episodes": len(records.rows), "records": records.records}
    counts["problems"] = len(run.problems)
    return {"version": run.version, "status": run.status, "reading": records.reading, **counts}


def notices_of(run: Run, query: Mapping[str, str]) -> dict[str, Any]:
    """What a reader must be told before the figures are believed.

    Raises:
        MetaGymError: The run cannot be read.
    """
    refuse_damaged(run)
    return {"notices": [visible(line, 600) for line in run.kept("notices", lambda: _notices(run))[:_MOST]]}


def _notices(run: Run) -> tuple[str, ...]:
    if run.kind == "spade":
        return spade_notices(spade_results(run))
    if run.kind == "sesa":
        return sesa_notices(sesa_results(run))
    if run.kind == "eval":
        return eval_results(run).notices
    return notices(run.results(), run.records.turns)


def figures_of(run: Run, query: Mapping[str, str]) -> dict[str, Any]:
    """The figures of the run's report: where each is, its legend, its caption.

    Raises:
        MetaGymError: The run cannot be read.
    """
    made = _figures(run)
    return {
        "figures": [
            {
                "src": f"/figure/{run.id}/{number}.svg?v={run.version}",
                "legend": one["legend"],
                "caption": one["caption"],
            }
            for number, one in enumerate(made)
        ]
    }


def figure(run: Run, number: str, query: Mapping[str, str]) -> str:
    """One figure, as an SVG element.

    Raises:
        UnknownName: There is none of this number.
        MetaGymError: The run cannot be read.
    """
    made = run.kept("figures", lambda: _make(run))  # the caller draws, so it holds the lock of drawing
    if int(number) >= len(made):
        raise UnknownName(f"the run has no figure {number}")
    return str(made[int(number)]["svg"])


def _figures(run: Run) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = drawn(lambda: run.kept("figures", lambda: _make(run)))
    return found


def _make(run: Run) -> list[dict[str, Any]]:
    refuse_damaged(run)
    if run.kind == "spade":
        return spade_figures(spade_results(run).points)
    if run.kind == "sesa":
        return sesa_figures(sesa_results(run))
    if run.kind == "eval":
        return evals_figures(eval_results(run))
    if run.kind == "sesa eval":
        scores = run.kept("scores", lambda: evaluation_scores(run.path))
        legend = [(number, f"{number + 1}. {visible(name, 80)}") for number, name in enumerate(scores.columns)]
        caption = "Success over all questions (micro mean), 95% intervals."
        return [{"svg": evaluation_figure(scores), "legend": legend, "caption": caption}]
    return report_figures(run.results())
