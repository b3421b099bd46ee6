"""The report of a run of SPADE: curves, curriculum, every accepted environment with its source, lineage, refusals."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from markupsafe import Markup

from metagym.episodes import Episode
from metagym.errors import MetaGymError
from metagym.runs.report import plots
from metagym.runs.report.frame import MAX_BYTES, part, shown_manifest, templates
from metagym.runs.report.text import visible
from metagym.runs.report.turns import content, plain
from metagym.runs.spade_notices import spade_notices
from metagym.runs.spade_results import Environment, RoundPoint, SpadeResults
from metagym.spade.slots import Played
from metagym.spade.validation import CODES
from metagym.stats import Estimate

_ROUNDS = 60  # rounds that are listed
_ENVIRONMENTS = 400
_NODES = 400
_CODES = 40
_SOURCE = 20_000  # characters of one program that are shown
_ROOM = 4_200_000  # bytes that the environments may take


def render_spade(results: SpadeResults, name: str) -> str:
    """The page of a run of SPADE, always below `MAX_BYTES` bytes of UTF-8.

    Args:
        results: What the run folder says.
        name: How the page calls the run.
    """
    order = sorted(results.environments, key=_rank)
    links = {one.digest: f"p{number}" for number, one in enumerate(order[:_ENVIRONMENTS])}
    nodes, undrawn = tree_nodes(results.environments, links)
    values: dict[str, Any] = {
        **spade_values(results, name),
        "notices": [visible(line, 600) for line in spade_notices(results)],
        "figures": spade_figures(results.points),
        "environments": _environments(order[:_ENVIRONMENTS], links, results.shown),
        "more_environments": max(0, len(order) - _ENVIRONMENTS),
        "tree_nodes": nodes,
        "more_nodes": undrawn,
    }
    text = templates().get_template("spade.html.j2").render(values)
    size = len(text.encode("utf-8", "backslashreplace"))
    if size >= MAX_BYTES:
        raise MetaGymError(f"the report of {name} would take {size:,} bytes, more than {MAX_BYTES:,}")
    return text


def spade_values(results: SpadeResults, name: str) -> dict[str, Any]:
    """What the parts of a page need that show the figures of a run; neither its programs nor its plots."""
    found, designs = results.statistics, results.statistics["designs"]
    points = _listed(results.points)
    return {
        "name": visible(name, 120),
        "title": visible(str(part(results.manifest, "config").get("setting", "")).replace("_", " "), 40),
        "facts": _facts(results),
        "tiles": {
            "accepted": designs["accepted"],
            "attempts": designs["attempts"],
            "valid": Estimate.from_json(designs["valid_rate"]),
            "regret": Estimate.from_json(found["programs"]["regret"]),
            "win_rate": Estimate.from_json(found["programs"]["win_rate"]),
            "plays": results.plays,
            "steps": results.steps,
            "failed": sum(results.failures.values()),
        },
        "rounds": points,
        "more_rounds": len(results.points) - len(points),
        "statistics": found,
        "skills": _skills(found["programs"]),
        "memory": _memory(results),
        "codes": _codes(results),
        "usage": _usage(results),
        "manifest": shown_manifest(results.manifest),
    }


def _rank(one: Environment) -> tuple[float, int, int]:
    return -(-math.inf if one.reward is None else one.reward), one.design.round, one.design.slot


def _facts(results: SpadeResults) -> list[tuple[str, str]]:
    config, versions = part(results.manifest, "config"), part(results.manifest, "versions")
    facts: list[tuple[str, str]] = []
    for seat in ("designer", "agent", "hinter"):
        told = part(versions, seat)
        if config.get("pool") and seat == "designer":
            facts.append((seat, f"none: fixed pool {part(versions, 'pool').get('name', '')}"))
        elif told:
            facts.append((seat, f"{told.get('id', '')} ({told.get('backend', '')})"))
    facts.append(("reward", str(config.get("reward", "-"))))
    facts.append(("hint", str(config.get("hint", "-"))))
    pairs = f"{config.get('seeds', '-')} seeds x {config.get('repeats', '-')}, {config.get('estimator', '-')}"
    facts.append(("plays per arm", pairs))
    if corpus := part(versions, "corpus"):
        facts.append(("corpus", f"{corpus.get('name', '')} ({corpus.get('documents', 0):,} documents)"))
    if config.get("ablations"):
        facts.append(("ablations", ", ".join(map(str, config["ablations"]))))
    facts += [("seed", str(config.get("seed", "-"))), ("MetaGym", str(results.manifest.get("metagym", "-")))]
    return [(label, visible(text, 200)) for label, text in facts]


def _listed(points: Sequence[RoundPoint]) -> list[RoundPoint]:
    step = max(1, -(-len(points) // _ROUNDS))
    return [*points[:-1][::step], points[-1]] if points else []


def spade_figures(points: Sequence[RoundPoint]) -> list[dict[str, Any]]:
    """Win rates of both arms, and how long the solutions are."""
    shown = _listed(points)
    if not shown:
        return []
    rates = [
        plots.Series([(point.round, point.plain) for point in shown], 0),
        plots.Series([(point.round, point.hinted) for point in shown], 1),
    ]
    said = ", ".join(f"round {point.round} {point.plain.point()} and {point.hinted.point()}" for point in shown[:40])
    svg = plots.curves(rates, [], f"Win rate without and with the hint: {said}", "rates", "round", "win rate")
    figures: list[dict[str, Any]] = [
        {
            "svg": Markup(svg),
            "legend": [(0, "without the hint"), (1, "with the hint")],
            "caption": "Mean win rate over the programs of each round; the gap between the lines is the regret. Bands: "
            "95% intervals over programs.",
        }
    ]
    steps = [(point.round, _point(point.oracle_steps)) for point in shown if point.oracle_steps is not None]
    if len(steps) > 1:
        most = max(estimate.value or 0.0 for _, estimate in steps)
        svg = plots.curves(
            [plots.Series(steps, 2)], [], "Steps of the reference solutions", "steps", "round", "steps", (0, most + 1)
        )
        caption = "Mean steps of the reference solutions of each round's programs: how long they are."
        figures.append({"svg": Markup(svg), "legend": [(2, "steps of the reference solution")], "caption": caption})
    return figures


def _point(value: float | None) -> Estimate:
    return Estimate(value, None, None, 1)


def _skills(programs: Mapping[str, Any]) -> list[tuple[str, Mapping[str, Any]]]:
    rows = [(visible(skill, 80), row) for skill, row in programs["by_skill"].items()]
    return [*rows, ("all", programs["shares"])] if rows else []


def _memory(results: SpadeResults) -> dict[str, int] | None:
    told = [summary["memory"] for summary in results.summaries.values() if isinstance(summary.get("memory"), Mapping)]
    if not told:
        return None
    return {
        "size": told[-1].get("size", 0),
        "entered": sum(one.get("entered", 0) for one in told),
        "left": sum(one.get("left", 0) for one in told),
    }


def _environments(order: Sequence[Environment], links: Mapping[str, str], shown: Mapping[str, int]) -> list[Markup]:
    """The environments; where they do not fit, the sources of the last ones are left out first, then their details."""
    template, room, made = templates().get_template("spade_env.html.j2"), _ROOM, []
    for one in order:
        values = {**environment_view(one, links[one.digest]), "shown": shown.get(one.digest, 0)}
        html = template.render(values)
        if len(html.encode("utf-8", "backslashreplace")) > room:
            html = template.render({**values, "source": None, "episodes": []})
        size = len(html.encode("utf-8", "backslashreplace"))
        if size > room:
            break
        room -= size
        made.append(Markup(html))
    return made


def environment_view(one: Environment, link: str) -> dict[str, Any]:
    """What the template of one program needs; `link` is its name in the page."""
    first, program = one.first, one.design.program
    found = None if first is None else first.estimate
    unmeasured = Estimate(None, None, None, 0)
    paid = one.paid[0] if one.paid else None
    terms = None if paid is None else (paid.breakdown if paid.program is None else paid.program)
    document = one.design.last.document or {}
    report = one.design.last.report
    told = [
        f"{program.action_format} actions, at most {program.max_steps} steps",
        f"digest {one.digest[:12]}",
        f"document: {document.get('title') or document.get('source')}" if document else "",
        f"made from {', '.join(parent[:12] for parent in program.parents)}" if program.parents else "",
        f"attempt {len(one.design.attempts)} of its slot" if len(one.design.attempts) > 1 else "",
        f"flags: {', '.join(report.flags)}" if report is not None and report.flags else "",
        f"its worker was ended while it was played: {first.killed}" if first is not None and first.killed else "",
    ]
    hint = None if first is None else first.hint
    return {
        "link": link,
        "title": visible(program.title, 120),
        "skill": visible(one.design.skill, 80),
        "round": one.design.round,
        "plain": unmeasured if found is None else found.p0,
        "hinted": unmeasured if found is None else found.p1,
        "regret": unmeasured if found is None else found.regret,
        "learnability": None if found is None else found.learnability,
        "reward": one.reward,
        "terms": "" if terms is None else visible(_terms(terms.terms, terms.reason), 400),
        "novelty": None if paid is None else paid.novelty,
        "later": [{"round": plays.round, "rate": plays.estimate.p0} for plays in one.plays[1:][-12:]],
        "facts": visible(" · ".join(filter(None, told)), 600),
        "hint": None if hint is None or hint.text is None else visible(hint.text, 2_000),
        "hint_kind": "" if hint is None else hint.kind,
        "hint_reason": "" if hint is None else visible(hint.reason, 300),
        "source": visible(program.source, _SOURCE),
        "episodes": [] if first is None else [_episode(*pair) for pair in _pairs(first)],
    }


def _pairs(played: Played) -> list[tuple[Episode, bool]]:
    return list(zip(played.episodes, played.hinted, strict=True))


def _episode(episode: Episode, hinted: bool) -> dict[str, Any]:
    shown = content(episode)
    return {
        "arm": "with the hint" if hinted else "without the hint",
        "result": "unscored" if not episode.scored or episode.success is None else "won" if episode.success else "lost",
        "seed": episode.task.seed,
        "steps": episode.steps,
        "ret": f"{episode.ret:.2f}",
        "turns": Markup(plain(shown["turns"])),
        "more": shown["more"],
        "last": shown["last"],
        "note": shown["note"],
    }


def _terms(terms: Mapping[str, float | None], reason: str) -> str:
    told = ", ".join(f"{name} {'-' if value is None else f'{value:+.3f}'}" for name, value in terms.items())
    return f"{told}; {reason}" if reason else told


def tree_nodes(environments: Sequence[Environment], links: Mapping[str, str]) -> tuple[list[dict[str, Any]], int]:
    """The programs below their first known parent, depth first; [] where none names a parent that is known."""
    known = {one.digest: one for one in environments}
    children: dict[str, list[Environment]] = {}
    roots: list[Environment] = []
    for one in environments:
        parent = next(
            (digest for digest in one.design.program.parents if digest in known and digest != one.digest), None
        )
        if parent is None:
            roots.append(one)
        else:
            children.setdefault(parent, []).append(one)
    if not children:
        return [], 0
    nodes: list[dict[str, Any]] = []
    seen: set[str] = set()
    stack = [(one, 0) for one in reversed(roots)]
    while stack:
        one, depth = stack.pop()
        if one.digest in seen:
            continue
        seen.add(one.digest)
        found = None if one.first is None else one.first.estimate
        figures = "-" if found is None else f"{found.p0.point()}, regret {found.regret.point(2, True)}"
        title = visible(one.design.program.title, 80)
        nodes.append(
            {
                "depth": min(depth, 24),
                "title": title,
                "link": links.get(one.digest, ""),
                "note": f"{one.digest[:8]} · round {one.design.round} · {figures}",
            }
        )
        stack += [(child, depth + 1) for child in reversed(children.get(one.digest, []))]
    return nodes[:_NODES], max(0, len(nodes) - _NODES)


def _codes(results: SpadeResults) -> list[dict[str, Any]]:
    examples: dict[str, str] = {}
    for slot in results.slots:
        for attempt in slot.design.attempts:
            if attempt.code:
                examples.setdefault(attempt.code, attempt.cause if attempt.report is None else attempt.report.detail)
    counts = results.statistics["designs"]["codes"]
    return [
        {"code": code, "stage": CODES.get(code, "reply"), "count": count, "example": visible(examples[code], 300)}
        for code, count in list(counts.items())[:_CODES]
    ]


def _usage(results: SpadeResults) -> list[tuple[str, Any, float | None]]:
    """Tokens of each role, and the seconds that were noted for its records."""
    kinds = {"designer": "/design", "agent": "/plays"}
    rows = []
    for role, usage in results.usage.items():
        noted = [value for key, value in results.seconds.items() if role in kinds and key.endswith(kinds[role])]
        rows.append((role, usage, math.fsum(noted) if noted else None))
    return rows
