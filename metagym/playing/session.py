"""One episode that can be taken back: undo plays it anew, from its reset, without its last actions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import gymnasium

from metagym.checks import whole
from metagym.errors import BadInput, HostError, MetaGymError


class Move(NamedTuple):
    """An action and what the environment said to it; the action is None at the reset."""

    action: str | None
    observation: str
    reward: float
    terminated: bool
    truncated: bool
    info: Mapping[str, Any]


class Session:
    """A text environment and the moves of its present episode.

    No engine needs to know how to go back: equal seeds and actions give equal episodes. In a meta-environment that
    means that undo plays the batches again, model calls included.

    Args:
        env: Text in, text out; closed by whoever made it.
        seed: Seed of every reset.
        options: Options of every reset.

    Attributes:
        moves: The moves so far, the reset first.
    """

    def __init__(self, env: gymnasium.Env[str, str], seed: int = 0, options: dict[str, Any] | None = None) -> None:
        self.env, self.seed, self.options = env, seed, options
        self.moves: list[Move] = []
        self.restart()

    @property
    def last(self) -> Move:
        """The last move."""
        return self.moves[-1]

    @property
    def done(self) -> bool:
        """Whether the episode is over."""
        return self.last.terminated or self.last.truncated

    @property
    def ret(self) -> float:
        """The return so far."""
        return sum(move.reward for move in self.moves)

    def restart(self) -> Move:
        """Starts the episode anew.

        Raises:
            HostError: The environment failed.
        """
        observation, info = self._called(self.env.reset, seed=self.seed, options=self.options)
        self.moves = [Move(None, observation, 0.0, False, False, info)]
        return self.last

    def act(self, action: str) -> Move:
        """Takes an action.

        Raises:
            BadInput: The episode is over, or the environment refuses the action; nothing happened.
            HostError: The environment failed.
        """
        if self.done:
            raise BadInput("the episode is over: take a move back or start anew")
        self.moves.append(Move(action, *self._called(self.env.step, action)))
        return self.last

    def undo(self, count: int = 1) -> bool:
        """Takes moves back by playing the episode again up to there.

        Args:
            count: How many; at least 1. More than there are means all.

        Returns:
            Whether the environment said the same again; otherwise the moves are those of the new play, which may have
            ended earlier.

        Raises:
            HostError: The environment failed.
        """
        kept = self.moves[: max(1, len(self.moves) - whole("the number of moves to take back", count, 1))]
        self.restart()
        for move in kept[1:]:
            if self.done:
                break
            self.act(move.action or "")
        return [move.observation for move in self.moves] == [move.observation for move in kept]

    def _called(self, call: Any, *arguments: Any, **named: Any) -> Any:
        try:
            return call(*arguments, **named)
        except MetaGymError:
            raise
        except Exception as error:  # an engine may fail in any way
            raise HostError(f"the environment failed: {type(error).__name__}: {error}") from error
