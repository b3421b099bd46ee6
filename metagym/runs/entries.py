"""What the papers' tables are made of: one system on one benchmark, read from the run folder of any evaluation.

Folders of ``metagym eval`` hold a system per model, those of ``metagym ict eval`` one per arm (prompt or reflector),
those of ``metagym sesa eval`` one per deployment, with a benchmark for each set of questions.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from metagym.episodes import Episode
from metagym.errors import RunError
from metagym.evaluation.tasks import tasks_digest
from metagym.runs.compare import LIKE, at_path
from metagym.runs.evals_plan import COMMAND as EVAL_COMMAND
from metagym.runs.evals_results import load_evals
from metagym.runs.folder import RunFolder
from metagym.runs.results import EVAL, load_results
from metagym.tasks import Task


@dataclass(frozen=True)
class Entry:
    """One system on one benchmark, in one run.

    Attributes:
        run: Name of the run folder.
        system: Name of the model, arm or deployment.
        identity: What the system is (JSON): two systems of one name with different identities get rows of their own.
        seed: Seed of the run: runs of other seeds are further samples of the same tasks.
        benchmark: Name of the benchmark.
        title: As tables call it.
        suite: The suite or system that it belongs to.
        card: What must be equal for a comparison.
        samples: Episodes per task.
        tasks: All tasks, played or not.
        episodes: What has a record.
        missing: Episodes that have none.
        notes: What a reader of the run's figures must know.
        release: MetaGym's version that played.
    """

    run: str
    system: str
    identity: Mapping[str, Any]
    seed: int
    benchmark: str
    title: str
    suite: str
    card: Mapping[str, Any]
    samples: int
    tasks: tuple[Task, ...]
    episodes: tuple[Episode, ...]
    missing: int
    notes: tuple[str, ...] = ()
    release: str = ""

    @property
    def name(self) -> str:
        """How messages call it."""
        return f"{self.run}: {self.system} on {self.benchmark}"


def kind_of(run: str | os.PathLike[str]) -> str | None:
    """Which evaluation a folder holds, e.g. ``"eval"``; None for another kind of run.

    Raises:
        RunError: It is no run folder.
        StoreError: It cannot be read.
    """
    command = command_of(run)
    return command if command in _READERS else None


def command_of(run: str | os.PathLike[str]) -> str:
    """What made a folder, e.g. ``"ict run"``.

    Raises:
        RunError: It is no run folder.
        StoreError: It cannot be read.
    """
    with RunFolder.open(run) as folder:
        return str(folder.manifest.get("command"))


def read_entries(run: str | os.PathLike[str]) -> list[Entry]:
    """Everything that an evaluation measured, system by system.

    Raises:
        RunError: The folder is none of an evaluation; the message tells what it holds.
        StoreCorrupt: A record is damaged or does not belong to the run.
        StoreError: It cannot be read.
    """
    with RunFolder.open(run) as folder:
        command = folder.manifest.get("command")
        reader = _READERS.get(str(command))
        if reader is None:
            raise RunError(
                f"{folder.path} is a run of {command or 'something else'!r}, which is no evaluation: tables are made "
                f"of runs of {', '.join(map(repr, _READERS))}"
            )
        try:
            return [replace(entry, release=str(folder.manifest.get("metagym"))) for entry in reader(folder)]
        except (AttributeError, KeyError, TypeError) as error:
            raise RunError(f"{folder.path}: the manifest is none of {command!r} ({error!r})") from error


def _of_eval(folder: RunFolder) -> list[Entry]:
    results = load_evals(folder)
    seed = int(results.manifest["config"]["seed"])
    return [
        Entry(
            run=results.name,
            system=score.entrant.name,
            identity={"model": score.entrant.model, "prompt": score.entrant.prompt},
            seed=seed,
            benchmark=score.benchmark.name,
            title=score.benchmark.label,
            suite=results.title,
            card=score.card,
            samples=score.benchmark.samples,
            tasks=score.tasks,
            episodes=tuple(one.episode for one in score.episodes),
            missing=len(score.missing),
            notes=results.notices,
        )
        for score in results.scores
    ]


def _of_ict(folder: RunFolder) -> list[Entry]:
    results = load_results(folder)
    manifest = results.manifest
    config, seeds = manifest["config"], manifest["seeds"]
    specs = {arm["name"]: arm for arm in manifest["arms"]}
    found = []
    for arm in results.arms:
        episodes = tuple(results.episodes(arm, phase=EVAL))
        tasks = _tasks(episodes)
        short = max(0, len(seeds) * config["eval_tasks"] - len(episodes)) if not results.ended else 0
        card = {"tasks_digest": tasks_digest(tasks), "seat": config.get("seat"), "seeds": len(seeds)}
        card |= {field: at_path(manifest, field) for field in LIKE}
        found.append(
            Entry(
                run=_name(folder),
                system=arm,
                identity={"model": config["actor"], "arm": specs.get(arm)},
                seed=int(seeds[0]),
                benchmark=f"ict-{config['family']}",
                title=f"{config['family']}, held-out",
                suite="ICT",
                card=card,
                samples=len(seeds),
                tasks=tasks,
                episodes=episodes,
                missing=short,
            )
        )
    return found


def _of_sesa(folder: RunFolder) -> list[Entry]:
    results = load_results(folder)
    manifest = results.manifest
    config, card = manifest["config"], manifest["card"]
    found = []
    for deployment in results.arms:
        played = results.episodes(deployment, 0, EVAL)
        short = max(0, card["questions"] * card["repeats"] - len(played))
        for name, group in _by_type(played).items():
            found.append(
                Entry(
                    run=_name(folder),
                    system=f"{config['solver']} ({deployment})",
                    identity={"model": config["solver"], "deployment": deployment, "bank": _bank(manifest, deployment)},
                    seed=int(config["seed"]),
                    benchmark=name,
                    title=name,
                    suite="SESA",
                    card=dict(card),
                    samples=int(card["repeats"]),
                    tasks=_tasks(group),
                    episodes=tuple(group),
                    missing=short,  # of the whole deployment: which sets it is cut off in is not told
                )
            )
    return found


_READERS: Mapping[str, Callable[[RunFolder], list[Entry]]] = {
    EVAL_COMMAND: _of_eval,
    "ict eval": _of_ict,
    "sesa eval": _of_sesa,
}


def _bank(manifest: Mapping[str, Any], deployment: str) -> Any:
    """The state of the bank that a deployment read."""
    return None if deployment == "off" else manifest["versions"]["bank"]


def _name(folder: RunFolder) -> str:
    return folder.path.resolve().name


def _tasks(episodes: Iterable[Episode]) -> tuple[Task, ...]:
    return tuple({episode.task.key: episode.task for episode in episodes}.values())


def _by_type(episodes: Sequence[Episode]) -> dict[str, list[Episode]]:
    groups: dict[str, list[Episode]] = {}
    for episode in episodes:
        groups.setdefault(episode.task.type or "questions", []).append(episode)
    return groups
