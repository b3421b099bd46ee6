"""Taxi: fetch a passenger and bring it to its destination."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Any

from metagym.families import Family
from metagym_envs.alfworld.rules.reader import Intent
from metagym_envs.gym.family import SEEDS, VALID_SEEDS
from metagym_envs.gym.grids import Cell, first_steps
from metagym_envs.gym.world import World, family_of_world

ACTIONS = ("south", "north", "east", "west", "pick up", "drop off")  # 0 to 5, as in the environment's documentation
STOPS: dict[str, Cell] = {"R": (0, 0), "G": (0, 4), "Y": (4, 0), "B": (4, 3)}
WALLS = frozenset({(0, 1), (1, 1), (3, 0), (4, 0), (3, 2), (4, 2)})
"""Cells with a wall on their east side."""
_MOVES = {"south": (1, 0), "north": (-1, 0), "east": (0, 1), "west": (0, -1)}
_STATE = re.compile(
    r"The taxi is at row (\d), column (\d)\. The passenger (?:waits at ([RGYB])|is in the taxi)[^.]*\. "
    r"The destination is ([RGYB])"
)


def see(observation: Any, env: Any) -> str:
    """Where the taxi, the passenger and the destination are (the environment's own encoding, decoded)."""
    row, column, passenger, destination = env.unwrapped.decode(int(observation))
    names = tuple(STOPS)
    goal = names[destination]
    waits = "is in the taxi" if passenger == 4 else f"waits at {_stop(names[passenger])}"
    return f"The taxi is at row {row}, column {column}. The passenger {waits}. The destination is {_stop(goal)}."


def _stop(name: str) -> str:
    row, column = STOPS[name]
    return f"{name} (row {row}, column {column})"


def advise(text: str, rules: frozenset[str]) -> tuple[str, ...]:
    """See `metagym_envs.gym.world.World.advise`."""
    found = _STATE.findall(text)
    return _advise(*found[-1], rules) if found and rules else ()


@lru_cache(maxsize=8192)
def _advise(row: str, column: str, waits: str, goal: str, rules: frozenset[str]) -> tuple[str, ...]:
    at = (int(row), int(column))
    if waits:
        if "fetch" not in rules:
            return ()
        return ("pick up",) if at == STOPS[waits] else _way(at, STOPS[waits], "walls" in rules)
    if "deliver" not in rules:
        return ()
    return ("drop off",) if at == STOPS[goal] else _way(at, STOPS[goal], "walls" in rules)


def _way(at: Cell, goal: Cell, around: bool) -> tuple[str, ...]:
    def step(cell: Cell, move: str) -> Cell | None:
        row, column = cell[0] + _MOVES[move][0], cell[1] + _MOVES[move][1]
        if not (0 <= row < 5 and 0 <= column < 5):
            return None
        if around and ((move == "east" and cell in WALLS) or (move == "west" and (row, column) in WALLS)):
            return None
        return row, column

    found = first_steps(at, goal, step, tuple(_MOVES))
    return found if around else found[-1:]  # who knows of no walls insists on one way


INTENTS = (
    Intent(
        "fetch",
        cues=("drive driving go going get getting fetch* pick picking collect* head* + passenger*",),
        teach=(
            "First drive to the passenger and pick it up there.",
            "Fetch the passenger: go to where it waits, then pick up.",
        ),
        fault="did not drive to the waiting passenger and pick it up",
    ),
    Intent(
        "deliver",
        cues=("drive driving go going bring* take carry* deliver* drop* head* + destination*",),
        teach=(
            "Once somebody is aboard, drive to the destination and drop off there.",
            "Bring whoever is in the taxi to the destination, and drop off only there.",
        ),
        fault="had the passenger and did not bring it to the destination",
    ),
    Intent(
        "walls",
        cues=("drive driving go going plan* route* detour* avoid* steer* move* turn* + wall walls barrier*",),
        teach=("Drive around the walls of the map.", "Plan your way around walls: a move against one does nothing."),
        weight=0.6,
        fault="drove against a wall, or a way that a wall blocks",
    ),
)

WORLD = World(
    name="Taxi",
    instructions=(
        "You drive a taxi on a grid of 5 rows and 5 columns, row 0 at the top. Fetch the passenger where it waits and "
        "drop it off at its destination. Walls (|) block moves east and west; the map is\n"
        "|R: | : :G|\n| : | : : |\n| : : : : |\n| | : | : |\n|Y| : |B: |\n"
        "Each step costs 1, a wrong pick up or drop off 10, a delivery earns 20. An action is one of: south, north, "
        "east, west, pick up, drop off."
    ),
    see=see,
    success="terminated",
    steps=60,
    kinds={"dry": {}, "rainy": {"is_rainy": True}},
    intents=INTENTS,
    advise=advise,
    actions=ACTIONS,
    aliases={
        "down": "south",
        "up": "north",
        "right": "east",
        "left": "west",
        "pickup": "pick up",
        "dropoff": "drop off",
    },
)


def Taxi(seeds: Any = SEEDS, valid_seeds: Any = VALID_SEEDS) -> Family:
    """A taxi that fetches a passenger and brings it to its destination.

    ## Description
    Four stops on a grid with walls; where the taxi starts, where the passenger waits and where it wants to go follows
    from the task's seed. In type ``rainy`` a move may go to the side.

    ## Observation
    Where the taxi, the passenger and the destination are.

    ## Actions
    ``south``, ``north``, ``east``, ``west``, ``pick up``, ``drop off``, or numbers 0 to 5. ``info["admissible"]`` lists
    those that change something, by the environment's own mask.

    ## Rewards
    -1 for each step, -10 for a wrong pick up or drop off, 20 for the delivery.

    ## Episode end
    Terminated by the delivery, truncated after 60 steps. Success: ``terminated``.

    ## Arguments
    * ``seeds``, ``valid_seeds``: seeds of the two splits, e.g. ``"0-999"``.

    ## Source
    The newest ``Taxi`` of Gymnasium (`gymnasium.envs.toy_text.taxi`), after Dietterich, "Hierarchical Reinforcement
    Learning with the MAXQ Value Function Decomposition", 2000.
    """
    return family_of_world(WORLD, seeds, valid_seeds)
