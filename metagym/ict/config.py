"""Everything that decides a run, as one frozen value with a JSON form: manifests hold it, resume compares it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from typing import Any, Literal, get_args

from metagym.checks import flag, number, settle, whole
from metagym.errors import BadInput
from metagym.families import Family, load_family
from metagym.ict.reflector import ReflectorSettings
from metagym.ict.render import View
from metagym.playing.actor import ActorSettings
from metagym.seeding import check_seed, derive
from metagym.tasks import Task

Accept = Literal["always", "not-worse"]

PRESETS: Mapping[str, Mapping[str, int]] = {
    "k3": {"batch_size": 3, "meta_turns": 4},
    "k5": {"batch_size": 5, "meta_turns": 4},
}
"""Batch sizes and meta-turns of the paper (arXiv 2605.20477, experimental set-up)."""


@dataclass(frozen=True)
class RunConfig:
    """Settings of `metagym.ict.loop`.

    Attributes:
        family: Registered name.
        family_options: Keyword arguments of its factory.
        actor: Model spec of the frozen actor.
        reflector: Model spec of the reflector.
        batch_size: Tasks per batch.
        meta_turns: Reflections.
        split: Split of the batches; None takes the family's first.
        task_types: Types of the batches (meta-train); None means all.
        eval_split: Split of the held-out set; None takes the family's last.
        eval_types: Types of the held-out set (meta-test); None means all.
        eval_tasks: Size of the held-out set, drawn evenly over its types; 0 scores nothing.
        eval_every: Score after every n-th reflection (and always at the start and the end).
        seed: Decides tasks, order and all sampling.
        system_prompt: Where the run starts; None takes the family's.
        accept: ``always`` takes every new prompt; ``not-worse`` replays the last batch under it and keeps the old
            prompt if its mean return is lower. Rules may be useful only together, so that success may stay at 0 for
            several good edits: an acceptance that asks for a rise would refuse them.
        when_exhausted: ``error`` or ``wrap``, see `metagym.TaskStream`.
        max_steps: Cap on inner steps; None takes the family's.
        clean: Apply the family's cleaning rule to the actor's commands; False sends them as written.
        max_failures: Largest share of failed episodes in a batch.
        model_deadline: Seconds for one model call.
        env_deadline: Seconds for one environment call.
        seat: The actor's seat.
        reflector_seat: The reflector's seat.
        view: What the reflector sees.
    """

    family: str = "ALFWorld"
    family_options: Mapping[str, Any] = field(default_factory=dict)
    actor: str = "rules"
    reflector: str = "rules"
    batch_size: int = 5
    meta_turns: int = 8
    split: str | None = None
    task_types: tuple[str, ...] | None = None
    eval_split: str | None = None
    eval_types: tuple[str, ...] | None = None
    eval_tasks: int = 60
    eval_every: int = 1
    seed: int = 0
    system_prompt: str | None = None
    accept: Accept = "always"
    when_exhausted: Literal["error", "wrap"] = "error"
    max_steps: int | None = None
    clean: bool = True
    max_failures: float = 0.5
    model_deadline: float = 600.0
    env_deadline: float = 60.0
    seat: ActorSettings = ActorSettings()
    reflector_seat: ReflectorSettings = ReflectorSettings()
    view: View = View()

    def __post_init__(self) -> None:
        """Checks what needs no family."""
        object.__setattr__(self, "seed", check_seed(self.seed))  # a NumPy integer becomes a plain one
        if self.accept not in get_args(Accept):
            raise BadInput(f"accept is one of {', '.join(get_args(Accept))}, got {self.accept!r}")
        for name, least in (("batch_size", 1), ("meta_turns", 0), ("eval_tasks", 0), ("eval_every", 1)):
            settle(self, name, whole, least)
        settle(self, "max_steps", whole, 1, none=True)
        settle(self, "clean", flag)
        settle(self, "max_failures", number, 0, 1)
        for name in ("model_deadline", "env_deadline"):
            settle(self, name, number, 0, above=True)

    def to_json(self) -> dict[str, Any]:
        """The settings as a JSON object."""
        data = asdict(self)
        data["family_options"] = dict(self.family_options)
        for name in ("task_types", "eval_types"):
            data[name] = None if data[name] is None else list(data[name])
        return data

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> RunConfig:
        """The inverse of `to_json`.

        Raises:
            BadInput: Unknown fields, or values out of range.
        """
        known = {item.name for item in fields(cls)}
        if unknown := sorted(set(data) - known):
            raise BadInput(f"unknown run settings: {', '.join(unknown)}")
        values = dict(data)
        for name in ("task_types", "eval_types"):
            if values.get(name) is not None:
                values[name] = tuple(values[name])
        try:
            for name, kind in (("seat", ActorSettings), ("reflector_seat", ReflectorSettings), ("view", View)):
                if isinstance(values.get(name), Mapping):
                    values[name] = kind(**values[name])
            return cls(**values)
        except TypeError as error:
            raise BadInput(f"unusable run settings: {error}") from error


def held_out(config: RunConfig, family: Family, apart: bool = True) -> list[Task]:
    """The fixed evaluation tasks, the same at every turn; [] where the run scores nothing.

    Args:
        config: The settings.
        family: Their family.
        apart: Refuse tasks that are training tasks too; False where nothing of this family is trained on.

    Raises:
        BadInput: More tasks asked for than there are, or the set overlaps with the training tasks.
    """
    if not config.eval_tasks:
        return []
    split = config.eval_split or family.splits[-1]
    tasks = family.task_set(split, config.eval_types).sample(config.eval_tasks, derive(config.seed, "held-out"))
    if not apart:
        return tasks
    train = family.task_set(config.split or family.splits[0], config.task_types)
    trained = {family.identity(task) for task in train}
    for task in tasks:
        if family.identity(task) in trained:
            raise BadInput(
                f"held-out task {task.id} is a training task too: choose another --eval-split, or disjoint task types"
            )
    return tasks


def build_family(config: RunConfig) -> Family:
    """The family of a run, with its options."""
    return load_family(config.family, **config.family_options)
