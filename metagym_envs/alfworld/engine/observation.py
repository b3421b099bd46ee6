"""What a reset or a step gives back."""

from __future__ import annotations

from typing import TYPE_CHECKING

from metagym.errors import EngineError
from metagym_envs.alfworld.engine.menu import admissible_commands

if TYPE_CHECKING:
    from metagym_envs.alfworld.engine.play import Player


class Observation:
    """What a reset or a step gives back.

    Attributes:
        feedback: The text.
        won: Whether the goal holds now. It may stop holding: taking the thing out again undoes it.
    """

    __slots__ = ("feedback", "won", "_player", "_turn", "_admissible")

    feedback: str
    won: bool

    def __init__(self, feedback: str, won: bool, player: Player) -> None:
        """Made by `Player`."""
        self.feedback = feedback
        self.won = won
        self._player = player
        self._turn = player.turn
        self._admissible: list[str] | None = None

    @property
    def admissible(self) -> list[str]:
        """The commands that do something now, in the engine's order; computed when first read.

        Raises:
            EngineError: It is read for the first time after the player has moved on.
        """
        found = self._admissible
        if found is None:
            if self._turn != self._player.turn:
                raise EngineError("the player has moved on: read `admissible` before the next step")
            found = self._admissible = admissible_commands(self._player)
        return found

    @property
    def score(self) -> int:
        """1 while the goal holds, else 0."""
        return 1 if self.won else 0

    @property
    def done(self) -> bool:
        """Whether the engine calls the game over: while the goal holds. It goes on accepting commands."""
        return self.won

    def __repr__(self) -> str:
        """The text and whether the game is won."""
        return f"Observation({self.feedback!r}, won={self.won})"
