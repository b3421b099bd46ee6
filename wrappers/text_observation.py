"""TextObservation: observations of any space as text."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any, Literal, get_args

import gymnasium

from metagym.checks import whole
from metagym.errors import BadInput
from metagym.spaces import FreeText
from metagym_wrappers.base import Recorded, Step, resolved
from metagym_wrappers.rendering import DIGITS, MAX_ITEMS, Render, renderer

Ansi = Literal["no", "also", "only"]

# Terminal codes: a span with a background colour or in reverse video marks something, mostly where the agent is.
_MARKED = re.compile(r"\x1b\[(?:\d+;)*(?:7|4[0-7]|10[0-7])(?:;\d+)*m(.*?)\x1b\[0?m", re.DOTALL)
_CODE = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")


def plain_ansi(text: Any) -> str:
    """What an ``ansi`` render shows, without terminal codes; spans that were highlighted stand in ``[brackets]``."""
    text = "".join(map(str, text)) if isinstance(text, (list, tuple)) else str(text)
    return _CODE.sub("", _MARKED.sub(lambda match: f"[{match[1]}]", text)).strip("\n")


class TextObservation(Recorded):
    """Shows observations as text (`rendering.renderer` tells the form for each space).

    Args:
        env: Any environment.
        text: A function ``(observation, env) -> str``, or ``"module:function"``, for a form of one's own.
        names: Names of the observation's values or parts, see `rendering.renderer`.
        ansi: ``"only"`` takes what the environment renders (``render_mode="ansi"``) as the observation, ``"also"``
            appends it. Terminal codes are dropped, highlighted spans stand in brackets.
        max_items: Arrays of more elements are summarised; >= 1.
        digits: Significant digits of floats; >= 1.

    Raises:
        BadInput: The observation space has no text form and none is given, or an argument does not fit.
    """

    def __init__(
        self,
        env: gymnasium.Env[Any, Any],
        text: str | Callable[[Any, Any], str] | None = None,
        names: Sequence[str] | None = None,
        ansi: Ansi = "no",
        max_items: int = MAX_ITEMS,
        digits: int = DIGITS,
    ) -> None:
        super().__init__(env, text=text, names=names, ansi=ansi, max_items=max_items, digits=digits)
        max_items, digits = whole("max_items", max_items, 1), whole("digits", digits, 1)
        if ansi not in get_args(Ansi):
            raise BadInput(f"ansi is one of {', '.join(get_args(Ansi))}, got {ansi!r}")
        if ansi != "no" and env.render_mode not in ("ansi", "ansi_list"):
            raise BadInput(f"ansi={ansi!r} needs an environment made with render_mode='ansi', got {env.render_mode!r}")
        self.observation_space = FreeText()
        self._own = resolved(text, "text")
        self._ansi = ansi
        self._render: Render = str
        if self._own is None and ansi != "only":
            try:
                self._render = renderer(env.observation_space, names, max_items, digits)
            except BadInput as error:
                drawn = " or ansi='only'" if "ansi" in env.metadata.get("render_modes", ()) else ""
                raise BadInput(f"{self.called}: {error}; give text='module:function'{drawn}") from error
        self._simple = self._own is None and ansi == "no"

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[str, dict[str, Any]]:
        """Starts an episode."""
        observation, info = self.env.reset(seed=seed, options=options)
        return self._shown(observation), info

    def step(self, action: Any) -> Step:
        """Takes one action."""
        observation, reward, terminated, truncated, info = self.env.step(action)
        text = self._render(observation) if self._simple else self._shown(observation)
        return text, reward, terminated, truncated, info  # type: ignore[return-value]

    def _shown(self, observation: Any) -> str:
        if self._ansi == "only":
            return plain_ansi(self.env.render())
        text = self._own(observation, self.env) if self._own is not None else self._render(observation)
        if not isinstance(text, str):
            raise BadInput(f"the function text= of {self.called} returned {type(text).__name__}, not text")
        return f"{text}\n{plain_ansi(self.env.render())}" if self._ansi == "also" else text
