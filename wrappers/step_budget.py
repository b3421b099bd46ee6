"""StepBudget: an episode is cut after a number of steps, those included that were no action."""

from __future__ import annotations

from typing import Any

import gymnasium

from metagym.checks import flag, whole
from metagym_wrappers.base import Recorded, Step, needs_text


class StepBudget(Recorded):
    """Truncates an episode after `steps` steps and tells how many are left, in ``info["steps_left"]``.

    Gymnasium's ``TimeLimit`` stands inside of `TextAction` and does not see a text that was no action; this wrapper
    stands outside and counts it too.

    Args:
        env: Any environment.
        steps: Steps of an episode; >= 1.
        tell: Write ``Steps left: n`` below every observation, which must be text then.

    Raises:
        BadInput: `steps` is no such number, or there is no text to write below.
    """

    def __init__(self, env: gymnasium.Env[Any, Any], steps: int, tell: bool = False) -> None:
        super().__init__(env, steps=steps, tell=tell)
        self.steps = whole("steps", steps, 1)
        self._tell = flag("tell", tell)
        if self._tell:
            needs_text(self, "StepBudget(tell=True)")
        self._left = self.steps

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        """Starts an episode."""
        observation, info = self.env.reset(seed=seed, options=options)
        self._left = self.steps
        return self._told(observation), {**info, "steps_left": self._left}

    def step(self, action: Any) -> Step:
        """Takes one action."""
        observation, reward, terminated, truncated, info = self.env.step(action)
        self._left = left = max(0, self._left - 1)
        truncated = truncated or (left == 0 and not terminated)
        return self._told(observation), reward, terminated, truncated, {**info, "steps_left": left}  # type: ignore[return-value]

    def _told(self, observation: Any) -> Any:
        return f"{observation}\nSteps left: {self._left}" if self._tell else observation
