"""TextArena's games of two seats as PettingZoo environments, both seats open (extras ``games`` and ``pettingzoo``)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from metagym.errors import BadInput
from metagym.playing.aec import GameAEC, Moved
from metagym_envs.games.catalogue import GAMES, Game, find, settings_for
from metagym_envs.games.engine import Table


class TwoSeats:
    """A game of two seats as a `metagym.playing.aec.SeatGame`.

    Args:
        game: Which.
        settings: All its settings.
    """

    seats = ("player_0", "player_1")

    def __init__(self, game: Game, settings: Mapping[str, Any]) -> None:
        self.table = Table(game, settings)

    @property
    def turn(self) -> str:
        """The seat whose turn it is."""
        return self.seats[self.table.turn]

    def reset(self, seed: int) -> None:
        """Starts a game; equal seeds give equal games."""
        self.table.reset(seed)

    def observe(self, seat: str) -> str:
        """What a seat reads: all that it has been told since its last move."""
        return self.table.text(self.seats.index(seat))

    def info(self, seat: str) -> Mapping[str, Any]:
        """``success`` (won), and ``admissible`` for the seat whose turn it is."""
        number = self.seats.index(seat)
        legal = self.table.legal() if number == self.table.turn else ()
        return {"success": self.table.paid(number) > 0, "admissible": legal}

    def act(self, action: str) -> Moved:
        """Makes a move; all is paid at the end."""
        self.table.act(action)
        if not self.table.over:
            return Moved()
        return Moved({name: self.table.paid(number) for number, name in enumerate(self.seats)}, terminated=True)

    def close(self) -> None:
        """There is nothing to free."""


class GamesAEC(GameAEC):
    """A game of TextArena for two policies, turn by turn.

    ## Description
    Both seats, ``player_0`` and ``player_1``, are open: any two policies can be let into one game.

    ## Observation
    `FreeText`: what the game told the seat since its last move; first its rules. Cards and dice are told to their owner
    alone.

    ## Actions
    `FreeText`: a move in square brackets. ``info["admissible"]`` lists the legal ones for the seat whose turn it is.

    ## Rewards
    At the end 1.0 for the winner and -1.0 for the other, 0.0 each for a draw: their sum is 0.

    ## Episode end
    Terminated when the game ends by its rules, for both seats together; truncated after ``max_moves`` moves.

    ## Arguments
    * ``game``: name of a game of two seats, e.g. ``"KuhnPoker"``.
    * ``settings``: what wins over our settings of it.
    * ``max_moves``: cap on the moves of both seats together.
    * ``render_mode``: ``"ansi"`` or None.

    ## Source
    Guertler et al., "TextArena", 2025 (arXiv 2504.11442); package ``textarena`` 0.7.4, MIT.
    """

    metadata = {"name": "games_v0", "render_modes": ["ansi"], "is_parallelizable": False}

    def __init__(
        self,
        game: str = "TicTacToe",
        settings: Mapping[str, Any] | None = None,
        max_moves: int = 200,
        render_mode: str | None = None,
    ) -> None:
        found = find(game)
        if found.seats != 2:
            others = ", ".join(name for name, one in GAMES.items() if one.seats == 2)
            raise BadInput(f"{found.name} has one seat; games of two seats are {others}")
        super().__init__(TwoSeats(found, settings_for(found, settings or {})), max_moves, render_mode)
