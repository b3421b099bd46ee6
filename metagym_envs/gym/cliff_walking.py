"""CliffWalking: along a cliff to the goal, with a slip now and then."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Any

from metagym.families import Family
from metagym_envs.alfworld.rules.reader import Intent
from metagym_envs.gym.family import SEEDS, VALID_SEEDS
from metagym_envs.gym.grids import MOVES, Cell, first_steps
from metagym_envs.gym.world import World, family_of_world

ACTIONS = ("up", "right", "down", "left")  # 0 to 3, as in the environment's own documentation
ROWS, COLUMNS = 4, 12
_AT = re.compile(r"You are at row (\d+), column (\d+)")


def see(observation: Any, env: Any) -> str:
    """Where the agent is; the cliff and the goal never move."""
    row, column = divmod(int(observation), COLUMNS)
    return (
        f"You are at row {row}, column {column}. The goal is at row 3, column 11, the cliff in row 3, columns 1 to 10."
    )


def _cliff(cell: Cell) -> bool:
    return cell[0] == ROWS - 1 and 0 < cell[1] < COLUMNS - 1


def advise(text: str, rules: frozenset[str]) -> tuple[str, ...]:
    """See `metagym_envs.gym.world.World.advise`."""
    found = _AT.findall(text)
    if not found or not rules:
        return ()
    return _advise((int(found[-1][0]), int(found[-1][1])), rules)


@lru_cache(maxsize=4096)
def _advise(start: Cell, rules: frozenset[str]) -> tuple[str, ...]:
    def step(cell: Cell, move: str) -> Cell | None:
        row = min(max(cell[0] + MOVES[move][0], 0), ROWS - 1)
        column = min(max(cell[1] + MOVES[move][1], 0), COLUMNS - 1)
        return None if "cliff" in rules and _cliff((row, column)) else (row, column)

    if "away" in rules and start[0] > 0 and start[1] < COLUMNS - 1:  # to the upper edge first
        return ("up",)
    if "goal" in rules:
        return first_steps(start, (ROWS - 1, COLUMNS - 1), step, ACTIONS)
    if "cliff" in rules:
        return tuple(move for move in ACTIONS if step(start, move) is not None)
    return ()


INTENTS = (
    Intent(
        "goal",
        cues=("go going walk* move moving head heading step* reach* get getting + goal target destination",),
        teach=("Walk to the goal by the shortest way.", "Go towards the goal with every step."),
        fault="did not walk towards the goal",
    ),
    Intent(
        "cliff",
        cues=("avoid* walk* go keep stay* step* + cliff* edge + around off avoid* safe* past above",),
        cues_negated=("step* walk* go going move* enter* fall* + cliff*",),
        teach=("Never step onto the cliff: go around it.", "Walk around the cliff and never into it."),
        fault="stepped towards the cliff",
    ),
    Intent(
        "away",
        cues=("keep keeping stay* walk* go use climb* move* + top upper first row_0 far distance + row edge cliff*",),
        teach=(
            "Keep far from the cliff: go to the top row first, along it to the last column, and only then down.",
            "Walk along the top row, since a slip near the cliff costs everything.",
        ),
        weight=0.5,
        fault="walked close to the cliff, where a slip ends in it",
    ),
)

WORLD = World(
    name="CliffWalking",
    instructions=(
        "You walk on a grid of 4 rows and 12 columns, row 0 at the top. A step onto the cliff throws you back to the "
        "start and costs 100, any other step costs 1. The ground is slippery: a move goes its way or to either side of "
        "it, each with a chance of a third. Reach the goal. An action is one of: up, right, down, left."
    ),
    see=see,
    success="terminated",
    steps=200,
    kinds={"slippery": {"is_slippery": True}},
    intents=INTENTS,
    advise=advise,
    actions=ACTIONS,
    aliases={"north": "up", "east": "right", "south": "down", "west": "left"},
)


def CliffWalking(seeds: Any = SEEDS, valid_seeds: Any = VALID_SEEDS) -> Family:
    """A walk along a cliff on slippery ground.

    ## Description
    The agent walks from one lower corner of a grid to the other, past a cliff that throws it back to the start. The
    ground is slippery: without that, all games would be one.

    ## Observation
    The agent's row and column, and where goal and cliff are.

    ## Actions
    ``up``, ``right``, ``down``, ``left``; also as points of the compass or numbers 0 to 3.

    ## Rewards
    -1 for each step, -100 for one onto the cliff.

    ## Episode end
    Terminated on the goal, truncated after 200 steps. Success: ``terminated``.

    ## Arguments
    * ``seeds``, ``valid_seeds``: seeds of the two splits, e.g. ``"0-999"``.

    ## Source
    ``CliffWalking-v1`` of Gymnasium (`gymnasium.envs.toy_text.cliffwalking`), after Sutton and Barto, *Reinforcement
    Learning*, example 6.6.
    """
    return family_of_world(WORLD, seeds, valid_seeds)
