"""One game of TextArena as a Gymnasium environment, text in and text out."""

from __future__ import annotations

from collections.abc import Mapping
from random import Random
from typing import Any

import gymnasium

from metagym.errors import BadInput
from metagym.playing.rival import Rival, RivalSeat
from metagym.seeding import check_seed, derive, rng
from metagym.spaces import FreeText
from metagym_envs.games.catalogue import Game
from metagym_envs.games.engine import DEALS, Table
from metagym_envs.games.opponents import move_of
from metagym_envs.games.text import FORBIDDEN, INSTRUCTIONS, clean

PARTIAL = 0.95
"""Most that a game of one seat pays without being solved."""

OVER = "[over]"
"""The one move that is listed where a rival ended the game before the agent's first."""

_TOLD = f"The game is over before your first move. Answer with {OVER} to end it."


class TextArenaGame(gymnasium.Env[str, str]):
    """A puzzle, or a game of two seats against a scripted opponent or a model.

    ## Description
    The agent plays one of TextArena's games. Games of one seat are puzzles: a minefield, a tower, a secret code. In
    games of two seats the other one is a script that moves at random or carefully, or a chat model that is asked as the
    agent is; who begins follows from the seed.

    ## Observation
    `FreeText`: what the game told the agent since its last move; first its rules. Of several boards the last is shown.
    What the opponent did is told in the game's words.

    ## Actions
    `FreeText`: a move in square brackets, in the form that the rules name. ``info["admissible"]`` lists the legal ones
    where they are few enough to list. Two moves in a row that the rules forbid end the game.

    ## Rewards
    At the end. One seat: 1.0 for a solved game, else the engine's measure of how much was done, in [0, 0.95]. Two
    seats: 1.0 for a win, 0.0 for a draw, -1.0 for a loss. 0.0 before the end.

    ## Episode end
    Terminated when the game ends by its rules, its own limit of turns included; where a model in the other seat ends it
    before the agent's first move, with that move, whatever it is (``[over]`` is listed). `info` holds ``success``
    (solved, or won), ``seat`` (the agent's number in the texts) and, after the end, ``reason`` in the engine's words
    and the ``scores`` of a game of two seats (``win``, ``draw``, ``loss``).

    ## Arguments
    * ``game``: the game.
    * ``settings``: all its settings.
    * ``seed``: of the start, the chances in play and the opponent; ``reset`` may be handed another one.
    * ``opponent``: ``"random"``, ``"careful"``, or a `metagym.playing.rival.Rival`.
    * ``seat``: the agent's seat, 0 or 1; None lets the seed decide.

    ## Source
    Guertler et al., "TextArena", 2025 (arXiv 2504.11442); package ``textarena`` 0.7.4, MIT.
    """

    metadata = {"render_modes": []}

    def __init__(
        self,
        game: Game,
        settings: Mapping[str, Any],
        seed: int = 0,
        opponent: str | Rival = "random",
        seat: int | None = None,
    ) -> None:
        self.game, self.seed, self.opponent = game, check_seed(seed), opponent
        self.observation_space, self.action_space = FreeText(), FreeText()
        self._table = Table(game, settings)
        self._wanted, self.seat = seat, 0
        self._chance = Random(0)
        self._rival: RivalSeat | None = None
        self._open = False

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[str, dict[str, Any]]:
        """Starts a game.

        Args:
            seed: Of the game from now on; None starts the same game again.
            options: None.

        Raises:
            BadInput: An option is given, the engine refuses the settings, or with them the game is over before the
                agent's first move.
        """
        super().reset(seed=seed)
        if options:
            raise BadInput(f"reset of a game knows no option, got {sorted(map(str, options))}")
        if seed is not None:
            self.seed = check_seed(seed)
        self.seat = derive(self.seed, "seat") % self.game.seats if self._wanted is None else self._wanted
        self._chance = rng(self.seed, "opponent")
        for deal in range(DEALS):  # an opponent who begins may win at once: then another game is dealt
            self._table.reset(derive(self.seed, "deal again", deal) if deal else self.seed)
            if isinstance(self.opponent, Rival):
                self._rival = RivalSeat(
                    self.opponent, derive(self.seed, "opponent", deal, self.seat), INSTRUCTIONS, clean, FORBIDDEN
                )
            self._others()
            # A rival who begins may end the game at once; the agent learns of it, and its first move changes nothing.
            self._open = not self._table.over or self._rival is not None
            if self._open:
                break
        else:
            raise BadInput(
                f"{self.game.name} with {self._table.settings} is over before the agent's first move: "
                "choose other settings, or seat=0"
            )
        text = self._table.text(self.seat)
        return f"{text}\n\n{_TOLD}" if self._table.over else text, self._info()

    def step(self, action: str) -> tuple[str, float, bool, bool, dict[str, Any]]:
        """Makes a move, and then those of the opponent.

        Raises:
            BadInput: The action is no text, or the game is over or has not begun.
            HostError: The engine failed.
        """
        if not isinstance(action, str):
            raise BadInput(f"a move is text, got {type(action).__name__}")
        if not self._open:
            raise BadInput("this game is over or has not begun: call reset before step")
        if not self._table.over:
            self._table.act(action)
            self._others()
        self._open = not self._table.over
        return self._table.text(self.seat), self._reward(), self._table.over, False, self._info()

    def _others(self) -> None:
        while not self._table.over and self._table.turn != self.seat:
            self._table.act(self._answer())

    def _answer(self) -> str:
        if self._rival is None:
            return move_of(self._table, str(self.opponent), self._chance)
        return self._rival.move(self._table.text(1 - self.seat), self._table.legal())

    def _reward(self) -> float:
        paid = self._table.paid(self.seat)
        if self.game.seats == 2 or not self._table.over:
            return paid
        return 1.0 if self._table.solved() else min(max(paid, 0.0), PARTIAL)

    def _info(self) -> dict[str, Any]:
        table = self._table
        won = table.solved() if self.game.seats == 1 else table.paid(self.seat) > 0
        info: dict[str, Any] = {"success": bool(won), "seat": self.seat}
        legal = [OVER] if table.over and self._open else table.legal()
        if legal is not None:
            info["admissible"] = legal
        if table.over:
            info["reason"] = str(table.engine.state.game_info[self.seat].get("reason") or "")
            if self.game.seats == 2:
                paid = table.paid(self.seat)
                info["scores"] = {"win": float(paid > 0), "draw": float(paid == 0), "loss": float(paid < 0)}
        return info
