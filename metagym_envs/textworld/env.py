"""One generated TextWorld game as a Gymnasium environment, text in and text out."""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from typing import Any

import gymnasium

from metagym.errors import BadInput
from metagym.spaces import FreeText
from metagym_envs.textworld.games import compiled, quiet
from metagym_envs.textworld.text import shown


class TextWorldGame(gymnasium.Env[str, str]):
    """A game of TextWorld's own challenges, played by the real interpreter.

    ## Description
    A world of rooms, doors, containers and things, made from a seed, with a quest: find and place something
    (``simple``), cook a meal by a recipe (``cooking``), walk to a coin (``coin_collector``) or find the object that is
    named (``treasure_hunter``).

    ## Observation
    `FreeText`: what the game printed, without banner, status line and prompt; first the objective and the room.

    ## Actions
    `FreeText`: a command. ``info["admissible"]`` lists those that the game knows here, sorted.

    ## Rewards
    What the score rose by, over the greatest possible score: the return of a won game is 1.0. A lost game earns no
    less than it had.

    ## Episode end
    Terminated when the quest is won or lost (``info["success"]``, ``info["lost"]``). `info` also holds ``score`` and
    ``max_score``.

    ## Arguments
    * ``challenge``: see `metagym_envs.textworld.games.CHALLENGES`.
    * ``settings``: all its settings.
    * ``seed``: of the game.

    ## Source
    Côté et al., "TextWorld: A Learning Environment for Text-based Games", 2018 (arXiv 1806.11532); package
    ``textworld`` 1.7, MIT.
    """

    metadata = {"render_modes": []}

    def __init__(self, challenge: str, settings: Mapping[str, Any], seed: int) -> None:
        textworld = importlib.import_module("textworld")
        wanted = textworld.EnvInfos(admissible_commands=True, won=True, lost=True, score=True, max_score=True)
        path = compiled(challenge, settings, seed)
        with quiet():
            self._game = textworld.start(str(path), wanted)
        self.observation_space, self.action_space = FreeText(), FreeText()
        self._state: Any = None
        self._score = 0.0

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[str, dict[str, Any]]:
        """Starts the game from its beginning.

        Args:
            seed: As in Gymnasium; the game was made from its own seed, and playing it holds no chance.
            options: None.

        Raises:
            BadInput: An option is given.
        """
        super().reset(seed=seed)
        if options:
            raise BadInput(f"reset of a TextWorld game knows no option, got {sorted(map(str, options))}")
        self._state, self._score = self._game.reset(), 0.0
        return shown(self._state.feedback), self._info()

    def step(self, action: str) -> tuple[str, float, bool, bool, dict[str, Any]]:
        """Sends a command.

        Raises:
            BadInput: It is no text, or the game is over or has not begun.
        """
        if not isinstance(action, str):
            raise BadInput(f"a command of TextWorld is text, got {type(action).__name__}")
        if self._state is None or self._state.won or self._state.lost:
            raise BadInput("this game is over or has not begun: call reset before step")
        command = " ".join(action.split())[
            :200
        ]  # one line; the interpreter would read a second one as a second command
        self._state, score, _ = self._game.step(command or "look")
        reward = (float(score) - self._score) / max(1, self._state.max_score)
        self._score = float(score)
        return shown(self._state.feedback), reward, bool(self._state.won or self._state.lost), False, self._info()

    def close(self) -> None:
        """Ends the interpreter."""
        self._game.close()
        self._state = None

    def _info(self) -> dict[str, Any]:
        state = self._state
        over = state.won or state.lost
        return {
            "admissible": () if over else tuple(sorted(state.admissible_commands)),
            "success": bool(state.won),
            "lost": bool(state.lost),
            "score": int(self._score),
            "max_score": int(state.max_score),
        }
