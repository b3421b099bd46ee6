"""Arms side by side: prompts and reflectors on the same held-out task types, tasks and seeds.

An arm that is a prompt is scored as it is. An arm that is a reflector first lives through a meta-episode of its own
(on the meta-train types, possibly of another family) and is then scored by the prompt it arrived at. All arms of a
seed are scored on the same tasks with the same sampling seeds, so that differences are paired.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from metagym import stats
from metagym.episodes import Episode
from metagym.errors import BadInput
from metagym.ict.config import RunConfig, build_family, held_out
from metagym.ict.loop import Event, Loop, Records, Seats
from metagym.playing.runner import check_prompt
from metagym.playing.stand_ins import resolve
from metagym.seeding import derive
from metagym.stats import Estimate

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
        run: Family, actor, held-out set (meta-test types) and turns; its ``reflector`` is not used.
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
        prompts: Where each seed's reflector arrived.
        backend: Kind of model of actor and reflector, e.g. ``scripted``.
    """

    name: str
    success: Estimate
    by_type: dict[str, Estimate]
    difference: Estimate | None
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
    start = run.system_prompt if run.system_prompt is not None else family.system_prompt
    tasks = held_out(run if config.train_family is None else replace(run, task_types=run.eval_types), family)
    actor = resolve(run.actor, "actor", family, run.seed, **layers)
    arms = (Arm(INITIAL, prompt=start), *config.arms)
    rows: list[Row] = []
    baseline: dict[str, float | None] = {}
    for arm in arms:
        played: dict[int, list[Episode]] = {}
        prompts: list[str] = []
        backends = {actor.backend}
        for seed in config.seeds:
            prefix = f"arm/{arm.name}/seed/{seed}/"

            def told(event: Event, arm: Arm = arm, seed: int = seed) -> None:
                on_event(arm.name, seed, event)

            options: dict[str, Any] = {"hosts": hosts, "concurrency": concurrency, "on_event": told}
            prompt, turn = arm.prompt, 0
            if prompt is None:
                adapt = replace(run, seed=seed, eval_tasks=0, reflector=arm.reflector or "")
                if config.train_family is not None:
                    adapt = replace(
                        adapt, family=config.train_family, family_options=dict(config.train_family_options), split=None
                    )
                home = build_family(adapt)
                seats = Seats.of(adapt, home, **layers)
                backends.add(seats.reflector.backend)
                loop = Loop(adapt, seats, records, prefix=prefix, family=home, **options)
                prompt, turn = await loop.run(), adapt.meta_turns
            scorer = Loop(
                replace(run, seed=seed, system_prompt=prompt),
                Seats(actor, actor),
                records,
                prefix=prefix,
                family=family,
                held_out_tasks=tasks,
                **options,
            )
            played[seed] = await scorer.score(turn)
            prompts.append(prompt)
        episodes = [e for batch in played.values() for e in batch]
        means = _by_task(episodes)
        if arm.name == INITIAL:
            baseline = means
        difference = None if arm.name == INITIAL else stats.paired_difference(baseline, means, seed=run.seed)
        rows.append(
            Row(
                arm.name,
                stats.success_estimate(episodes, derive(run.seed, "interval")),
                {kind: stats.success_estimate(e for e in episodes if e.task.type == kind) for kind in _types(tasks)},
                difference,
                tuple(prompts),
                "+".join(sorted(backends)),
            )
        )
    return rows


def _types(tasks: Sequence[Any]) -> list[str]:
    return list(dict.fromkeys(task.type for task in tasks))
