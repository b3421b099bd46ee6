"""Arms side by side: prompts and reflectors on the same held-out task types, tasks and seeds.

An arm that is a prompt is scored as it is. An arm that is a reflector first lives through a meta-episode of its own
(on the meta-train types, possibly of another family) and is then scored by the prompt it arrived at. All arms of a
seed are scored on the same tasks with the same sampling seeds, so that differences are paired.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from metagym import stats
from metagym.chat import aclose, load
from metagym.chat.types import ChatModel
from metagym.episodes import Episode
from metagym.errors import BadInput
from metagym.families import Family
from metagym.ict.config import RunConfig, build_family, held_out
from metagym.ict.loop import Event, Loop, Records, Seats, memory_records
from metagym.playing.runner import check_prompt
from metagym.seeding import check_seed, derive
from metagym.stats import Estimate
from metagym.tasks import Task

INITIAL = "initial prompt"


@dataclass(frozen=True)
class Arm:
    """One row of the comparison: exactly one of `prompt` and `reflector`.

    Attributes:
        name: Row name; letters, digits, blanks, ``._-``.
        prompt: A system prompt to score as it is.
        reflector: Model spec of a reflector.
    """

    name: str
    prompt: str | None = None
    reflector: str | None = None

    def __post_init__(self) -> None:
        """Checks name and kind."""
        if not self.name or not all(c.isalnum() or c in " ._-" for c in self.name):
            raise BadInput(f"an arm's name is made of letters, digits, blanks and ._-, got {self.name!r}")
        if (self.prompt is None) == (self.reflector is None):
            raise BadInput(f"arm {self.name!r} is either a prompt or a reflector")
        if self.prompt is not None:
            check_prompt(self.prompt)

    def to_json(self) -> dict[str, Any]:
        """The arm as a JSON object."""
        return {"name": self.name, "prompt": self.prompt, "reflector": self.reflector}


@dataclass(frozen=True)
class EvalConfig:
    """Settings of an evaluation.

    Attributes:
        run: Family, actor, held-out set (meta-test types) and turns; its ``reflector`` is not used. Split and types of
            the batches are those of the training family.
        arms: The rows; the initial prompt is always the first.
        seeds: Meta-seeds; each arm is run once per seed.
        train_family: Family on which reflectors adapt; None takes the run's. Another one makes it a transfer.
        train_family_options: Options of that family.
    """

    run: RunConfig
    arms: tuple[Arm, ...]
    seeds: tuple[int, ...] = (0,)
    train_family: str | None = None
    train_family_options: tuple[tuple[str, Any], ...] = ()

    def __post_init__(self) -> None:
        """Checks that rows can be told apart and that there is something to score."""
        names = [arm.name for arm in self.arms]
        for name in names:
            if names.count(name) > 1 or name == INITIAL:
                raise BadInput(f"two arms are called {name!r}")
        if not self.seeds or len(set(self.seeds)) != len(self.seeds):
            raise BadInput("an evaluation needs at least one seed, each once")
        object.__setattr__(self, "seeds", tuple(check_seed(seed) for seed in self.seeds))
        if self.train_family is None and self.train_family_options:
            raise BadInput("options of a training family are given, and no training family")
        if self.train_family is not None and all(arm.reflector is None for arm in self.arms):
            raise BadInput(
                f"training family {self.train_family} is given, and no arm has a reflector to adapt on it: add one "
                "(--reflector name=<spec>), or leave the training family out"
            )
        if self.run.eval_tasks < 1:
            raise BadInput("an evaluation needs at least one held-out task")

    def to_json(self) -> dict[str, Any]:
        """The settings as a JSON object."""
        return {
            "run": self.run.to_json(),
            "arms": [arm.to_json() for arm in self.arms],
            "seeds": list(self.seeds),
            "train_family": self.train_family,
            "train_family_options": dict(self.train_family_options),
        }


@dataclass(frozen=True)
class Row:
    """One arm's result.

    Attributes:
        name: The arm.
        success: Success rate over all seeds and tasks.
        by_type: The same per task type.
        difference: Success minus that of the initial prompt, paired by task; None for the initial prompt.
        difference_by_type: The same per task type; {} for the initial prompt.
        prompts: Where each seed's reflector arrived.
        backend: Kind of model of actor and reflector, e.g. ``scripted``.
    """

    name: str
    success: Estimate
    by_type: dict[str, Estimate]
    difference: Estimate | None
    difference_by_type: dict[str, Estimate]
    prompts: tuple[str, ...]
    backend: str


def _by_task(episodes: Sequence[Episode]) -> dict[str, float | None]:
    """Task to mean success over the seeds: plays of one task are no independent pairs."""
    return stats.task_means((e.task.key, e.success if e.scored else None) for e in episodes)


async def evaluate(
    config: EvalConfig,
    records: Records,
    *,
    hosts: Any = None,
    concurrency: int | None = None,
    on_event: Callable[[str, int, Event], None] = lambda arm, seed, event: None,
    **layers: Any,
) -> list[Row]:
    """Scores every arm under every seed.

    Args:
        config: See `EvalConfig`.
        records: Where the records are (keys ``arm/<name>/seed/<seed>/...``): a killed evaluation goes on.
        hosts: See `metagym.play`.
        concurrency: Episodes at once.
        on_event: Told the arm, the seed and what happens.
        **layers: Cache, budget and the like for the models.

    Returns:
        One `Row` per arm, the initial prompt first.
    """
    run = config.run
    family = build_family(run)
    tasks = _held_out(config, family)
    actor = load(run.actor, seat="actor", family=family, **layers)
    opened: list[ChatModel] = [actor]
    rows: list[Row] = []
    baseline: dict[str, float | None] = {}
    try:
        for arm in (_initial(config, family), *config.arms):
            episodes: list[Episode] = []
            prompts: list[str] = []
            backends = {actor.backend}
            for seed in config.seeds:

                def told(event: Event, arm: Arm = arm, seed: int = seed) -> None:
                    on_event(arm.name, seed, event)

                options: dict[str, Any] = {
                    "prefix": f"arm/{arm.name}/seed/{seed}/",
                    "hosts": hosts,
                    "concurrency": concurrency,
                    "on_event": told,
                }
                prompt, turn = arm.prompt, 0
                if prompt is None:
                    adapt = _adapting(config, arm, seed)
                    home = build_family(adapt)
                    seats = Seats.of(adapt, home, **layers)
                    opened += [seats.actor, seats.reflector]
                    backends.add(seats.reflector.backend)
                    prompt, turn = await Loop(adapt, seats, records, family=home, **options).run(), adapt.meta_turns
                scorer = Loop(
                    _scoring(config, seed, prompt, family),
                    Seats(actor, actor),
                    records,
                    family=family,
                    held_out_tasks=tasks,
                    **options,
                )
                episodes += await scorer.score(turn)
                prompts.append(prompt)
            if arm.name == INITIAL:
                baseline = _by_task(episodes)
            rows.append(_row(config, arm, tasks, episodes, baseline, tuple(prompts), "+".join(sorted(backends))))
    finally:
        for model in opened:
            await aclose(model)
    return rows


def check(config: EvalConfig, *, hosts: Any = None, concurrency: int | None = None) -> dict[str, Any]:
    """Builds everything that an evaluation needs, so that unusable settings fail before anything is played.

    Returns:
        Versions of the families, the actor and the reflectors, for the manifest.
    """
    run = config.run
    family = build_family(run)
    tasks = _held_out(config, family)
    actor = load(run.actor, seat="actor", family=family)
    options: dict[str, Any] = {"hosts": hosts, "concurrency": concurrency}
    start = _initial(config, family).prompt or ""
    scoring = _scoring(config, config.seeds[0], start, family)
    Loop(scoring, Seats(actor, actor), memory_records(), family=family, held_out_tasks=tasks, **options)
    found: dict[str, Any] = {
        "family": dict(family.versions),
        "actor": {"id": actor.id, "backend": actor.backend},
        "reflectors": {},
    }
    for arm in config.arms:
        if arm.reflector is not None:
            adapt = _adapting(config, arm, config.seeds[0])
            home = build_family(adapt)
            seats = Seats.of(adapt, home)
            Loop(adapt, seats, memory_records(), family=home, **options)
            found["reflectors"][arm.name] = {"id": seats.reflector.id, "backend": seats.reflector.backend}
            if config.train_family is not None:
                found["train_family"] = dict(home.versions)
    return found


def _initial(config: EvalConfig, family: Family) -> Arm:
    """The first row."""
    prompt = config.run.system_prompt
    return Arm(INITIAL, prompt=family.system_prompt if prompt is None else prompt)


def _held_out(config: EvalConfig, family: Family) -> list[Task]:
    """The tasks of all arms and seeds; with a training family of its own nothing here is trained on."""
    return held_out(config.run, family, apart=config.train_family is None)


def _adapting(config: EvalConfig, arm: Arm, seed: int) -> RunConfig:
    """The meta-episode through which a reflector's prompt comes about."""
    adapt = replace(config.run, seed=seed, eval_tasks=0, eval_types=None, reflector=arm.reflector or "")
    if config.train_family is None:
        return adapt
    return replace(adapt, family=config.train_family, family_options=dict(config.train_family_options))


def _scoring(config: EvalConfig, seed: int, prompt: str, family: Family) -> RunConfig:
    """What scores a prompt; the settings of training have no part in it."""
    split = config.run.eval_split or family.splits[-1]
    return replace(
        config.run, seed=seed, system_prompt=prompt, split=split, task_types=None, batch_size=1, meta_turns=0
    )


def _row(
    config: EvalConfig,
    arm: Arm,
    tasks: Sequence[Task],
    episodes: Sequence[Episode],
    baseline: Mapping[str, float | None],
    prompts: tuple[str, ...],
    backend: str,
) -> Row:
    """The figures of an arm, over all tasks and per task type."""
    kinds = list(dict.fromkeys(task.type for task in tasks))
    differences: dict[str | None, Estimate] = {}
    for kind in [] if arm.name == INITIAL else [None, *kinds]:
        keys = {task.key for task in tasks if kind in (None, task.type)}
        before = {key: value for key, value in baseline.items() if key in keys}
        after = {key: value for key, value in _by_task(episodes).items() if key in keys}
        differences[kind] = stats.paired_difference(before, after, seed=config.run.seed)
    return Row(
        name=arm.name,
        success=stats.success_estimate(episodes, derive(config.run.seed, "interval")),
        by_type={kind: stats.success_estimate(e for e in episodes if e.task.type == kind) for kind in kinds},
        difference=differences.pop(None, None),
        difference_by_type={kind: value for kind, value in differences.items() if kind is not None},
        prompts=prompts,
        backend=backend,
    )
