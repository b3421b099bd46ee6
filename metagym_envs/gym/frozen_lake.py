"""FrozenLake: walk over ice to the goal, around the holes."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from metagym.families import Family
from metagym_envs.alfworld.rules.reader import Intent
from metagym_envs.gym.family import SEEDS, VALID_SEEDS
from metagym_envs.gym.grids import MOVES, Cell, first_steps
from metagym_envs.gym.world import World, family_of_world

ACTIONS = ("left", "down", "right", "up")  # 0 to 3, as in the environment's own documentation
_SLIP = {"left": ("up", "left", "down"), "down": ("left", "down", "right")}
_SLIP |= {"right": ("down", "right", "up"), "up": ("right", "up", "left")}

_GRID = re.compile(r"(?:^[SFHG\[\]]+$\n?)+", re.MULTILINE)


def see(observation: Any, env: Any) -> str:
    """The map with the agent's cell in brackets, and how the ice is."""
    lake = env.unwrapped
    at = int(observation)
    return _told(lake.desc.tobytes(), lake.ncol, at, len(lake.P[at][0]) > 1)


@lru_cache(maxsize=4096)
def _told(letters: bytes, width: int, at: int, slippery: bool) -> str:
    row, column = divmod(at, width)
    text = letters.decode()
    here = text[at]
    marked = [f"[{letter}]" if number == at else letter for number, letter in enumerate(text)]
    rows = ["".join(marked[first : first + width]) for first in range(0, len(marked), width)]
    told = {"H": "You fell into a hole.", "G": "You reached the goal."}.get(here)
    if told is None:  # on ice one knows how it is
        told = f"The ice is {'slippery' if slippery else 'firm'}. You are at row {row}, column {column}."
    return "\n".join((told, *rows))


def _step(grid: tuple[str, ...], cell: Cell, move: str) -> Cell:
    row, column = cell[0] + MOVES[move][0], cell[1] + MOVES[move][1]
    return (row, column) if 0 <= row < len(grid) and 0 <= column < len(grid[0]) else cell


def _at(grid: tuple[str, ...], cell: Cell) -> str:
    return grid[cell[0]][cell[1]]


@lru_cache(maxsize=512)
def _chances(grid: tuple[str, ...]) -> Mapping[Cell, float]:
    """The chance to reach the goal from each cell of slippery ice, by value iteration (a third for each outcome)."""
    cells = [(row, column) for row in range(len(grid)) for column in range(len(grid[0]))]
    value = {cell: float(_at(grid, cell) == "G") for cell in cells}
    ice = [cell for cell in cells if _at(grid, cell) not in "GH"]
    for _ in range(200):
        moved = 0.0
        for cell in ice:
            best = max(_worth(grid, value, cell, move) for move in ACTIONS)
            moved, value[cell] = max(moved, abs(best - value[cell])), best
        if moved < 1e-6:
            break
    return value


def _worth(grid: tuple[str, ...], value: Mapping[Cell, float], cell: Cell, move: str) -> float:
    # A little less for every step, so that equal chances prefer the shorter way.
    return 0.999 * sum(value[_step(grid, cell, slip)] for slip in _SLIP[move]) / 3


def advise(text: str, rules: frozenset[str]) -> tuple[str, ...]:
    """See `metagym_envs.gym.world.World.advise`."""
    match = _GRID.search(text)
    if match is None or "[" not in match[0] or not rules:
        return ()
    return _advise(match[0].strip(), "slippery" in text[: match.start()], rules)


@lru_cache(maxsize=4096)
def _advise(drawn: str, slippery: bool, rules: frozenset[str]) -> tuple[str, ...]:
    grid = tuple(line.replace("[", "").replace("]", "") for line in drawn.split("\n"))
    lines = drawn.split("\n")
    row = next(number for number, line in enumerate(lines) if "[" in line)
    start = (row, lines[row].index("["))
    goals = [(r, line.index("G")) for r, line in enumerate(grid) if "G" in line]
    if _at(grid, start) in "GH" or not goals:
        return ()
    if slippery and "slip" in rules:
        if "goal" not in rules:  # out of reach of the holes, wherever that leads
            risk = {move: sum(_at(grid, _step(grid, start, s)) == "H" for s in _SLIP[move]) for move in ACTIONS}
            return tuple(move for move in ACTIONS if risk[move] == min(risk.values()))
        value = _chances(grid)
        worths = {move: _worth(grid, value, start, move) for move in ACTIONS}
        return tuple(move for move in ACTIONS if worths[move] >= max(worths.values()) - 1e-9)

    def step(cell: Cell, move: str) -> Cell | None:
        after = _step(grid, cell, move)
        return None if "holes" in rules and _at(grid, after) == "H" else after

    if "goal" in rules:
        return first_steps(start, goals[0], step, ACTIONS)
    if "holes" in rules:
        return tuple(move for move in ACTIONS if step(start, move) is not None)
    return ()


INTENTS = (
    Intent(
        "goal",
        cues=(
            "go going walk* move moving head heading step* travel* reach* get getting follow* take + goal g target "
            "destination + short* direct* toward towards straight path way route each every reach* go walk* head*",
        ),
        teach=(
            "Walk towards the goal G by the shortest way.",
            "With every step, go closer to the goal on the shortest path.",
            "Head straight for the goal: each move should bring you towards it.",
        ),
        fault="did not walk towards the goal",
    ),
    Intent(
        "holes",
        cues=(
            "avoid* walk* go going plan* step* move* route* bypass* keep stay + hole* h + around away avoid* safe* "
            "past clear off",
        ),
        cues_negated=("step* walk* go going move* enter* fall* + hole* h",),
        teach=(
            "Go around the holes H, and never step onto one.",
            "Plan a way around every hole.",
            "Never walk into a hole: go around it.",
        ),
        fault="stepped towards a hole, or took a way that leads through one",
    ),
    Intent(
        "slip",
        cues=("choose choosing pick* prefer* take move* walk* go keep steer* plan* + slip* slide* sliding sideways",),
        teach=(
            "On slippery ice, choose the move whose slips to the side are safe too.",
            "Where the ice is slippery, prefer moves that cannot slide you into a hole.",
        ),
        fault="moved on slippery ice so that a slip to the side could end in a hole",
    ),
)


def _map(seed: int, size: int, slippery: bool) -> Mapping[str, Any]:
    from gymnasium.envs.toy_text.frozen_lake import generate_random_map

    return {"desc": generate_random_map(size, 0.75 if not slippery else 0.85, seed=seed), "is_slippery": slippery}


def firm(seed: int) -> Mapping[str, Any]:
    """A map of five rows, firm ice."""
    return _map(seed, 5, False)


def slippery(seed: int) -> Mapping[str, Any]:
    """A map of four rows, slippery ice."""
    return _map(seed, 4, True)


WORLD = World(
    name="FrozenLake",
    instructions=(
        "You stand on a frozen lake, drawn as a map: S is the start, F is ice, H is a hole, G is the goal, and the "
        "brackets mark the cell where you are. Reach the goal; a hole ends the game. On firm ice you move as you wish, "
        "on slippery ice a move goes its way or to either side of it, each with a chance of a third. An action is one "
        "of: left, down, right, up."
    ),
    see=see,
    success="return > 0",
    steps=60,
    kinds={"firm": firm, "slippery": slippery},
    intents=INTENTS,
    advise=advise,
    actions=ACTIONS,
    aliases={"west": "left", "south": "down", "east": "right", "north": "up"},
)


def FrozenLake(seeds: Any = SEEDS, valid_seeds: Any = VALID_SEEDS) -> Family:
    """A walk over a frozen lake, on a new map for every task.

    ## Description
    The agent crosses a lake from start to goal, around holes. Maps are drawn from the task's seed: five rows of firm
    ice (type ``firm``), or four rows of slippery ice (type ``slippery``).

    ## Observation
    How the ice is, where the agent stands, and the map with that cell in brackets.

    ## Actions
    ``left``, ``down``, ``right``, ``up``; also as points of the compass or numbers 0 to 3.

    ## Rewards
    1 on the goal, else 0.

    ## Episode end
    Terminated on the goal or in a hole, truncated after 60 steps. Success: ``return > 0``.

    ## Arguments
    * ``seeds``, ``valid_seeds``: seeds of the two splits, e.g. ``"0-999"``.

    ## Source
    ``FrozenLake-v1`` of Gymnasium (`gymnasium.envs.toy_text.frozen_lake`), with its own generator of maps.
    """
    return family_of_world(WORLD, seeds, valid_seeds)
