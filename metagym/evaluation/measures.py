"""What is told of a model's episodes on a benchmark: avg@k, pass@k, maj@k, further scores, and what is missing.

Tasks count alike, whatever the number of their scored samples. An episode that was not scored enters no figure: its
task's figures are made of the samples that were, and the number of those that were not stands beside every figure.

Sources: pass@k without bias: Chen et al. (2021), "Evaluating Large Language Models Trained on Code" (arXiv 2107.03374),
equation 1. maj@k: Wang et al. (2023), "Self-Consistency Improves Chain of Thought Reasoning" (arXiv 2203.11171).
"""

from __future__ import annotations

import json
import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from metagym import stats
from metagym.episodes import Episode, Status, Usage
from metagym.errors import BadInput
from metagym.stats import Estimate
from metagym.tasks import Task


def pass_at_k(n: int, right: int, k: int) -> float:
    """The chance that at least one of k samples, drawn without replacement from n, is right: 1 - C(n - c, k) / C(n, k).

    Args:
        n: Samples, >= k.
        right: Right ones among them, the c of the formula.
        k: >= 1.

    Raises:
        BadInput: The numbers are out of range.
    """
    if not (1 <= k <= n and 0 <= right <= n):
        raise BadInput(f"pass@k needs 1 <= k <= n and 0 <= right <= n, got n={n}, right={right}, k={k}")
    return 1.0 - math.comb(n - right, k) / math.comb(n, k)


def majority(votes: Sequence[tuple[Any, bool]]) -> float | None:
    """Whether the most frequent answer is right, as an expectation.

    Between answers that are equally frequent a fair lot decides, so the value is their mean, and no order of the
    samples can favour one.

    Args:
        votes: Per sample the answer in the form in which answers are counted, None where it gave none, and whether it
            was scored as right. A sample without an answer does not vote. Samples of equal answers that were scored
            differently (a judge may do that) count by their mean.

    Returns:
        In [0, 1]; 0.0 where no sample gave an answer; None without any sample.
    """
    if not votes:
        return None
    groups: defaultdict[str, list[bool]] = defaultdict(list)
    for answer, right in votes:
        if answer is not None and answer != "":
            groups[json.dumps(answer, sort_keys=True)].append(right)
    if not groups:
        return 0.0
    most = max(map(len, groups.values()))
    tied = [sum(group) / len(group) for group in groups.values() if len(group) == most]
    return math.fsum(tied) / len(tied)


@dataclass(frozen=True)
class Measures:
    """The figures of one model on one benchmark.

    Attributes:
        tasks: Tasks of the benchmark.
        samples: Episodes per task that were asked for, the k of avg@k.
        episodes: Episodes that have a record.
        missing: Episodes that have none: the run is not finished, or a record was lost.
        unscored: Episodes that failed or whose success is not known; they enter no figure.
        causes: Cause to count, of those.
        avg: avg@k: the mean over tasks of the share of their scored samples that succeeded.
        at_worst: What avg@k would be, had every unscored episode been lost; None where none is unscored. A server that
            fails on hard tasks alone flatters a model by no more than the difference.
        pass_at: k to pass@k, for k = 1, 2, 4, ... and the number of samples. Tasks with fewer scored samples than k are
            left out of it and counted as its `unscored`.
        maj: maj@k over all scored samples of a task; None where no episode has a final answer.
        returns: Mean return, e.g. a partial score.
        scores: Further measures of the episodes, by name: means over tasks.
        by_type: avg@k by task type.
        truncated: Episodes that were cut (step cap, environment's limit, context).
        cut: Model calls without an answer because it was too long.
        absent: Model calls without an answer for other reasons.
        backends: Kinds of model that played: scripted, local, server.
        usage: Calls, tokens and cost.
    """

    tasks: int
    samples: int
    episodes: int
    missing: int
    unscored: int
    causes: Mapping[str, int]
    avg: Estimate
    pass_at: Mapping[int, Estimate]
    maj: Estimate | None
    returns: Estimate
    scores: Mapping[str, Estimate] = field(default_factory=dict)
    by_type: Mapping[str, Estimate] = field(default_factory=dict)
    truncated: int = 0
    cut: int = 0
    absent: int = 0
    backends: tuple[str, ...] = ()
    usage: Usage = Usage()
    at_worst: float | None = None

    @property
    def complete(self) -> bool:
        """Whether every episode has a record."""
        return not self.missing

    def to_json(self) -> dict[str, Any]:
        """The figures as a JSON object."""
        return {
            "tasks": self.tasks,
            "samples": self.samples,
            "episodes": self.episodes,
            "missing": self.missing,
            "unscored": self.unscored,
            "causes": dict(self.causes),
            "avg": self.avg.to_json(),
            "at_worst": self.at_worst,
            "pass": {str(k): estimate.to_json() for k, estimate in self.pass_at.items()},
            "maj": None if self.maj is None else self.maj.to_json(),
            "returns": self.returns.to_json(),
            "scores": {name: estimate.to_json() for name, estimate in self.scores.items()},
            "by_type": {name: estimate.to_json() for name, estimate in self.by_type.items()},
            "truncated": self.truncated,
            "cut": self.cut,
            "absent": self.absent,
            "backends": list(self.backends),
            "usage": self.usage.to_json(),
        }


def measure(tasks: Sequence[Task], samples: int, episodes: Iterable[Episode], seed: int = 0) -> Measures:
    """The figures of episodes.

    Args:
        tasks: All tasks of the benchmark, played or not.
        samples: Episodes per task that were asked for.
        episodes: What was played, in any order; of no other task.
        seed: Decides the bootstrap's resampling.

    Raises:
        BadInput: An episode is of another task, or a task has more than `samples`.
    """
    own: dict[str, list[Episode]] = {task.key: [] for task in tasks}
    for episode in episodes:
        if episode.task.key not in own:
            raise BadInput(f"episode of task {episode.task.key}, which is not of this benchmark")
        own[episode.task.key].append(episode)
    for key, group in own.items():
        if len(group) > samples:
            raise BadInput(f"task {key} has {len(group)} episodes, and {samples} were asked for")
    played = [episode for group in own.values() for episode in group]
    known = {key: [e for e in group if _known(e)] for key, group in own.items()}
    lost = [episode for episode in played if not _known(episode)]
    right = [[bool(e.success) for e in known[key]] for key, group in own.items() if group]
    by_type: defaultdict[str, list[Episode]] = defaultdict(list)
    for episode in played:
        by_type[episode.task.type].append(episode)
    turns = [turn.absence for episode in played for turn in episode.turns if turn.absence]
    return Measures(
        tasks=len(own),
        samples=samples,
        episodes=len(played),
        missing=len(own) * samples - len(played),
        unscored=len(lost),
        causes=dict(Counter(map(cause_of, lost)).most_common()),
        avg=_success(played, seed),
        pass_at={k: _pass_at(right, k, seed) for k in ladder(samples)},
        maj=_maj(known, seed),
        returns=stats.return_estimate(played, seed),
        scores=_scores(known, seed),
        by_type={name: _success(group, seed) for name, group in by_type.items()} if len(by_type) > 1 else {},
        truncated=sum(episode.truncated for episode in played),
        cut=turns.count("length"),
        absent=len(turns) - turns.count("length"),
        backends=tuple(sorted({episode.backend for episode in played})),
        usage=Usage.total(episode.usage for episode in played),
        at_worst=at_worst(played) if lost else None,
    )


def ladder(samples: int) -> list[int]:
    """The k of pass@k: 1, 2, 4, ... below the number of samples, and that number."""
    steps = []
    k = 1
    while k < samples:
        steps.append(k)
        k *= 2
    return [*steps, samples]


def cause_of(episode: Episode) -> str:
    """Why an episode is not scored, in a line."""
    if episode.scored:
        return "success not known"
    line = (episode.cause.strip().splitlines() or [""])[0]
    return f"{episode.status.value}: {line[:160]}" if line else episode.status.value


def at_worst(episodes: Iterable[Episode]) -> float | None:
    """avg@k with every unscored episode counted as lost; None without any episode."""
    shares = stats.task_means((e.task.key, bool(e.success) and _known(e)) for e in episodes).values()
    return math.fsum(share or 0.0 for share in shares) / len(shares) if shares else None


def task_scores(episodes: Iterable[Episode]) -> dict[str, float | None]:
    """Task key to the share of its scored samples that succeeded; None where none was scored. What is paired."""
    return stats.task_means((e.task.key, bool(e.success) if _known(e) else None) for e in episodes)


def _known(episode: Episode) -> bool:
    return episode.status in (Status.OK, Status.TRUNCATED) and episode.scored and episode.success is not None


def _success(episodes: Sequence[Episode], seed: int) -> Estimate:
    return stats.success_estimate(episodes, seed)


def _over_tasks(values: Sequence[float | None], seed: int) -> Estimate:
    """A mean over tasks of values: Wilson's interval where all are 0 or 1, else the bootstrap's."""
    known = [value for value in values if value is not None]
    if known and all(value in (0.0, 1.0) for value in known):
        return stats.rate(None if value is None else value == 1.0 for value in values)
    return stats.mean(values, seed)


def _pass_at(right: Iterable[Sequence[bool]], k: int, seed: int) -> Estimate:
    return _over_tasks([pass_at_k(len(g), sum(g), k) if len(g) >= k else None for g in right], seed)


def _maj(known: Mapping[str, Sequence[Episode]], seed: int) -> Estimate | None:
    if not any(e.info.get("final_answer") is not None for group in known.values() for e in group):
        return None  # a benchmark without final answers, as of programs, or a model that gave none at all
    votes = [[(e.info.get("final_answer"), bool(e.success)) for e in group] for group in known.values() if group]
    return _over_tasks([majority(group) for group in votes], seed)


def _scores(known: Mapping[str, Sequence[Episode]], seed: int) -> dict[str, Estimate]:
    told = [(key, e.info["scores"]) for key, group in known.items() for e in group if _is_scores(e.info.get("scores"))]
    names = dict.fromkeys(name for _, scores in told for name in scores)
    return {name: _score([(key, _number(scores.get(name))) for key, scores in told], seed) for name in names}


def _score(values: Sequence[tuple[str, float | None]], seed: int) -> Estimate:
    found = _over_tasks(list(stats.task_means(values).values()), seed)
    left_out = sum(value is None for _, value in values)
    return Estimate(found.value, found.low, found.high, found.n, left_out, found.method)


def _is_scores(value: Any) -> bool:
    return isinstance(value, Mapping)


def _number(value: Any) -> float | None:
    return float(value) if isinstance(value, (int, float)) and math.isfinite(value) else None
