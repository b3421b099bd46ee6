"""ChoiceList: the legal actions as a numbered list below the observation."""

from __future__ import annotations

from typing import Any

import gymnasium

from metagym.checks import shown
from metagym_wrappers.actions import folded
from metagym_wrappers.base import Answering, Step, needs_text


class ChoiceList(Answering):
    """Lists ``info["admissible"]`` below every observation, numbered from 1, and takes a number or a choice as action.

    Stands around an environment that takes text and lists its legal actions: `TextAction` over a ``Discrete`` space, or
    any text game. A choice that is itself a number is taken before the place in the list. Where nothing is listed,
    actions go through as they are.

    Args:
        env: An environment whose observations and actions are text.
        title: The line above the list.

    Raises:
        BadInput: The observations are no text.
    """

    def __init__(self, env: gymnasium.Env[Any, Any], title: str = "Choices:") -> None:
        super().__init__(env, title=title)
        needs_text(self, "ChoiceList")
        self._title = title
        self._choices: tuple[str, ...] = ()

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[str, dict[str, Any]]:
        """Starts an episode."""
        observation, info = super().reset(seed=seed, options=options)
        return self._listed(observation), info

    def step(self, action: str) -> Step:
        """Takes one of the choices, by number or text.

        Raises:
            BadInput: The action is not text.
        """
        chosen = self._chosen(self._text(action))
        if chosen is None:
            out = self._refused(f"{shown(action)} is none of the choices")
        else:
            out = self._taken(chosen)
        return self._listed(out[0]), *out[1:]

    def _told(self, info: dict[str, Any]) -> dict[str, Any]:
        self._choices = tuple(info.get("admissible") or ())
        return info

    def _chosen(self, text: str) -> str | None:
        choices = self._choices
        if not choices or text in choices:
            return text
        wanted = folded(text)
        for choice in choices:
            if folded(choice) == wanted:
                return choice
        number = wanted.rstrip(".)")
        if number.isascii() and number.isdigit() and len(number) < 9 and 1 <= int(number) <= len(choices):
            return choices[int(number) - 1]
        return None

    def _listed(self, observation: str) -> str:
        lines = [f"{number}. {choice}" for number, choice in enumerate(self._choices, 1)]
        return "\n".join((observation, self._title, *lines)) if lines else observation
