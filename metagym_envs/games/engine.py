"""One game of TextArena at a table: its seats, its texts and a random generator of its own.

TextArena draws from Python's global generator and seeds it anew at every reset. Here each game gets a generator, which
its modules find in place of ``random`` while they are called: games at once do not disturb each other, and neither do
they move anybody's global generator.
"""

from __future__ import annotations

import copy
import importlib
import random
import sys
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from metagym.errors import BadInput, HostError
from metagym.extras import require
from metagym.seeding import derive
from metagym_envs.games.catalogue import Game
from metagym_envs.games.text import bracketed, shown

DEALS = 20
"""How often a start is dealt anew that the engine cannot make or that is over at once."""

_lock = threading.RLock()  # for the name `random` of the engine's modules, and for globals that Sokoban's search keeps


class _Chance(random.Random):
    Random = random.Random  # what else the engine takes from the module


class Table:
    """A game in play.

    Args:
        game: Which.
        settings: All its settings.

    Raises:
        BadInput: The engine refuses the settings.
        MissingExtra: TextArena is not installed.

    Attributes:
        seats: Numbers of the seats.
        engine: TextArena's object of the present game.
    """

    def __init__(self, game: Game, settings: Mapping[str, Any]) -> None:
        require("textarena", "games")
        module = importlib.import_module(f"textarena.envs.{game.folder}.env")
        found = getattr(module, f"{game.folder}Env")
        self.game, self.settings = game, dict(settings)
        self.seats = tuple(range(game.seats))
        self.engine: Any = None
        self._class = game.mend(found) if game.mend else found
        self._chance = _Chance(0)
        names = ("textarena.core", *(name for name in sys.modules if name.startswith(f"textarena.envs.{game.folder}.")))
        self._drawing = [sys.modules[name] for name in names if hasattr(sys.modules[name], "random")]

    @contextmanager
    def _called(self) -> Iterator[None]:
        with _lock:
            for module in self._drawing:
                module.random = self._chance  # type: ignore[attr-defined]
            try:
                yield
            finally:
                for module in self._drawing:
                    module.random = random  # type: ignore[attr-defined]

    def reset(self, seed: int) -> None:
        """Starts a game; equal seeds give equal games.

        Raises:
            BadInput: The engine refuses the settings.
            HostError: It makes no start.
        """
        for deal in range(DEALS):
            chance = derive(seed, "deal", deal)
            self._chance.seed(chance)
            with self._called():
                try:  # a new object every time: some keep their deck or their puzzle from one reset to the next
                    self.engine = self._class(**self.settings)
                    self.engine.reset(num_players=len(self.seats), seed=chance)
                except (ArithmeticError, RuntimeError):  # lights that are all out, a room without a place for a box
                    continue
                except (TypeError, ValueError, AssertionError, IndexError) as error:
                    raise BadInput(
                        f"TextArena refuses the settings {self.settings} of {self.game.name}: {str(error)[:200]}"
                    ) from error
            if not self.over:
                return
        raise HostError(f"TextArena made no start of {self.game.name} with {self.settings} in {DEALS} tries")

    @property
    def turn(self) -> int:
        """The seat whose turn it is."""
        return int(self.engine.state.current_player_id)

    @property
    def over(self) -> bool:
        """Whether the game is over."""
        return bool(self.engine.state.done)

    def act(self, text: str) -> None:
        """Makes the move that a text holds (see `metagym_envs.games.text.bracketed`) for the seat whose turn it is.

        Raises:
            HostError: The engine failed.
        """
        move = bracketed(text)
        self.engine.state.observations[self.turn].clear()  # this seat has read it
        with self._called():
            try:
                self.engine.step(move)
            except Exception as error:  # an engine may fail in any way
                raise HostError(
                    f"TextArena's {self.game.name} failed at {move}: {type(error).__name__}: {error}"
                ) from error

    def text(self, seat: int) -> str:
        """What a seat reads: all that it has been told since its last move."""
        read = shown(self.engine.state.observations[seat])
        if not self.over:
            return read
        reason = self.engine.state.game_info[seat].get("reason")
        return "\n\n".join(part for part in (read, f"Game over. {reason or ''}".strip()) if part)

    def legal(self) -> tuple[str, ...] | None:
        """Legal moves of the seat whose turn it is; none after the end, None where the game lists none."""
        if self.game.legal is None:
            return None
        return () if self.over else tuple(self.game.legal(self.engine))

    def paid(self, seat: int) -> float:
        """What the engine pays a seat; 0.0 before the end."""
        return float((self.engine.state.rewards or {}).get(seat, 0.0)) if self.over else 0.0

    def solved(self) -> bool:
        """Whether a game of one seat is solved."""
        if self.game.solved is not None:
            return self.over and self.game.solved(self.engine)
        return self.paid(0) >= 1.0

    def tried(self, move: str) -> Table:
        """The table after a move, on a copy; for games that hold no chance."""
        other = copy.copy(self)
        other.engine = copy.deepcopy(self.engine)
        other.act(move)
        return other
