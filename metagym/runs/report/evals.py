"""The report of an evaluation: figures with intervals, models side by side, cards, and the first episodes of each."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

from markupsafe import Markup

from metagym.errors import MetaGymError
from metagym.runs.evals_results import EvalResults, Sample, Score
from metagym.runs.evals_rows import all_rows
from metagym.runs.report import plots
from metagym.runs.report.frame import MAX_BYTES, part, shown_manifest, templates
from metagym.runs.report.text import visible
from metagym.runs.report.turns import content, plain

_FIGURES = 24  # benchmarks that are drawn
_LINES = 200  # of one table
_EPISODES = 12  # of each model on each benchmark, lost ones first
_ROOM = 3_000_000  # bytes that episodes may take


def render_evals(results: EvalResults, name: str) -> str:
    """The page of an evaluation, always below `MAX_BYTES` bytes of UTF-8.

    Args:
        results: What its folder says.
        name: How the page calls it.

    Raises:
        MetaGymError: It would be larger.
    """
    models = part(part(results.manifest, "versions"), "models")
    facts = [("suite", results.suite), ("preset", str(results.manifest.get("preset", "none")))]
    facts += [
        (
            entrant.name,
            f"{part(models, entrant.name).get('id', '-')} ({part(models, entrant.name).get('backend', '-')})",
        )
        for entrant in results.entrants
    ]
    facts += [
        ("seed", str(part(results.manifest, "config").get("seed", "-"))),
        ("MetaGym", str(results.manifest.get("metagym", "-"))),
    ]
    values: dict[str, Any] = {
        "name": visible(name, 120),
        "title": visible(results.title, 200),
        "facts": [(visible(label, 80), visible(text, 200)) for label, text in facts],
        "notices": [visible(line, 600) for line in results.notices[:60]],
        "figures": evals_figures(results),
        "tables": rows_view(results),
        "cards": _cards(results),
        "groups": _groups(results),
        "manifest": shown_manifest(results.manifest),
    }
    text = templates().get_template("evals.html.j2").render(values)
    if (size := len(text.encode("utf-8", "backslashreplace"))) >= MAX_BYTES:
        raise MetaGymError(f"the report of {name} would take {size:,} bytes, more than {MAX_BYTES:,}")
    return text


def evals_figures(results: EvalResults) -> list[dict[str, Any]]:
    """The figures of the first benchmarks: each as SVG, its legend, its caption."""
    return [_figure(results, number) for number in range(min(_FIGURES, len(results.benchmarks)))]


def rows_view(results: EvalResults) -> list[dict[str, Any]]:
    """Every table of an evaluation, as the template's `rows_table` draws them."""
    return [_shown(rows) for rows in all_rows(results)]


def _figure(results: EvalResults, number: int) -> dict[str, Any]:
    benchmark = results.benchmarks[number]
    estimates = [results.score(entrant.name, benchmark.name).measures.avg for entrant in results.entrants]
    told = ", ".join(estimate.point() for estimate in estimates)
    legend = [(at % plots.SERIES, f"{at + 1}: {visible(e.name, 80)}") for at, e in enumerate(results.entrants)]
    return {
        "svg": Markup(plots.intervals(estimates, f"avg@k of each model: {told}", f"benchmark-{number}")),
        "legend": legend,
        "caption": f"{visible(benchmark.label, 120)}: avg@{benchmark.samples} with 95% intervals over tasks.",
    }


def _shown(rows: Any) -> dict[str, Any]:
    lines = [tuple(visible(text, 300) for text in line) for line in rows.lines[:_LINES]]
    heads = [visible(text, 80) for text in rows.headings]
    more = max(0, len(rows.lines) - _LINES)
    return {"title": visible(rows.title, 300), "headings": heads, "lines": lines, "labels": rows.labels, "more": more}


def _cards(results: EvalResults) -> list[tuple[str, str]]:
    return [
        (
            visible(f"{score.benchmark.label}, {score.entrant.name}", 200),
            visible(json.dumps(score.card, indent=1), 20_000),
        )
        for score in results.scores
    ][:60]


def _groups(results: EvalResults) -> list[dict[str, Any]]:
    groups = []
    room = _ROOM
    for score in results.scores:
        shown = []
        for sample in _picked(score):
            item = _episode(sample)
            room -= len(str(item).encode("utf-8", "backslashreplace"))
            if room < 0:
                break
            shown.append(item)
        title = visible(f"{score.benchmark.label}, {score.entrant.name}", 200)
        groups.append({"title": title, "episodes": shown, "total": len(score.episodes)})
    return groups


def _picked(score: Score) -> list[Sample]:
    """Some episodes: half of them lost or unscored ones where there are such."""
    lost = [one for one in score.episodes if not (one.episode.scored and one.episode.success)][: _EPISODES // 2]
    rest = [one for one in score.episodes if one not in lost][: _EPISODES - len(lost)]
    return [*lost, *rest]


def _episode(sample: Sample) -> dict[str, Any]:
    episode = sample.episode
    shown = content(replace(episode, turns=episode.turns[:40]))
    known = episode.scored and episode.success is not None
    why = f"{episode.status.value}: {episode.cause}" if episode.cause else ""
    return {
        "result": ("won" if episode.success else "lost") if known else "unscored",
        "task": visible(episode.task.id, 80),
        "sample": sample.number,
        "steps": episode.steps,
        "turns": Markup(plain(shown["turns"])),
        "last": shown["last"],
        "note": " · ".join(text for text in (shown["note"], visible(why, 300)) if text),
    }
