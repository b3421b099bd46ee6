"""The tasks of a benchmark, and what identifies them."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from hashlib import sha256

from metagym.errors import BadInput
from metagym.evaluation.benchmarks import Benchmark
from metagym.families import Family, load_family
from metagym.seeding import derive
from metagym.tasks import Task


@dataclass(frozen=True)
class Prepared:
    """A benchmark with its family and tasks.

    Attributes:
        benchmark: What is played.
        family: Its family, built.
        tasks: Its tasks, in the order in which they are played.
        split: The split they are of.
    """

    benchmark: Benchmark
    family: Family
    tasks: tuple[Task, ...]
    split: str

    @property
    def pairs(self) -> list[tuple[Task, int]]:
        """Every task with the number of every sample of it, in order."""
        return [(task, sample) for task in self.tasks for sample in range(self.benchmark.samples)]


def prepare(benchmark: Benchmark) -> Prepared:
    """Builds a benchmark's family and names its tasks.

    Raises:
        UnknownName, NoTasks: The family, split or a task type is not there.
        BadInput: An option is not usable, or two tasks are one game.
        MissingExtra: What the family needs is not installed.
    """
    family = load_family(benchmark.family, **benchmark.options)
    split = benchmark.split or family.splits[-1]
    found = family.task_set(split, benchmark.types)
    if benchmark.limit is not None and benchmark.limit < len(found):
        # The same tasks whatever the seed of a run: runs of several seeds are paired.
        found_tasks = found.sample(benchmark.limit, derive(0, "evaluation-limit"))
        order = {task.id: place for place, task in enumerate(found)}
        tasks = tuple(sorted(found_tasks, key=lambda task: order[task.id]))
    else:
        tasks = tuple(found)
    seen: dict[str, str] = {}
    for task in tasks:
        if seen.setdefault(task.key, task.id) != task.id:
            raise BadInput(f"benchmark {benchmark.name}: tasks {seen[task.key]} and {task.id} are one game")
    return Prepared(benchmark, family, tasks, split)


def repeated(prepared: Prepared) -> int:
    """How many tasks are, as the family says (`metagym.Family.identity`), the same as an earlier one."""
    return len(prepared.tasks) - len({prepared.family.identity(task) for task in prepared.tasks})


def tasks_digest(tasks: Iterable[Task]) -> str:
    """SHA-256 over the tasks, all fields, in any order."""
    return _digest(sorted(json.dumps(task.to_json(), sort_keys=True, ensure_ascii=True) for task in tasks))


def identities_digest(family: Family, tasks: Sequence[Task]) -> str:
    """SHA-256 over what the family says makes each task what it is (`Family.identity`), in any order."""
    return _digest(sorted(f"{task.key} {family.identity(task)}" for task in tasks))


def _digest(lines: Iterable[str]) -> str:
    whole = sha256()
    for line in lines:
        whole.update(line.encode("utf-8", "backslashreplace") + b"\n")
    return whole.hexdigest()
