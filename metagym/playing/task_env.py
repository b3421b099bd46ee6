"""The plain task environment of a family: one Gymnasium episode is one task."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

import gymnasium

from metagym.checks import flag, mapping, whole
from metagym.errors import BadInput
from metagym.families import Family, load_family
from metagym.seeding import check_seed
from metagym.spaces import FreeText
from metagym.tasks import Task


class TaskEnv(gymnasium.Env[str, str]):
    """Tasks of one family, played one after another.

    ## Description
    Each reset opens one task of the split and shows its first observation. This is the environment that an actor
    sees; the meta-environment of the same family plays a batch of them per step.

    ## Observation
    `FreeText`: what the inner environment says.

    ## Actions
    `FreeText`: one command. The family's cleaning rule is applied first (`Family.clean`): ``info["action"]`` and
    ``info["repair"]`` tell what was sent. A text without a command changes nothing and costs a step.

    ## Rewards
    Those of the inner environment.

    ## Episode end
    Terminated by the inner environment's own rules, truncated at ``max_steps``. ``info["success"]`` is a third thing.

    ## Arguments
    * ``split``: default: the family's first.
    * ``task_types``: only these types; None means all.
    * ``max_steps``: None takes the family's.
    * ``clean``: False sends actions as they are.
    * further keyword arguments: options of the family, e.g. ``engine="native"`` for ALFWorld.

    ``reset(options={"task": <Task or id>})`` opens one task by name; otherwise the seed draws one. Further options are
    those of the inner environment's reset, e.g. ``"expert_plan": True`` for ALFWorld; its info comes through.

    ## Source
    The family's own documentation.
    """

    metadata = {"render_modes": []}

    def __init__(
        self,
        family: str | Family,
        split: str | None = None,
        task_types: list[str] | None = None,
        max_steps: int | None = None,
        clean: bool = True,
        render_mode: str | None = None,
        **options: Any,
    ) -> None:
        if render_mode is not None:
            raise BadInput(f"there is nothing to render: render_mode must be None, got {render_mode!r}")
        self.family = load_family(family, **options)
        self.tasks = self.family.task_set(split or self.family.splits[0], task_types)
        self.max_steps = self.family.max_steps if max_steps is None else whole("max_steps", max_steps, 1)
        self.clean = flag("clean", clean)
        self.render_mode = None
        self.observation_space = FreeText()
        self.action_space = FreeText()
        self.task: Task | None = None
        self._inner: gymnasium.Env[str, str] | None = None
        self._steps = 0
        self._return = 0.0
        self._observation = ""
        self._last_info: dict[str, Any] = {}

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[str, dict[str, Any]]:
        """Opens a task.

        Args:
            seed: Seed of the draw, as in Gymnasium.
            options: ``task`` (a `Task` or its id) and whatever the inner environment's reset knows; or None.

        Raises:
            BadInput: The seed or the options are not usable, or the inner environment refuses an option.
            UnknownName: The task is not in this split.
        """
        wanted = mapping("the argument options of reset", options)
        super().reset(seed=None if seed is None else check_seed(seed))
        named = wanted.pop("task", None)
        if named is None:
            self.task = self.tasks[int(self.np_random.integers(len(self.tasks)))]
        else:
            self.task = self.tasks.by_id(named.id if isinstance(named, Task) else named)
        if self._inner is not None:
            self._inner.close()
            self._inner = None  # opening may fail: a closed environment is not to be stepped
        inner = self.family.open(self.task)
        self._steps, self._return = 0, 0.0
        try:
            # A task's own seed makes it what it is; the reset seed only draws the task.
            self._observation, info = inner.reset(seed=self.task.seed, options=wanted or None)
        except BaseException:
            inner.close()
            raise
        self._inner = inner
        self._last_info = {**info, "task": self.task.to_json()}
        self._last_info.setdefault("success", self.family.success(info, 0.0, False))
        return self._observation, self._last_info

    def step(self, action: str) -> tuple[str, float, bool, bool, dict[str, Any]]:
        """Takes one action.

        Raises:
            BadInput: The action is not text, or there is no open episode.
        """
        if not isinstance(action, str):
            raise BadInput(f"an action is text, got {type(action).__name__}")
        if self._inner is None or self.task is None:
            raise BadInput("call reset before step")
        command, repair = action, "exact"
        if self.clean:
            cleaned = self.family.clean(action, self._last_info.get("admissible"))
            command, repair = cleaned.command, cleaned.repair.value
        self._steps += 1
        if command or not self.clean:
            observation, reward, terminated, truncated, info = self._inner.step(command)
        else:
            observation, reward, terminated, truncated = self._observation, 0.0, False, False
            info = deepcopy(self._last_info)  # what a caller keeps of an earlier step shall not change with this one
        self._return += float(reward)
        self._observation = observation
        truncated = bool(truncated) or (self._steps >= self.max_steps and not terminated)
        success = self.family.success(info, self._return, bool(terminated))
        self._last_info = {
            **info,
            "task": self.task.to_json(),
            "success": success,
            "action": command,
            "repair": repair,
        }
        return observation, float(reward), bool(terminated), truncated, self._last_info

    def close(self) -> None:
        """Closes the inner environment."""
        if self._inner is not None:
            self._inner.close()
            self._inner = None
