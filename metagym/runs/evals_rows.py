"""The tables of an evaluation as rows of texts; terminal, Markdown and page draw the same ones."""

from __future__ import annotations

from dataclasses import dataclass

from metagym.errors import BadInput
from metagym.evaluation.measures import Measures
from metagym.runs.elo import elo_ratings
from metagym.runs.evals_results import EvalResults, Score, paired
from metagym.stats import Estimate


@dataclass(frozen=True)
class Rows:
    """A table.

    Attributes:
        title: Its caption.
        headings: One per column.
        lines: The cells.
        labels: Number of columns that hold names; the others hold figures.
    """

    title: str
    headings: tuple[str, ...]
    lines: tuple[tuple[str, ...], ...]
    labels: int = 1

    def markdown(self) -> str:
        """The table in Markdown, with its title above."""
        rule = ["---" if number < self.labels else "---:" for number in range(len(self.headings))]
        lines = [f"**{_escaped(self.title)}**", "", _line(self.headings), "| " + " | ".join(rule) + " |"]
        return "\n".join([*lines, *map(_line, self.lines), ""])


def figure_rows(results: EvalResults) -> Rows:
    """One line per benchmark and model: tasks, samples, avg@k with its interval, pass@k, maj@k, mean return."""
    scores = results.scores
    has_maj = any(score.measures.maj is not None for score in scores)
    has_pass = any(score.benchmark.samples > 1 for score in scores)
    graded = any(_graded(score) for score in scores)
    headings = ["benchmark", "model", "tasks", "k", "avg@k", *(["pass@k"] if has_pass else [])]
    headings += (["maj@k"] if has_maj else []) + (["return"] if graded else [])
    lines = []
    for score, label in _in_order(results):
        told = score.measures
        cells = [label, score.entrant.name, str(told.tasks), str(told.samples), cell(told.avg) + _unscored(told)]
        cells += [cell(told.pass_at[told.samples])] if has_pass else []
        cells += ["-" if told.maj is None else cell(told.maj)] if has_maj else []
        cells += [cell(told.returns)] if graded else []
        lines.append(tuple(cells))
    lines += [(name, "left out", *[""] * (len(headings) - 2)) for name in results.left_out]
    title = f"{results.title}: 95% intervals over tasks, preset {results.manifest.get('preset', 'none')}"
    return Rows(title, tuple(headings), tuple(lines), 2)


def count_rows(results: EvalResults) -> Rows:
    """What stands behind the figures: kinds of model, episodes, unscored and missing ones, cut ones, tokens."""
    told = [(label, score.entrant.name, score.measures) for score, label in _in_order(results)]
    columns: dict[str, list[int]] = {
        "episodes": [one.episodes for _, _, one in told],
        "unscored": [one.unscored for _, _, one in told],
        "missing": [one.missing for _, _, one in told],
        "cut": [one.truncated for _, _, one in told],
        "length": [one.cut for _, _, one in told],
        "tokens read": [one.usage.prompt_tokens for _, _, one in told],
        "written": [one.usage.completion_tokens for _, _, one in told],
    }
    for name in ("missing", "cut", "length"):
        if not any(columns[name]):
            del columns[name]
    lines = tuple(
        (label, who, " ".join(one.backends) or "-", *(f"{column[at]:,}" for column in columns.values()))
        for at, (label, who, one) in enumerate(told)
    )
    title = "Episodes and tokens (length: calls without an answer at the token limit)"
    return Rows(title, ("benchmark", "model", "kind", *columns), lines, 3)


def score_rows(results: EvalResults) -> Rows:
    """Further measures that the benchmarks have, by name."""
    lines = [
        (label, score.entrant.name, name, cell(estimate), str(estimate.n), str(estimate.unscored))
        for score, label in _in_order(results)
        for name, estimate in score.measures.scores.items()
    ]
    headings = ("benchmark", "model", "measure", "mean", "tasks", "not measured")
    return Rows("Further measures: means over tasks", headings, tuple(lines), 3)


def pass_rows(results: EvalResults) -> Rows:
    """pass@k for k = 1, 2, 4, ... of benchmarks with several samples."""
    several = [(score, label) for score, label in _in_order(results) if score.benchmark.samples > 2]
    ks = sorted({k for score, _ in several for k in score.measures.pass_at})
    lines = [
        (
            label,
            score.entrant.name,
            *(cell(score.measures.pass_at[k]) if k in score.measures.pass_at else "" for k in ks),
        )
        for score, label in several
    ]
    return Rows("pass@k, unbiased", ("benchmark", "model", *(f"pass@{k}" for k in ks)), tuple(lines), 2)


def all_rows(results: EvalResults, types: int = 40) -> list[Rows]:
    """Every table that has a line, in the order in which they are read.

    Args:
        results: The evaluation.
        types: Benchmarks of more task types are not told by type.
    """
    tables = (figure_rows, elo_rows, contrast_rows, score_rows, pass_rows, count_rows)
    found = [*(table(results) for table in tables), type_rows(results, types)]
    return [rows for rows in found if rows.lines]


def elo_rows(results: EvalResults) -> Rows:
    """The players of games for two, best first."""
    found, notes = elo_ratings(results)
    lines = tuple(
        (
            one.player,
            f"{one.elo:.0f} [-]"
            if one.low is None or one.high is None
            else f"{one.elo:.0f} [{one.low:.0f}, {one.high:.0f}]",
            f"{one.wins} / {one.draws} / {one.losses}",
        )
        for one in found
    )
    if notes and not lines:  # a table without a line is not shown, and neither would be the reason
        lines = (("nobody is rated", "-", "-"),)
    return Rows(" ".join(notes), ("player", "Elo", "won / drawn / lost"), lines)


def contrast_rows(results: EvalResults) -> Rows:
    """Each further model against the first one, paired by task; "not compared" with the reason where it is refused."""
    first, *others = results.entrants
    lines = []
    for benchmark in results.benchmarks if others else ():
        base = results.score(first.name, benchmark.name)
        for entrant in others:
            score = results.score(entrant.name, benchmark.name)
            if not (base.played and score.played):
                continue
            head = (benchmark.label, f"{entrant.name} - {first.name}")
            try:
                found = paired(base, score)
            except BadInput as error:
                lines.append((*head, "-", "-", f"not compared: {error}"))
                continue
            test = "-" if found.test is None else str(found.test)
            lines.append((*head, cell(found.difference, sign=True), str(found.difference.n), test))
    return Rows(
        "Differences of avg@k, paired by task",
        ("benchmark", "models", "difference", "tasks", "McNemar"),
        tuple(lines),
        2,
    )


def type_rows(results: EvalResults, most: int) -> Rows:
    """avg@k by task type, where a benchmark has between two and `most` of them."""
    lines = []
    for benchmark in results.benchmarks:
        own = [results.score(entrant.name, benchmark.name).measures.by_type for entrant in results.entrants]
        types = list(dict.fromkeys(name for told in own for name in told))
        if 2 <= len(types) <= most:
            lines += [
                (benchmark.label, name, *(cell(told[name]) if name in told else "-" for told in own)) for name in types
            ]
    headings = ("benchmark", "task type", *(entrant.name for entrant in results.entrants))
    return Rows("avg@k by task type", headings, tuple(lines), 2)


def _in_order(results: EvalResults) -> list[tuple[Score, str]]:
    """Every score with its benchmark's label, benchmark by benchmark."""
    return [
        (results.score(e.name, b.name), b.label) for b in results.benchmarks for e in results.entrants if e.plays(b)
    ]


def cell(estimate: Estimate, sign: bool = False) -> str:
    """A value with its interval; a dash where there is none."""
    if estimate.value is None:
        return "-"
    return f"{estimate.point(3, sign)} {estimate.interval(3, sign)}"


def _unscored(told: Measures) -> str:
    """How much of a figure is not there: beside it, since whoever fails on hard tasks alone would look better."""
    return f" ({told.unscored} of {told.episodes} unscored)" if told.unscored else ""


def _graded(score: Score) -> bool:
    """Whether returns tell more than success does."""
    return any(one.episode.scored and one.episode.ret not in (0.0, 1.0) for one in score.episodes)


def _line(cells: tuple[str, ...]) -> str:
    return "| " + " | ".join(map(_escaped, cells)) + " |"


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace("|", "\\|").replace("<", "&lt;").replace("\n", " ")
