"""Equal tasks are equal games: task sets, seeds, processes, and instances that do not know of each other."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import islice
from typing import Any

import numpy as np

from metagym.conformance.findings import Fault
from metagym.conformance.texts import faults_of
from metagym.conformance.walks import Subject, Walk, difference, opened, walked
from metagym.episodes import Episode, Status
from metagym.families import Family
from metagym.playing import PlaySettings, play
from metagym.tasks import Task, TaskSet

_LOOKED_AT = 200  # tasks of a split whose JSON is tried


def tasks(subject: Subject) -> str:
    """Every split has tasks, the same at each call, whose identity fits into JSON; held-out ones are apart."""
    family = subject.family
    sets: dict[str, TaskSet] = {}
    for split in family.splits:
        sets[split] = family.task_set(split)
        if list(sets[split]) != list(family.task_set(split)):
            raise Fault(f"split {split} holds other tasks when it is asked for again: make its tasks once, from seeds")
        for task in islice(sets[split], _LOOKED_AT):
            _identity(family, split, task)
    train, held_out = (sets[split] for split in (family.splits[0], family.splits[-1]))
    if train is not held_out:
        _apart(family, train, held_out)
    return ", ".join(f"{split} {len(found):,}" for split, found in sets.items())


def _identity(family: Family, split: str, task: Task) -> None:
    if task.family != family.name:
        raise Fault(f"task {task.id} of split {split} says it is of {task.family!r}: write {family.name!r} there")
    if task.split != split:
        raise Fault(f"task {task.id} of split {split} says it is of split {task.split!r}: write {split!r} there")
    if faults := faults_of(task.id):
        raise Fault(f"the id of task {task.id!r} {faults[0]}")
    if task.id.startswith(("/", "~")) or task.id[1:3] == ":\\":
        raise Fault(f"the id of task {task.id} is a path of this machine: make it relative to the data's folder")
    try:
        same = Task.from_json(json.loads(json.dumps(task.to_json(), allow_nan=False)))
    except (TypeError, ValueError) as error:
        raise Fault(f"task {task.id} has parameters that are no JSON ({error}): use texts, numbers, lists") from error
    if same != task:
        raise Fault(f"task {task.id} is another one after a trip through JSON: use texts, plain numbers, lists, dicts")


def _apart(family: Family, train: TaskSet, held_out: TaskSet) -> None:
    known = {family.identity(task): task for task in train}
    for task in held_out:
        if (twin := known.get(family.identity(task))) is not None:
            raise Fault(
                f"{held_out.name} shares games with {train.name}, e.g. {task.id} is {twin.id}: "
                "hold out games that no training batch plays"
            )
    seeds = {(task.type, task.seed, json.dumps(dict(task.params), sort_keys=True)): task for task in train}
    pairs = []
    for task in held_out:
        twin = seeds.get((task.type, task.seed, json.dumps(dict(task.params), sort_keys=True)))
        if twin is not None:
            pairs.append((twin, task))
    alike = [_same_game(family, *pair) for pair in pairs[:3]]
    if len(alike) == 3 and all(alike):
        twin, task = pairs[0]
        raise Fault(
            f"{held_out.name} plays the games of {train.name} under other ids, e.g. {task.id} is {twin.id}: "
            "give held-out tasks seeds of their own"
        )


def _same_game(family: Family, one: Task, other: Task) -> bool:
    walks = []
    for task in (one, other):
        with opened(family, task) as env:
            walk = Walk(env, task, family)
            for action in ("look", "1", "0", "north"):
                if not walk.done:
                    walk.take(action)
            walks.append(walk.steps)
    return not difference(*walks)


@contextmanager
def _other_chance() -> Iterator[None]:
    """Inside, the global generators stand elsewhere; who draws from them is found."""
    kept, kept_numpy = random.getstate(), np.random.get_state()
    random.seed(987_654_321)
    np.random.seed(987_654_321)
    try:
        yield
    finally:
        random.setstate(kept)
        np.random.set_state(kept_numpy)


def seeds(subject: Subject) -> str:
    """Equal tasks are equal games, in a new instance and in one that has played before."""
    ends = set()
    for task in subject.tasks:
        with opened(subject.family, task) as env:
            first = Walk(env, task, subject.family).on(subject.steps)
            with _other_chance():
                again = Walk(env, task, subject.family).on(subject.steps)
        with _other_chance():
            fresh = walked(subject, task)
        for other, what in ((fresh, "a new instance"), (again, "the same instance after another reset")):
            if where := difference(first, other):
                raise Fault(
                    f"task {task.key}: {what} plays otherwise at {where} with equal seed and actions: draw everything "
                    "from self.np_random after super().reset(seed=seed), and let reset forget the last episode"
                )
        ends.add(tuple(step.observation for step in first))
    if len(ends) == 1 and len(subject.tasks) > 1:
        return f"{len(subject.tasks)} tasks replayed; all of them play alike (is the seed used?)"
    return f"{len(subject.tasks)} tasks replayed, {len(ends)} different"


def processes(subject: Subject) -> str:
    """The family can be sent to a worker process, and plays the same there."""
    played = subject.tasks[:2]
    family = subject.family
    here = _played(family, played, subject.steps, "process:1" if family.host == "process" else None)
    there = _played(family, played, subject.steps, "process:1")
    for one, other in zip(here, there, strict=True):
        if one.to_json() != other.to_json():
            pairs = enumerate(zip(one.turns, other.turns, strict=False), 1)
            where = next((f"turn {number}" for number, (a, b) in pairs if a != b), "the end")
            raise Fault(
                f"task {one.task.key} plays otherwise in a fresh process, from {where} on: nothing may come from "
                "hash(), the order of a set, the clock or a global generator"
            )
    return f"{len(played)} tasks play the same in a worker process"


def _played(family: Family, tasks: tuple[Task, ...], steps: int, hosts: str | None) -> list[Episode]:
    settings = PlaySettings(max_steps=min(steps, family.max_steps), max_failures=1.0)
    episodes = play(tasks, "random", family=family, hosts=hosts, settings=settings)
    for episode in episodes:
        if episode.status is Status.ERROR:
            raise Fault(f"task {episode.task.key} fails in {hosts or family.host}: {episode.cause}")
    return episodes


def apart(subject: Subject) -> str:
    """Instances that are open at once, or were left open, do not change each other."""
    if subject.family.host == "process":
        return "one instance in each process (host='process')"
    alone = [walked(subject, task, path=path) for path, task in enumerate(subject.tasks)]
    left = subject.family.open(subject.tasks[0])
    try:
        Walk(left, subject.tasks[0], subject.family).on(2)  # an episode that nobody ends
        together = _interleaved(subject)
    finally:
        left.close()
    for task, one, other in zip(subject.tasks, alone, together, strict=True):
        if where := difference(one, other):
            raise Fault(
                f"task {task.key} plays otherwise beside open games, from {where} on: keep what changes in the "
                "instance, not in its class or module, or say host='process'"
            )
    return f"{len(alone) + 1} games open at once"


def _interleaved(subject: Subject) -> list[list[Any]]:
    envs = [subject.family.open(task) for task in subject.tasks]
    try:
        games = enumerate(zip(envs, subject.tasks, strict=True))
        walks = [Walk(env, task, subject.family, path) for path, (env, task) in games]
        for _ in range(subject.steps):
            for walk in walks:
                if not walk.done:
                    walk.step()
        return [walk.steps for walk in walks]
    finally:
        for env in envs:
            env.close()
