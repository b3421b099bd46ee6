"""SuccessFrom: what counts as success, as a predicate over the episode so far."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import gymnasium

from metagym.checks import shown
from metagym.errors import BadInput
from metagym_wrappers.base import Recorded, Step
from metagym_wrappers.predicates import parse_predicate


class SuccessFrom(Recorded):
    """Puts ``info["success"]`` (True, False, or None: cannot be told) into every info.

    Success, termination and a positive reward are three things; this wrapper makes the first of them explicit.

    Args:
        env: Any environment.
        success: A predicate such as ``"return > 0"`` or ``"terminated and info.score >= 3"`` (see
            `metagym_wrappers.predicates`), or a function ``(info, episode return, terminated) -> bool | None``.

    Raises:
        BadInput: The predicate cannot be read; the message shows where.
    """

    def __init__(
        self,
        env: gymnasium.Env[Any, Any],
        success: str | Callable[[Mapping[str, Any], float, bool], bool | None],
    ) -> None:
        super().__init__(env, success=success)
        if not isinstance(success, str) and not callable(success):
            raise BadInput(f"success is a predicate such as 'return > 0' or a function, got {shown(success)}")
        self._predicate = parse_predicate(success) if isinstance(success, str) else None
        self._function = None if isinstance(success, str) else success
        self._return = 0.0
        self._steps = 0

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        """Starts an episode."""
        observation, info = self.env.reset(seed=seed, options=options)
        self._return, self._steps = 0.0, 0
        return observation, {**info, "success": self._judged(0.0, False, False, info)}

    def step(self, action: Any) -> Step:
        """Takes one action."""
        observation, reward, terminated, truncated, info = self.env.step(action)
        self._return += float(reward)
        self._steps += 1
        info = {**info, "success": self._judged(reward, terminated, truncated, info)}
        return observation, reward, terminated, truncated, info  # type: ignore[return-value]

    def _judged(self, reward: Any, terminated: bool, truncated: bool, info: Mapping[str, Any]) -> bool | None:
        if self._predicate is not None:
            return self._predicate(
                ret=self._return,
                reward=float(reward),
                steps=self._steps,
                terminated=terminated,
                truncated=truncated,
                info=info,
            )
        assert self._function is not None
        verdict = self._function(info, self._return, terminated)
        return None if verdict is None else bool(verdict)
