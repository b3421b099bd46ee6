"""Evaluations in run folders: what ``metagym eval`` does, for code as well.

A folder holds the manifest (suite, benchmarks, entrants, a card of every pair of them), the records of every episode,
and every reply that was paid for. A killed run is resumed by doing it again: what has a record is read, what has a paid
reply is not asked again, the rest is played.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from metagym.chat import aclose, load
from metagym.chat.accounts import Budget
from metagym.checks import mapping, settle, whole
from metagym.errors import BadInput, BrokenExtra, MetaGymError, MissingExtra
from metagym.evaluation.benchmarks import Suite, load_suite
from metagym.evaluation.card import card_of
from metagym.evaluation.contamination import Training, refuse_contaminated
from metagym.evaluation.presets import under
from metagym.evaluation.run import BATCH, Entrant, Progress, RunSettings, evaluate, pairings
from metagym.evaluation.tasks import Prepared, prepare, repeated
from metagym.playing.hosts import make_pool
from metagym.runs.evals_plan import COMMAND
from metagym.runs.evals_train import read_training
from metagym.runs.folder import base_manifest
from metagym.runs.opening import Layers, check_mode, open_folder


@dataclass(frozen=True)
class EvalConfig:
    """What is evaluated.

    Attributes:
        suite: Name of a registered suite, or a `Suite`.
        entrants: Who is measured.
        options: Options of the suite.
        preset: Name of a preset; None takes the suite's, "none" none at all.
        only: Names of benchmarks; None takes all.
        samples: Episodes per task; None takes the preset's.
        limit: At most so many tasks of each benchmark; None takes all.
        max_tokens: Longest reply; None takes the preset's.
        temperature: None takes the preset's.
        settings: See `metagym.evaluation.run.RunSettings`.
        training: Folders and files that tell what the models were trained on.
    """

    suite: str | Suite
    entrants: tuple[Entrant, ...]
    options: Mapping[str, Any] = field(default_factory=dict)
    preset: str | None = None
    only: tuple[str, ...] | None = None
    samples: int | None = None
    limit: int | None = None
    max_tokens: int | None = None
    temperature: float | None = None
    settings: RunSettings = RunSettings()
    training: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        """Checks what needs no suite."""
        object.__setattr__(self, "entrants", tuple(self.entrants))
        object.__setattr__(self, "options", mapping("the options of a suite", self.options))
        if not self.entrants:
            raise BadInput("an evaluation needs at least one model (--model SPEC)")
        names = [entrant.name for entrant in self.entrants]
        for name in names:
            if names.count(name) > 1:
                raise BadInput(f"two models are called {name!r}: name them, as in --model base=SPEC")
        settle(self, "samples", whole, 1, none=True)
        settle(self, "limit", whole, 1, none=True)

    def built(self) -> Suite:
        """The suite under preset and settings.

        Raises:
            UnknownName: There is no such suite, preset or benchmark.
            BadInput: An option or a setting is not usable, or nothing is left to play.
        """
        suite = self.suite
        if isinstance(suite, str):
            suite = load_suite(suite, self.entrants, **self.options)
        suite = suite if self.only is None else suite.only(self.only)
        suite = under(suite, suite.preset if self.preset is None else self.preset)
        own = {"samples": self.samples, "limit": self.limit}
        changes: dict[str, Any] = {name: value for name, value in own.items() if value is not None}
        sampled = {"max_tokens": self.max_tokens, "temperature": self.temperature}
        cut: dict[str, Any] = {name: value for name, value in sampled.items() if value is not None}
        return replace(
            suite,
            benchmarks=tuple(replace(b, sampling=replace(b.sampling, **cut), **changes) for b in suite.benchmarks),
        )


def prepare_suite(suite: Suite) -> tuple[list[Prepared], dict[str, str]]:
    """The benchmarks of a suite with their tasks, and those that are left out, with the reason.

    Raises:
        BadInput, ...: A benchmark is not usable; one whose extra is missing is left out instead.
        MissingExtra: The extras of all of them are missing.
    """
    prepared: list[Prepared] = []
    left_out = dict(suite.left_out)
    missing: MetaGymError | None = None
    for benchmark in suite.benchmarks:
        try:
            prepared.append(prepare(benchmark))
        except (MissingExtra, BrokenExtra) as error:
            missing = error
            left_out[benchmark.name] = str(error)
    if not prepared:
        if missing is not None:
            raise missing
        told = "; ".join(f"{name}: {reason}" for name, reason in left_out.items())
        raise BadInput(f"suite {suite.name} has nothing to play here: {told}")
    return prepared, left_out


async def run_eval(
    config: EvalConfig,
    path: str | os.PathLike[str],
    *,
    resume: bool = False,
    overwrite: bool = False,
    cache_mode: str = "write",
    budget: Budget | None = None,
    hosts: Any = None,
    concurrency: int | None = 64,
    batch: int = BATCH,
    on_open: Callable[[int], None] = lambda episodes: None,
    on_progress: Callable[[Progress], None] = lambda progress: None,
) -> Path:
    """Evaluates models in a run folder.

    Args:
        config: Everything that decides the records.
        path: The run folder.
        resume: Go on with the run that is there; its settings must be the same.
        overwrite: Throw away the run that is there.
        cache_mode: What the folder's reply cache does: ``write``, ``read``, ``replay-only`` or ``off``.
        budget: Hard limits of calls, tokens and money; a resumed run counts what it has paid already.
        hosts: Where environments live, see `metagym.play`. Does not change the records.
        concurrency: Episodes at a time; does not change the records.
        batch: Episodes held in memory; does not change the records.
        on_open: Called with the number of episodes when the run folder is this process's to write.
        on_progress: Told of everything that comes in.

    Returns:
        The folder.

    Raises:
        BadInput: A setting is not usable, or test tasks stand in training data.
        RunError: The folder is in use, or its settings differ.
        BudgetExceeded, TooManyFailures, ...: The run stopped; what was played and paid is on disk.
    """
    mode = check_mode(cache_mode)
    suite = config.built()
    prepared, left_out = prepare_suite(suite)
    training = [read_training(where) for where in config.training]
    refuse_contaminated(prepared, training)
    models = await _models(config.entrants, prepared)
    for one in prepared:
        pool, ours = make_pool(hosts, one.family, config.settings.env_deadline)  # an unusable setting fails here
        if ours:
            await pool.close()
    manifest = _manifest(config, suite, prepared, left_out, training, models)
    with open_folder(Path(path), manifest, resume, overwrite, mode) as folder:
        on_open(sum(len(one.pairs) for _, own in pairings(config.entrants, prepared) for one in own))
        layers = Layers(folder, mode, budget)

        def told(progress: Progress) -> None:
            if progress.seconds:
                folder.note_seconds(progress.key, progress.seconds)
            on_progress(progress)

        try:
            await evaluate(
                config.entrants,
                prepared,
                config.settings,
                folder.records,
                hosts=hosts,
                concurrency=concurrency,
                batch=batch,
                layers=layers.options,
                on_progress=told,
            )
        finally:
            await layers.close()
        return folder.path


def run_eval_sync(config: EvalConfig, path: str | os.PathLike[str], **options: Any) -> Path:
    """The ordinary twin of `run_eval`."""
    return asyncio.run(run_eval(config, path, **options))


async def _models(entrants: Sequence[Entrant], prepared: Sequence[Prepared]) -> dict[str, dict[str, Any]]:
    """Id and kind of each entrant's models; a spec that cannot be loaded fails before a folder is made."""
    found: dict[str, dict[str, Any]] = {}
    for entrant, benchmarks in pairings(entrants, prepared):
        kinds = set()
        for one in benchmarks:
            model = load(entrant.model, seat="actor", family=one.family)
            kinds.add((model.id, model.backend))
            await aclose(model)
        ids, backends = ({pair[at] for pair in kinds} for at in (0, 1))
        found[entrant.name] = {"id": " | ".join(sorted(ids)), "backend": " | ".join(sorted(backends))}
    return found


def _repeated(prepared: Sequence[Prepared]) -> list[str]:
    """Notes on benchmarks that hold a task twice, as a file with equal rows does."""
    return [
        f"{count} of the {len(one.tasks)} tasks of {one.benchmark.name} are the same as an earlier one; each counts."
        for one in prepared
        if (count := repeated(one))
    ]


def _manifest(
    config: EvalConfig,
    suite: Suite,
    prepared: Sequence[Prepared],
    left_out: Mapping[str, str],
    training: Sequence[Training],
    models: Mapping[str, Any],
) -> dict[str, Any]:
    """What decides the records, and what must be equal for a comparison."""
    settings = config.settings
    return {
        **base_manifest(),
        "command": COMMAND,
        "suite": suite.name,
        "title": suite.title,
        "preset": suite.preset or "none",
        "notes": [*suite.notes, *_repeated(prepared)],
        "entrants": {entrant.name: entrant.to_json() for entrant in config.entrants},
        "benchmarks": {one.benchmark.name: one.benchmark.to_json() for one in prepared},
        "order": [[e.name for e in config.entrants], [one.benchmark.name for one in prepared]],  # of the records
        "left_out": dict(left_out),
        "cards": {
            entrant.name: {one.benchmark.name: card_of(one, entrant.model, settings.clean) for one in own}
            for entrant, own in pairings(config.entrants, prepared)
        },
        "config": {
            "seed": settings.seed,
            "max_failures": settings.max_failures,
            "clean": settings.clean,
            "model_deadline": settings.model_deadline,
            "env_deadline": settings.env_deadline,
        },
        "training": [
            {"name": Path(t.name).name, "tasks": len(t.tasks) + len(t.keys), "questions": len(t.digests) + len(t.texts)}
            for t in training
        ],
        "versions": {"models": dict(models)},
    }
