"""HistoryWindow: the last turns before the present observation."""

from __future__ import annotations

from collections import deque
from typing import Any

import gymnasium

from metagym.checks import whole
from metagym_wrappers.base import Recorded, Step, needs_text


class HistoryWindow(Recorded):
    """Shows the last turns of the episode, each as its observation and ``> action``, before the present observation.

    The window is empty after every reset: nothing of an earlier episode is shown. A step costs what the window holds,
    so that an episode costs time in proportion to its length.

    Args:
        env: An environment whose observations are text.
        turns: How many past turns are shown; >= 0.

    Raises:
        BadInput: The observations are no text, or `turns` is no such number.
    """

    def __init__(self, env: gymnasium.Env[Any, Any], turns: int = 8) -> None:
        super().__init__(env, turns=turns)
        needs_text(self, "HistoryWindow")
        self._past: deque[str] = deque(maxlen=whole("turns", turns, 0))
        self._gone = 0
        self._now = ""

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[str, dict[str, Any]]:
        """Starts an episode."""
        self._now, info = self.env.reset(seed=seed, options=options)
        self._past.clear()
        self._gone = 0
        return self._now, info

    def step(self, action: Any) -> Step:
        """Takes one action."""
        observation, reward, terminated, truncated, info = self.env.step(action)
        past = self._past
        if len(past) == past.maxlen:
            self._gone += 1
        past.append(f"{self._now}\n> {action}")
        self._now = observation
        head = (f"[{self._gone} earlier turns not shown]",) if self._gone else ()
        return "\n".join((*head, *past, observation)), reward, terminated, truncated, info  # type: ignore[return-value]
