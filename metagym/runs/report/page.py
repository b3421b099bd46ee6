"""The report as a page: what stands in it, drawn by the templates, and written in one rename.

A page is one file that needs no network. Its policy (CSP) allows nothing but its own styles, so whatever a run holds,
nothing of it can run or load anything. There is one exception, only in pages whose episodes do not fit as plain HTML:
a small script unpacks them when the reader opens them. The policy then names the hash of exactly that script, and no
other runs.
"""

from __future__ import annotations

import base64
import hashlib
import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from markupsafe import Markup

from metagym.errors import MetaGymError
from metagym.runs.compare import compare_episodes, side_of
from metagym.runs.evals_results import is_eval, load_evals
from metagym.runs.folder import REPORT, RunFolder, write_atomically
from metagym.runs.notices import notices
from metagym.runs.report import plots
from metagym.runs.report.episodes import MAX_GROUPS, fill, grouped
from metagym.runs.report.evals import render_evals
from metagym.runs.report.frame import MAX_BYTES, part, shown_manifest, templates
from metagym.runs.report.sesa import render_evaluation, render_sesa
from metagym.runs.report.spade import render_spade
from metagym.runs.report.text import as_lines, diff, visible
from metagym.runs.results import EVAL, Curve, PromptStep, Results, load_results
from metagym.runs.sesa_evals import evaluation_scores, load_evaluation
from metagym.runs.sesa_results import is_sesa, is_sesa_eval, load_sesa
from metagym.runs.spade_results import is_spade, load_spade

_ROOM = 4_700_000  # for the whole page; the rest is a margin
_PROMPTS = 1_500_000  # what prompts and reflections may take of it
_PLACE = "\0episodes\0"  # no text of a run holds a NUL by the time it is shown
_STEPS = 500  # prompts that are listed
_ROWS = 60  # task types, arms and notices that are listed


def write_report(run: RunFolder | str | os.PathLike[str]) -> Path:
    """Writes ``report.html`` into a run folder; a run that is still going on gives a report of what is there.

    Args:
        run: The folder, or an open one.

    Returns:
        The file.

    Raises:
        RunError: It is no run.
        StoreError: It cannot be read or written; `StoreCorrupt` if a record is damaged.
    """
    if not isinstance(run, RunFolder):
        with RunFolder.open(run) as folder:
            return write_report(folder)
    path, name = run.path, run.path.resolve().name
    write_atomically(path / REPORT, _rendered(run, name))
    return path / REPORT


def _rendered(run: RunFolder, name: str) -> str:
    """The page of the run's own kind."""
    if is_spade(run.manifest):
        return render_spade(load_spade(run), name)
    if is_sesa(run.manifest):
        return render_sesa(load_sesa(run), name)
    if is_eval(run.manifest):
        return render_evals(load_evals(run), name)
    if is_sesa_eval(run.manifest):
        return render_evaluation(load_evaluation(run), evaluation_scores(run), name)
    return render_report(load_results(run), name)


def render_report(results: Results, name: str) -> str:
    """The page of a run, always below `MAX_BYTES` bytes of UTF-8.

    Args:
        results: What the run folder says.
        name: How the page calls the run.
    """
    drawn = templates()
    page = drawn.get_template("report.html.j2")
    groups, script = grouped(results), _script()
    values: dict[str, Any] = {
        **report_values(results, name),
        "notices": [visible(line, 600) for line in notices(results)[:_ROWS]],
        "figures": report_figures(results),
        "prompts": _prompts(results.prompts),
        "final": _final(results),
        "several_arms": len(results.arms) > 1,
        "episodes_go_here": _PLACE,
    }

    def frame(script: dict[str, Any] | None) -> tuple[str, str]:
        before, after = page.render(values, script=script).split(_PLACE)
        return before, after

    before, after = frame(None)
    section, one = drawn.get_template("episodes.html.j2"), drawn.get_template("episode.html.j2")
    earlier = sum(len(group.entries) for group in groups[:-MAX_GROUPS])
    values["groups"] = groups = groups[-MAX_GROUPS:]

    def episodes() -> str:
        values["shortened"] = earlier + sum(group.shortened for group in groups)
        values["packed"] = sum(group.packed for group in groups)
        values["left_out"] = earlier + sum(group.left_out for group in groups)
        return section.render(values)

    fixed = len((before + episodes() + after).encode())  # all but the episodes themselves
    extra = len("".join(frame(script)).encode()) - len((before + after).encode())
    fill(groups, lambda view: one.render(view), _ROOM - fixed, extra)
    if any(group.packs for group in groups):
        before, after = frame(script)
    text = before + episodes() + after
    size = len(text.encode())
    if size >= MAX_BYTES:
        raise MetaGymError(f"the report of {name} would take {size:,} bytes, more than {MAX_BYTES:,}")
    return text


def report_values(results: Results, name: str) -> dict[str, Any]:
    """What the parts of a page need that show the figures of a run; neither its texts nor its plots."""
    return {
        "name": visible(name, 120),
        "facts": _facts(results),
        "headline": _headline(results),
        "types": _types(results),
        "arms": _arms(results),
        "usage": _usage(results),
        "manifest": shown_manifest(results.manifest),
        "counts": _counts(results),
    }


def _script() -> dict[str, Any]:
    """What unpacks episodes, and the hash by which the policy of the page knows it."""
    environment = templates()
    source, _, _ = environment.loader.get_source(environment, "unpack.js")  # type: ignore[union-attr]
    digest = base64.b64encode(hashlib.sha256(source.encode()).digest()).decode("ascii")
    return {"source": Markup(source), "hash": Markup(f"sha256-{digest}")}  # base64 needs no escape


def _facts(results: Results) -> list[tuple[str, str]]:
    """What was played by what, for the head of the page."""
    config, versions = part(results.manifest, "config"), part(results.manifest, "versions")
    family = part(versions, "family")
    facts = [("family", ", ".join(results.families) or str(config.get("family", "-")))]
    if engines := ", ".join(results.engines) or _brief(family.get("engine")):
        facts.append(("engine", engines))
    if data := _brief(family.get("data")):
        facts.append(("data", data))
    for seat, kinds in results.backends.items():
        spec = config.get(seat) or part(versions, seat).get("id") or ""
        if seat == "reflector" and len(results.arms) > 1:
            spec = ""  # each arm has its own
        if kinds:
            facts.append((seat, f"{spec} ({' and '.join(kinds)})" if spec else " and ".join(kinds)))
    if isinstance(seeds := results.manifest.get("seeds"), list):
        facts.append(("seeds", ", ".join(map(str, seeds))))
    elif (seed := config.get("seed")) is not None:
        facts.append(("seed", str(seed)))
    facts.append(("MetaGym", str(results.manifest.get("metagym", "-"))))
    return [(label, visible(text, 200)) for label, text in facts]


def _brief(value: Any) -> str:
    if isinstance(value, Mapping):
        return ", ".join(f"{key} {item}" for key, item in value.items())
    return "" if value is None else str(value)


def _headline(results: Results) -> dict[str, Any] | None:
    """From the first to the last turn, in one line; None where there is nothing to say."""
    if len(results.arms) != 1 or not results.curves[0].points:
        return None
    curve = results.curves[0]
    first, last = curve.points[0], curve.points[-1]
    told: dict[str, Any] = {"curve": curve, "first": first, "last": last, "difference": None, "test": None}
    if curve.phase == EVAL and last.turn > first.turn:
        arm = curve.arm
        side_a, side_b = side_of(results, arm, first.turn, "first"), side_of(results, arm, last.turn, "last")
        comparison = compare_episodes(*side_a, *side_b)
        told |= {"difference": comparison.difference, "test": comparison.test}
    return told


def report_figures(results: Results) -> list[dict[str, Any]]:
    """The learning curve, or intervals where each arm is scored once; at most eight arms keep their own colour."""
    shown = [_thinned(curve) for curve in results.curves if curve.points][: plots.SERIES]
    if not shown:
        return []
    legend = [(number, visible(curve.arm, 80)) for number, curve in enumerate(shown)]
    methods = "; ".join(sorted({p.success.method.replace("wilson", "Wilson") for c in shown for p in c.points}))
    on = "held-out tasks that no reflection has seen" if shown[0].phase == EVAL else "a fresh batch of unseen tasks"
    if all(len(curve.points) == 1 for curve in shown) and len(shown) > 1:
        svg = plots.intervals([curve.points[0].success for curve in shown], "Success rate of each arm", "arms")
        legend = [(number, f"{number + 1}. {label}") for number, label in legend]
        caption = f"Success rate of each arm on {on}. Lines: intervals ({methods})."
        return [{"svg": Markup(svg), "legend": legend, "caption": caption}]
    series = [plots.Series([(p.turn, p.success) for p in curve.points], n) for n, curve in enumerate(shown)]
    single = shown[0] if len(shown) == 1 else None
    faint = [(p.turn, p.batch) for p in single.points] if single and single.phase == EVAL else []
    title = "Success rate after each meta-turn" + _spoken(single)
    svg = plots.curves(series, faint, title, "curve")
    crosses = " Crosses: the small training batch of that turn." if faint else ""
    caption = f"Success rate after each reflection on {on}. Bands: intervals ({methods}).{crosses}"
    return [{"svg": Markup(svg), "legend": [] if single else legend, "caption": caption}]


def _thinned(curve: Curve) -> Curve:
    """At most some 200 points of a long curve, its last among them."""
    step = -(-len(curve.points) // 200)
    return replace(curve, points=(*curve.points[:-1][::step], curve.points[-1]))


def _spoken(curve: Curve | None) -> str:
    """The figures of a curve in words, for those who do not see it."""
    if curve is None:
        return ""
    return ": " + ", ".join(f"turn {point.turn} {point.success.point()}" for point in curve.points[:40])


def _types(results: Results) -> dict[str, Any] | None:
    """Task types against meta-turns, for a run of one arm."""
    if len(results.arms) != 1 or not results.curves[0].points:
        return None
    curve = results.curves[0]
    turns = [point.turn for point in curve.points]
    step = max(1, -(-len(turns) // 16))
    shown = sorted({*range(0, len(turns), step), len(turns) - 1})
    rows = []
    for name in curve.types[:_ROWS]:
        cells = [curve.points[index].by_type.get(name) for index in shown]
        rows.append({"type": visible(name, 80), "cells": cells, "first": cells[0], "last": cells[-1]})
    more = max(0, len(curve.types) - _ROWS)
    return {"turns": [turns[index] for index in shown], "rows": rows, "more": more, "points": curve.points}


def _arms(results: Results) -> dict[str, Any] | None:
    """Arms against task types, with the difference to the first arm, paired by task."""
    if len(results.arms) < 2:
        return None
    curves = [curve for curve in results.curves if curve.points][:_ROWS]
    types = list(dict.fromkeys(name for curve in curves for name in curve.types))[:12]
    rows = []
    for number, curve in enumerate(curves):
        last = curve.points[-1]
        row = {"name": visible(curve.arm, 80), "colour": number % plots.SERIES, "last": last, "difference": None}
        if number:
            base = curves[0]
            side_a = side_of(results, base.arm, base.points[-1].turn, base.arm)
            row["difference"] = compare_episodes(*side_a, *side_of(results, curve.arm, last.turn, curve.arm)).difference
        row["cells"] = [last.by_type.get(name) for name in types]
        rows.append(row)
    return {"types": [visible(name, 80) for name in types], "rows": rows, "base": rows[0]["name"] if rows else ""}


def _prompts(steps: Sequence[PromptStep]) -> dict[str, Any]:
    """The prompt at each turn against the one before; long runs show less of each, and of some only the line."""
    limit = max(200, min(20_000, _PROMPTS // (6 * max(len(steps), 1))))
    kept = steps[:_STEPS]
    before: dict[tuple[str, int], str] = {}
    shown: list[dict[str, Any]] = []
    for step in kept:
        place = (step.arm, step.seed)
        shown.append(prompt_view(step, before.get(place), limit))
        before[place] = step.prompt
    several = len({(step.arm, step.seed) for step in kept}) > 1
    for item in shown:
        item["heading"] = "" if not several else item["arm"] or "Meta-episode"
    # A short story is told at once; of a long one the reader opens what he wants.
    told = len(shown) <= 12 and sum(len(item["lines"]) for item in shown) <= 150
    template, room = templates().get_template("prompt.html.j2"), _PROMPTS
    for item in shown:
        html = template.render(item, open=told)
        if len(html.encode()) > room:
            html = template.render({**item, "lines": [], "analysis": "", "rejected": None}, open=False)
        room -= len(html.encode())
        item["html"] = Markup(html)
    return {"steps": shown, "more": len(steps) - len(kept)}


def prompt_view(step: PromptStep, old: str | None, limit: int) -> dict[str, Any]:
    """What the template needs of one step; `old` is the prompt before it, of which `limit` characters are compared."""
    lines = as_lines(step.prompt, limit) if old is None else diff(old, step.prompt, limit)
    return {
        "arm": visible(step.arm, 80),
        "seed": step.seed,
        "turn": step.turn,
        "lines": lines,
        "added": sum(line.op == "+" for line in lines),
        "removed": sum(line.op == "-" for line in lines),
        "same": old == step.prompt,
        "empty": not step.prompt,
        "outcome": visible(step.outcome, 40) if step.accepted else "not accepted",
        "analysis": visible(step.analysis, limit // 4),
        "cause": visible(step.cause, 300),
        "rejected": None if step.rejected_prompt is None else visible(step.rejected_prompt, limit // 2),
    }


def _final(results: Results) -> str | None:
    """The last prompt of a run of one arm and seed."""
    places = {(step.arm, step.seed) for step in results.prompts}
    return visible(results.prompts[-1].prompt, 20_000) if len(places) == 1 else None


def _usage(results: Results) -> dict[str, Any]:
    rows = [(seat, usage) for seat, usage in results.usage.items()]
    return {"rows": rows, "seconds": sum(results.seconds.values()) if results.seconds else None}


def _counts(results: Results) -> dict[str, int]:
    episodes = [item.episode for item in results.played]
    return {
        "episodes": len(episodes),
        "unscored": sum(not episode.scored for episode in episodes),
        "steps": sum(episode.steps for episode in episodes),
        "reflections": sum(results.outcomes.values()),
    }
