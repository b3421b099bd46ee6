"""A family put together from an environment, a set of seeds, and the wrappers that make text of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import gymnasium

from metagym.errors import BadInput
from metagym.tasks import Task, TaskSet
from metagym_envs.gym.making import EnvLike, id_of, make_env
from metagym_envs.gym.seeds import read_seeds
from metagym_wrappers import StepBudget, SuccessFrom, TextAction, TextObservation

SPLITS = ("train", "valid")
SEEDS = "0-999"
VALID_SEEDS = "10000-10099"

Arguments = Callable[[int], Mapping[str, Any]] | Mapping[str, Any]
"""Keyword arguments of the environment of one task type, or a function from the task's seed to them."""


@dataclass(frozen=True)
class Layers:
    """What is put around an environment; each field is an argument of a wrapper.

    Attributes:
        text: See `metagym_wrappers.TextObservation`, as the four that follow.
        names: Of the observation.
        ansi: Use what the environment renders.
        max_items: Bigger arrays are summarised.
        actions: Names of the actions, see `metagym_wrappers.TextAction`, as the two that follow.
        aliases: Further names.
        out_of_range: ``reject`` or ``clip``.
        success: See `metagym_wrappers.SuccessFrom`.
        steps: See `metagym_wrappers.StepBudget`.
        unseeded: The environment was found to ignore its seed: every info says so.
    """

    text: Any = None
    names: Sequence[str] | None = None
    ansi: Any = "no"
    max_items: int = 64
    actions: Sequence[str] | None = None
    aliases: Mapping[str, str | int] | None = None
    out_of_range: Any = "reject"
    success: Any = "info.success or info.is_success"
    steps: int = 100
    unseeded: bool = False

    def around(self, env: gymnasium.Env[Any, Any]) -> gymnasium.Env[Any, Any]:
        """The environment, text in and text out.

        Raises:
            BadInput: It has no text form, or a setting does not fit it.
        """
        text = TextAction(self.told(env), self.actions, self.aliases, self.out_of_range)
        judged = SuccessFrom(StepBudget(text, self.steps), self.success)
        return Unseeded(judged) if self.unseeded else judged

    def told(self, env: gymnasium.Env[Any, Any]) -> TextObservation:
        """The environment with observations in text."""
        return TextObservation(env, self.text, self.names, self.ansi, self.max_items)


class Unseeded(gymnasium.Wrapper[Any, Any, Any, Any]):
    """Says in every info that equal seeds do not give equal games; episodes and reports carry it on."""

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        """Starts an episode."""
        observation, info = self.env.reset(seed=seed, options=options)
        return observation, {**info, "seed_honoured": False}

    def step(self, action: Any) -> tuple[Any, Any, bool, bool, dict[str, Any]]:
        """Takes one action."""
        *rest, info = self.env.step(action)
        return *rest, {**info, "seed_honoured": False}


@dataclass(frozen=True)
class Opener:
    """Opens tasks; a new environment each, so that nothing is shared.

    Attributes:
        env: What is made.
        kinds: Task type to keyword arguments.
        layers: What is put around it.
        params: What tasks of this family hold as `Task.params`: of others it would be another game.
    """

    env: EnvLike
    kinds: Mapping[str, Arguments]
    layers: Layers
    params: Mapping[str, Any]

    def __call__(self, task: Task) -> gymnasium.Env[Any, Any]:
        """Makes the environment of a task.

        Raises:
            BadInput: The task belongs to another environment, or its environment cannot be made.
        """
        if dict(task.params) != dict(self.params) or task.type not in self.kinds:
            raise BadInput(f"task {task.key} is none of the family of {id_of(self.env)}: pass family= with its tasks")
        kwargs = dict(arguments_of(self.kinds[task.type], task.seed))
        if self.layers.ansi != "no":
            kwargs["render_mode"] = "ansi"
        return self.layers.around(make_env(self.env, kwargs))


def arguments_of(arguments: Arguments, seed: int) -> Mapping[str, Any]:
    """The keyword arguments for a seed."""
    return arguments(seed) if callable(arguments) else arguments


@dataclass(frozen=True)
class Seeds:
    """The tasks of both splits: each type with each seed.

    Attributes:
        family: Its name.
        kinds: The task types.
        seeds: Split to seeds.
        params: Of every task.
    """

    family: str
    kinds: tuple[str, ...]
    seeds: Mapping[str, tuple[int, ...]]
    params: Mapping[str, Any] = field(default_factory=dict)
    _made: dict[str, TaskSet] = field(default_factory=dict, repr=False, compare=False)

    def __call__(self, split: str) -> TaskSet:
        """The tasks of a split; made once."""
        if split not in self._made:
            made = (
                Task(self.family, f"{kind}/{seed}" if kind else str(seed), kind, split, seed, self.params)
                for kind in self.kinds
                for seed in self.seeds[split]
            )
            self._made[split] = TaskSet(made, f"{self.family}/{split}")
        return self._made[split]


def seeds_of(
    family: str, kinds: Sequence[str], seeds: Any, valid_seeds: Any, params: Mapping[str, Any] | None = None
) -> Seeds:
    """Tasks from the seeds of the two splits.

    Raises:
        BadInput: Seeds cannot be read, or stand in both splits.
    """
    train, valid = read_seeds("seeds", seeds), read_seeds("valid_seeds", valid_seeds)
    shared = set(train) & set(valid)
    if shared:
        raise BadInput(
            f"{len(shared)} seeds stand in both seeds and valid_seeds, e.g. {min(shared)}: held-out games are unseen"
        )
    return Seeds(family, tuple(kinds), {"train": train, "valid": valid}, params or {})


def as_json(seeds: Any) -> Any:
    """Seeds as they were given, in a form that options may hold."""
    return seeds if isinstance(seeds, str) else [int(seed) for seed in seeds]
