"""Reads the run folder of ``metagym eval``: figures and episodes of each model on each benchmark.

    results = load_evals("runs/eval-reasoning-0")
    results.entrants, results.benchmarks           # rows and columns of the table, in order
    score = results.score("base", "aime25")        # a Score; raises UnknownName for other names
    score.measures.avg                             # an Estimate: avg@k with its interval; see `Measures`
    score.episodes                                 # (Sample, ...): sample number, key of the record, Episode
    score.card                                     # what must be equal for a comparison
    score.missing                                  # (task key, sample) without a record
    results.notices                                # what a reader must be told first
    paired(score_a, score_b)                       # a Contrast, or BadInput that names the differing field

Figures are computed when they are asked for, and kept. Nothing is averaged over silently: episodes without a record are
`missing`, failed ones `unscored`, both counted in `Measures`; a record that does not fit its card, its tasks or its key
is refused by name. A folder that is being written to may be read.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

from metagym.episodes import Episode
from metagym.errors import BadInput, RunError, StoreCorrupt, UnknownName
from metagym.evaluation.benchmarks import Benchmark
from metagym.evaluation.measures import Measures, measure, task_scores
from metagym.evaluation.pairs import Contrast, contrast
from metagym.evaluation.run import Entrant, sample_seed
from metagym.evaluation.tasks import tasks_digest
from metagym.evaluation.writing import split_key
from metagym.runs.evals_plan import COMMAND, Plan, read_plan
from metagym.runs.folder import RunFolder
from metagym.tasks import Task


@dataclass(frozen=True)
class Sample:
    """One episode and which one it is.

    Attributes:
        number: Number of the sample of its task, from 0.
        key: Key of its record.
        episode: What was played.
    """

    number: int
    key: str
    episode: Episode


@dataclass(frozen=True)
class Score:
    """One entrant on one benchmark.

    Attributes:
        run: Name of the run folder.
        entrant: Who was measured.
        benchmark: On what.
        card: What must be equal for a comparison (JSON), see `metagym.evaluation.card`.
        tasks: Every task of the benchmark, played or not.
        episodes: The episodes that have a record, in the order of the tasks.
        release: MetaGym's version that played.
    """

    run: str
    entrant: Entrant
    benchmark: Benchmark
    card: Mapping[str, Any]
    tasks: tuple[Task, ...]
    episodes: tuple[Sample, ...]
    release: str = ""

    @property
    def played(self) -> bool:
        """Whether the entrant plays the benchmark at all."""
        return self.entrant.plays(self.benchmark)

    @property
    def name(self) -> str:
        """How messages call it: run, entrant and benchmark."""
        return f"{self.run}: {self.entrant.name} on {self.benchmark.name}"

    @cached_property
    def measures(self) -> Measures:
        """The figures."""
        found = measure(self.tasks, self.benchmark.samples, [one.episode for one in self.episodes])
        # A run that was killed at its very start may lack the list of tasks; how many they are stands in the card.
        return replace(found, tasks=int(self.card["tasks"]), missing=len(self.missing))

    @cached_property
    def by_task(self) -> dict[str, float | None]:
        """Task key to the share of its scored samples that succeeded; None where none was scored."""
        return task_scores(one.episode for one in self.episodes)

    @cached_property
    def missing(self) -> tuple[tuple[str, int], ...]:
        """Task key and sample of every episode without a record; the key is "" where the list of tasks is not there."""
        if not self.tasks:
            return tuple(("", number) for number in range(int(self.card["tasks"]) * self.benchmark.samples))
        there = {(one.episode.task.key, one.number) for one in self.episodes}
        wanted = ((task.key, number) for task in self.tasks for number in range(self.benchmark.samples))
        return tuple(pair for pair in wanted if pair not in there)


@dataclass(frozen=True)
class EvalResults:
    """Everything that the run folder of an evaluation says.

    Attributes:
        name: Name of the folder.
        manifest: What was run.
        ended: Whether the run came to its end.
        seconds: Wall-clock seconds by key, where they were kept.
        retries: Model requests that had to be made again.
    """

    name: str
    manifest: Mapping[str, Any]
    ended: bool
    seconds: Mapping[str, float] = field(default_factory=dict)
    retries: int = 0
    _tasks: Mapping[str, tuple[Task, ...]] = field(default_factory=dict)
    _played: Mapping[tuple[str, str], Mapping[tuple[str, int], Sample]] = field(default_factory=dict)
    _scores: dict[tuple[str, str], Score] = field(default_factory=dict, compare=False)

    @property
    def suite(self) -> str:
        """Name of the suite."""
        return str(self.manifest["suite"])

    @property
    def title(self) -> str:
        """Title of the suite."""
        return str(self.manifest.get("title") or self.suite)

    @cached_property
    def entrants(self) -> tuple[Entrant, ...]:
        """Who was measured, in order."""
        return tuple(Entrant(**one) for one in self.manifest["entrants"].values())

    @cached_property
    def benchmarks(self) -> tuple[Benchmark, ...]:
        """On what, in order."""
        return tuple(Benchmark.from_json(one) for one in self.manifest["benchmarks"].values())

    @property
    def left_out(self) -> dict[str, str]:
        """Benchmarks of the suite that were not played, with the reason."""
        return dict(self.manifest.get("left_out") or {})

    @property
    def scores(self) -> tuple[Score, ...]:
        """Every entrant on every benchmark that it plays, entrant by entrant."""
        return tuple(self.score(e.name, one.name) for e in self.entrants for one in self.benchmarks if e.plays(one))

    def score(self, entrant: str, benchmark: str) -> Score:
        """One entrant on one benchmark; without any episode yet, everything is `missing`.

        On a benchmark that it does not play (`Score.played`) it has no task, no figure, and nothing is missing.

        Raises:
            UnknownName: There is no such entrant or benchmark; the message lists those that are there.
        """
        if (entrant, benchmark) not in self._scores:
            who = _named(self.entrants, entrant, "model", self.name)
            what = _named(self.benchmarks, benchmark, "benchmark", self.name)
            tasks = self._tasks.get(benchmark, ()) if who.plays(what) else ()
            played = self._played.get((entrant, benchmark), {})
            order = [(task.key, number) for task in tasks for number in range(what.samples)]
            episodes = tuple(played[pair] for pair in order if pair in played)
            card = self.manifest["cards"][entrant][benchmark] if who.plays(what) else {"tasks": 0}
            self._scores[entrant, benchmark] = Score(
                self.name, who, what, card, tasks, episodes, str(self.manifest.get("metagym"))
            )
        return self._scores[entrant, benchmark]

    @cached_property
    def notices(self) -> tuple[str, ...]:
        """What a reader must be told before the figures are believed, most important first."""
        from metagym.runs.evals_notices import eval_notices

        return eval_notices(self)


def is_eval(manifest: Mapping[str, Any]) -> bool:
    """Whether a manifest is of ``metagym eval``."""
    return manifest.get("command") == COMMAND


def load_evals(run: RunFolder | str | os.PathLike[str]) -> EvalResults:
    """Reads the run folder of an evaluation.

    Raises:
        RunError: It is none.
        StoreCorrupt: A record is damaged, or does not fit its key, its card or the benchmark's tasks; the message names
            it.
        StoreError: It cannot be read.
    """
    if isinstance(run, RunFolder):
        return _load(run)
    with RunFolder.open(run) as folder:
        return _load(folder)


def paired(a: Score, b: Score, seed: int = 0) -> Contrast:
    """Two results on one benchmark, compared task by task; the difference is b - a.

    Raises:
        BadInput: They are not alike (the message names the differing field), or one of them is not complete.
    """
    found = contrast(
        a.name, a.card, [one.episode for one in a.episodes], len(a.missing),
        b.name, b.card, [one.episode for one in b.episodes], len(b.missing),
        seed,
    )  # fmt: skip
    if a.release == b.release:
        return found
    note = f"Played by MetaGym {a.release} and {b.release}, whose families may differ."
    return replace(found, notes=(note, *found.notes))


def _named(things: Any, name: str, what: str, where: str) -> Any:
    for thing in things:
        if thing.name == name:
            return thing
    raise UnknownName(f"{where} has no {what} {name!r}; it has {', '.join(thing.name for thing in things)}")


def _load(folder: RunFolder) -> EvalResults:
    manifest, records = folder.manifest, folder.records
    if not is_eval(manifest):
        raise RunError(f"{folder.path} is a run of {manifest.get('command', 'something else')!r}, not of 'eval'")
    try:
        plan = read_plan(manifest)
    except BadInput as error:
        raise RunError(f"{folder.path}: the manifest is none of an evaluation: {error}") from error
    tasks: dict[str, tuple[Task, ...]] = {}
    keys: dict[str, set[str]] = {}
    played: dict[tuple[str, str], dict[tuple[str, int], Sample]] = {}
    ended = False
    for key, value in records.records():
        try:
            kind = value.get("kind")
            if kind == "tasks":
                tasks[value["benchmark"]] = _tasks(value, plan)
                keys[value["benchmark"]] = {task.key for task in tasks[value["benchmark"]]}
            elif kind == "episode":
                entrant, benchmark, one = _sample(key, value, plan, keys)
                played.setdefault((entrant, benchmark), {})[one.episode.task.key, one.number] = one
            elif kind == "end":
                ended = True
        except (AttributeError, KeyError, TypeError, BadInput) as error:
            reason = str(error) if isinstance(error, BadInput) else repr(error)
            raise StoreCorrupt(f"{records.path}: record {key!r} does not belong to this run: {reason}") from error
    aside = {} if folder.timing is None else dict(folder.timing.records())
    seconds = {key: value for key, value in aside.items() if isinstance(value, (int, float))}
    retries = sum(value.get("retries", 0) for value in aside.values() if isinstance(value, dict))
    return EvalResults(folder.path.resolve().name, manifest, ended, seconds, retries, tasks, played)


def _tasks(value: Mapping[str, Any], plan: Plan) -> tuple[Task, ...]:
    found = tuple(Task.from_json(one) for one in value["tasks"])
    if tasks_digest(found) != plan.tasks[value["benchmark"]]:
        raise BadInput(f"its tasks are others than those of the card of {value['benchmark']} in the manifest")
    return found


def _sample(key: str, value: Mapping[str, Any], plan: Plan, keys: Mapping[str, set[str]]) -> tuple[str, str, Sample]:
    place = split_key(key)
    entrant, benchmark, number = value["entrant"], value["benchmark"], value["sample"]
    episode = Episode.from_json(value["episode"])
    if place != (entrant, benchmark, episode.task.key, number):
        raise BadInput("its key names another episode than the record holds")
    if (entrant, benchmark) not in plan.cards:
        raise BadInput(f"the manifest has no card of {entrant} on {benchmark}")
    if value["card"] != plan.cards[entrant, benchmark]:
        raise BadInput(f"it was played under another card than the manifest's for {entrant} on {benchmark}")
    if episode.task.key not in keys.get(benchmark, set()) or not 0 <= number < plan.samples[benchmark]:
        raise BadInput(f"task {episode.task.key}, sample {number}, is none of benchmark {benchmark}")
    if episode.seed != sample_seed(plan.seed, episode.task, number):
        raise BadInput(f"it was sampled under another seed of a run than the manifest's, which is {plan.seed}")
    if episode.backend not in plan.backends[entrant]:
        raise BadInput(f"a model of kind {episode.backend!r} played it, and {entrant} is none")
    return entrant, benchmark, Sample(number, key, episode)
