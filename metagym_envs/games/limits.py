"""What the settings of a game may be: beyond them TextArena's engines loop for good, or make games that are none.

The engines check hardly any of their arguments. With more mines than squares Minesweeper's first move never returns,
Sokoban's generator finds no room of five squares a side, Sudoku's hardly one of 20 clues, and a board of no rows is won
before it began. The limits are ours: what was seen to start within seconds.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from metagym.errors import BadInput

Range = tuple[int, int]

_TURNS: Range = (1, 100_000)
_ROUNDS: Range = (1, 1_000)
RANGES: Mapping[str, Mapping[str, Range]] = {
    "2048": {"target_tile": (8, 131_072)},
    "FrozenLake": {"size": (3, 20), "num_holes": (0, 133)},
    "GuessTheNumber": {"min_number": (-(10**9), 10**9), "max_number": (-(10**9), 10**9), "max_turns": _TURNS},
    "LightsOut": {"size": (2, 20), "max_turns": _TURNS},
    "Mastermind": {"code_length": (1, 20), "num_numbers": (2, 100), "max_turns": _TURNS},
    "Minesweeper": {"rows": (4, 50), "cols": (4, 50), "num_mines": (1, 2_491), "max_turns": _TURNS},
    "Secretary": {"N": (2, 1_000)},
    "Sokoban": {"num_boxes": (1, 3), "max_turns": _TURNS},
    "Sudoku": {"clues": (25, 80), "max_turns": _TURNS},
    "Battleship": {"grid_size": (7, 10)},
    "Chopsticks": {"max_turns": _TURNS},
    "ColonelBlotto": {"num_fields": (2, 3), "num_total_units": (3, 20), "num_rounds": _ROUNDS},
    "ConnectFour": {"num_rows": (4, 20), "num_cols": (4, 20)},
    "IteratedMatchingPennies": {"num_rounds": _ROUNDS},
    "IteratedRockPaperScissors": {"num_rounds": _ROUNDS},
    "IteratedTwoThirdsAverage": {"num_rounds": _ROUNDS},
    "KuhnPoker": {"max_rounds": _ROUNDS},
    "LiarsDice": {"num_dice": (1, 20)},
    "MemoryGame": {"grid_size": (2, 8), "max_turns": _TURNS},
    "Othello": {"board_size": (4, 20)},
    "PigDice": {"winning_score": (1, 10_000), "max_turns": _TURNS},
    "SimpleTak": {"board_size": (3, 6)},
}
"""Least and greatest value of each setting that is a whole number, by game."""
LISTS: Mapping[str, tuple[str, Range, Range]] = {
    "Nim": ("piles", (1, 20), (1, 1_000)),
    "Sokoban": ("dim_room", (2, 2), (6, 10)),
}
"""The setting that is a list of whole numbers: its name, its length, its values."""
_FREE_SQUARES = 9
"""Minesweeper's first move and its neighbours hold no mine."""


def check_settings(name: str, settings: Mapping[str, Any]) -> None:
    """Makes sure that a game can be made with these settings.

    Args:
        name: The game.
        settings: All its settings.

    Raises:
        BadInput: One of them is out of its range, or they do not fit together.
    """
    for setting, limits in RANGES.get(name, {}).items():
        if not _within(settings[setting], limits):
            raise BadInput(
                f"{setting} of {name} is a whole number from {limits[0]} to {limits[1]}, got {settings[setting]!r:.100}"
            )
    if name in LISTS:
        setting, length, limits = LISTS[name]
        found = settings[setting]
        if not (
            isinstance(found, (list, tuple))
            and length[0] <= len(found) <= length[1]
            and all(_within(value, limits) for value in found)
        ):
            count = f"{length[0]}" if length[0] == length[1] else f"{length[0]} to {length[1]}"
            raise BadInput(
                f"{setting} of {name} is a list of {count} whole numbers from {limits[0]} to {limits[1]}, "
                f"got {found!r:.100}"
            )
    if name == "Minesweeper":
        _at_most(name, "num_mines", settings, settings["rows"] * settings["cols"] - _FREE_SQUARES)
    elif name == "MemoryGame" and settings["grid_size"] % 2:
        raise BadInput(f"grid_size of MemoryGame is even, since its cards are pairs, got {settings['grid_size']}")
    elif name == "FrozenLake":  # with more it plays a map of its own in place of a random one
        _at_most(name, "num_holes", settings, settings["size"] ** 2 // 3)


def _within(value: Any, limits: Range) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and limits[0] <= value <= limits[1]


def _at_most(name: str, setting: str, settings: Mapping[str, Any], most: int) -> None:
    if settings[setting] > most:
        raise BadInput(f"{setting} of {name} is at most {most} on a board of this size, got {settings[setting]}")
