"""TaskDescription: what is to be done, told before the first observation."""

from __future__ import annotations

from typing import Any

import gymnasium

from metagym.checks import flag
from metagym.errors import BadInput
from metagym_wrappers.base import Recorded, Step, needs_text


class TaskDescription(Recorded):
    """Puts a text before the first observation of every episode (or before every one).

    The text is data: it is joined, never used as a format template.

    Args:
        env: An environment whose observations are text.
        text: What is to be done and how actions are written; not empty.
        always: Before every observation, for actors without a memory.

    Raises:
        BadInput: There is no text, or the observations are none.
    """

    def __init__(self, env: gymnasium.Env[Any, Any], text: str, always: bool = False) -> None:
        super().__init__(env, text=text, always=always)
        needs_text(self, "TaskDescription")
        if not isinstance(text, str) or not text.strip():
            raise BadInput(f"a task description is a text, got {text!r}")
        self._head = text.rstrip() + "\n\n"
        self._always = flag("always", always)

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[str, dict[str, Any]]:
        """Starts an episode."""
        observation, info = self.env.reset(seed=seed, options=options)
        return self._head + observation, info

    def step(self, action: Any) -> Step:
        """Takes one action."""
        observation, reward, terminated, truncated, info = self.env.step(action)
        if self._always:
            observation = self._head + observation
        return observation, reward, terminated, truncated, info  # type: ignore[return-value]
