"""What the wrappers share: texts that must be texts, functions given by name, and answers to what is no action."""

from __future__ import annotations

import copy
from collections.abc import Callable
from importlib import import_module
from typing import Any

import gymnasium
from gymnasium.utils import RecordConstructorArgs

from metagym.checks import shown
from metagym.errors import BadInput
from metagym.spaces import FreeText

Step = tuple[Any, float, bool, bool, dict[str, Any]]


class Recorded(gymnasium.Wrapper[Any, Any, Any, Any], RecordConstructorArgs):
    """A wrapper that stands in ``env.spec`` with its arguments, so that ``spec.make()`` builds it again.

    Args:
        env: What is wrapped.
        **arguments: The arguments of the wrapper, for the spec. Texts, numbers and lists keep ``spec.to_json`` working.
    """

    def __init__(self, env: gymnasium.Env[Any, Any], **arguments: Any) -> None:
        RecordConstructorArgs.__init__(self, **arguments)
        gymnasium.Wrapper.__init__(self, env)

    @property
    def called(self) -> str:
        """How messages call the wrapped environment: its id, or its class."""
        spec = self.env.spec
        return spec.id if spec is not None else type(self.env.unwrapped).__name__


class Answering(Recorded):
    """A wrapper that answers a text which is no action itself: the step costs a step and changes nothing.

    The observation is the reason and, where observations are text, the last one again; the reward is 0.0, nothing ends,
    and ``info["action_error"]`` holds the reason.
    """

    _last: Step | None = None

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        """Starts an episode."""
        observation, info = self.env.reset(seed=seed, options=options)
        info = self._told(info)
        self._last = (observation, 0.0, False, False, info)
        return observation, info

    def _told(self, info: dict[str, Any]) -> dict[str, Any]:
        """What the wrapper adds to every info."""
        return info

    def _taken(self, action: Any) -> Step:
        """The step of the wrapped environment."""
        observation, reward, terminated, truncated, info = self.env.step(action)
        self._last = out = (observation, reward, terminated, truncated, self._told(info))  # type: ignore[assignment]
        return out  # type: ignore[return-value]

    def _refused(self, reason: str) -> Step:
        """The answer to what is no action."""
        if self._last is None:
            raise BadInput("call reset before step")
        observation, _, terminated, truncated, info = self._last
        if isinstance(observation, str):
            observation = f"Nothing was done: {reason}.\n{observation}"
        # Users keep what they are given, so nothing is given twice.
        again = copy.deepcopy((observation, info))
        return again[0], 0.0, terminated, truncated, {**again[1], "action_error": reason}

    def _text(self, action: Any) -> str:
        if not isinstance(action, str):
            raise BadInput(f"an action of {self.called} is text, got {type(action).__name__}")
        return action


def needs_text(wrapper: Recorded, name: str) -> None:
    """Makes sure that observations are text.

    Raises:
        BadInput: They are not; the message names the wrapper that makes text of them.
    """
    space = wrapper.env.observation_space
    if not isinstance(space, (FreeText, gymnasium.spaces.Text)):
        raise BadInput(
            f"{name} needs observations that are text, those of {wrapper.called} are {shown(space)}: "
            "put TextObservation around it first"
        )


def resolved(thing: str | Callable[..., Any] | None, what: str) -> Callable[..., Any] | None:
    """A function, or the one that ``"module:attribute"`` names.

    Raises:
        BadInput: It cannot be imported or called.
    """
    if isinstance(thing, str):
        module, colon, attribute = thing.partition(":")
        if not (module and colon and attribute):
            raise BadInput(f"{what} is a function or 'module:function', got {thing!r}")
        try:
            thing = getattr(import_module(module), attribute)
        except Exception as error:  # an import may fail in any way; the reader needs the real reason
            raise BadInput(f"{what}: {thing!r} cannot be imported: {type(error).__name__}: {error}") from error
    if thing is not None and not callable(thing):
        raise BadInput(f"{what} is a function or 'module:function', got {shown(thing)}")
    return thing
