"""What a reader of an evaluation must be told before the figures are believed."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from metagym.runs.evals_results import EvalResults, Score

SCRIPTED = "Scripted stand-ins: this shows that the evaluation works, not what a language model can do."
_SHOWN = 3


def eval_notices(results: EvalResults) -> tuple[str, ...]:
    """The warnings of an evaluation, most important first; each is one sentence or two."""
    scores = [score for score in results.scores if score.episodes]
    return (
        *_models(scores),
        *_progress(results),
        *_left_out(results),
        *_training(results),
        *_unscored(scores),
        *_replies(scores),
        *_prompts(results),
        *_sampling(results),
        *_notes(results),
        *_retries(results),
    )


def _models(scores: list[Score]) -> list[str]:
    kinds = {score.entrant.name: set(score.measures.backends) for score in scores}
    flat = set().union(*kinds.values()) if kinds else set()
    found = []
    if flat == {"scripted"}:
        found.append(SCRIPTED)
    elif len(flat) > 1:
        told = "; ".join(f"{name}: {' and '.join(sorted(own))}" for name, own in kinds.items())
        found.append(f"Different kinds of model ({told}): figures of stand-ins say nothing of language models.")
    if any(score.measures.usage.estimated for score in scores):
        found.append("A server reported no token counts: they are estimated as characters / 4.")
    return found


def _progress(results: EvalResults) -> list[str]:
    lacking = [score for score in results.scores if score.measures.missing]
    if results.ended and not lacking:
        return []
    told = [f"{s.entrant.name} on {s.benchmark.name}: {s.measures.missing} episodes missing" for s in lacking]
    more = f"; and {len(told) - _SHOWN} more" if len(told) > _SHOWN else ""
    what = "Records are missing although the run ended" if results.ended else "The run has not ended"
    return [f"{what} ({'; '.join(told[:_SHOWN])}{more}): figures are of what is there."]


def _left_out(results: EvalResults) -> list[str]:
    by_reason: dict[str, list[str]] = {}
    for name, reason in results.left_out.items():
        by_reason.setdefault(reason, []).append(name)
    return [f"Left out: {', '.join(names)}: {reason}" for reason, names in by_reason.items()]


def _training(results: EvalResults) -> list[str]:
    checked = results.manifest.get("training") or []
    if checked:
        told = ", ".join(str(one["name"]) for one in checked)
        return [f"No test task stands in the training data that was named: {told}."]
    return ["Nobody said what the models were trained on (--train), so test tasks may stand in it."]


def _unscored(scores: list[Score]) -> list[str]:
    found = []
    for score in scores:
        told = score.measures
        if told.unscored:
            causes = list(told.causes.items())
            named = "; ".join(f"{count} x {cause}" for cause, count in causes[:_SHOWN])
            more = f"; and {len(causes) - _SHOWN} other causes" if len(causes) > _SHOWN else ""
            found.append(
                f"Unscored: {told.unscored} of {told.episodes} episodes of {score.entrant.name} on "
                f"{score.benchmark.name} enter no figure ({named}{more}). Had they been lost, avg@k would be "
                f"{told.at_worst:.3f} and not {told.avg.point(3)}."
            )
    return found


def _replies(scores: list[Score]) -> list[str]:
    cut = [(s, s.measures.cut) for s in scores if s.measures.cut]
    absent = [(s, s.measures.absent) for s in scores if s.measures.absent]
    found = []
    if cut:
        told = ", ".join(f"{s.entrant.name} on {s.benchmark.name}: {count}" for s, count in cut)
        found.append(f"Answers cut by length count as they are: {told}.")
    if absent:
        told = ", ".join(f"{s.entrant.name} on {s.benchmark.name}: {count}" for s, count in absent)
        found.append(f"Model calls without an answer: {told}.")
    return found


def _prompts(results: EvalResults) -> list[str]:
    own = [entrant for entrant in results.entrants if entrant.prompt is not None]
    if not own:
        return []
    told = ", ".join(f"{one.name} ({one.source or 'given'})" for one in own)
    return [f"System prompts other than the families' own: {told}."]


def _sampling(results: EvalResults) -> list[str]:
    """Models of one run whose specs fix other settings than the benchmark's."""
    found = []
    for benchmark in results.benchmarks:
        own = {
            e.name: results.manifest["cards"][e.name][benchmark.name]["sampling"]
            for e in results.entrants
            if e.plays(benchmark)
        }
        odd = {name: told for name, told in own.items() if told is not None and told != benchmark.sampling.to_json()}
        for name, told in odd.items():
            differing = ", ".join(f"{k}={v}" for k, v in told.items() if v != benchmark.sampling.to_json()[k])
            found.append(f"{name} on {benchmark.name} samples as its spec says, not as the benchmark: {differing}.")
    return found[:_SHOWN] + ([f"... and {len(found) - _SHOWN} more of this kind."] if len(found) > _SHOWN else [])


def _notes(results: EvalResults) -> list[str]:
    told = [*(results.manifest.get("notes") or []), *(note for one in results.benchmarks for note in one.notes)]
    return list(dict.fromkeys(map(str, told)))


def _retries(results: EvalResults) -> list[str]:
    if not results.retries:
        return []
    return [f"Retries: {results.retries} requests to models had to be made again (rate limits or server trouble)."]
