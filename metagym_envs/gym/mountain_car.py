"""MountainCar, with three actions or with a force: swing up out of a valley."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
from gymnasium import spaces

from metagym.families import Family
from metagym_envs.alfworld.rules.reader import Intent
from metagym_envs.gym.family import SEEDS, VALID_SEEDS
from metagym_envs.gym.world import World, family_of_world

ACTIONS = ("push left", "no push", "push right")  # 0 to 2, as in the environment's own documentation
_STATE = re.compile(r"position (\S+), velocity (\S+)")


def see(observation: Any, env: Any) -> str:
    """Position and velocity."""
    position, velocity = observation.tolist()
    return f"position {position:.4f}, velocity {velocity:.5f}"


def _swing(text: str, rules: frozenset[str]) -> float | None:
    """The direction in which the advice pushes: 1.0 right, -1.0 left; None where it says nothing."""
    found = _STATE.findall(text)
    if not found or "swing" not in rules:
        return None
    return 1.0 if float(found[-1][1]) >= 0 else -1.0


def advise(text: str, rules: frozenset[str]) -> tuple[str, ...]:
    """See `metagym_envs.gym.world.World.advise`."""
    side = _swing(text, rules)
    return () if side is None else ("push right",) if side > 0 else ("push left",)


def advise_force(text: str, rules: frozenset[str]) -> tuple[str, ...]:
    """The same with the full force."""
    side = _swing(text, rules)
    return () if side is None else (f"[{side}]",)


INTENTS = (
    Intent(
        "swing",
        cues=(
            "push* drive accelerat* force* go move moving act swing* build* gain* + direction way velocity momentum "
            "moving speed* swing*",
        ),
        teach=(
            "Always push in the direction in which the car is moving, to build up momentum.",
            "Swing up: push right while the velocity is positive, left while it is negative.",
        ),
        fault="pushed against the direction in which the car was moving",
    ),
)

_VALLEY = (
    "A car stands in a valley, at a position of about -0.5; its engine is too weak to climb the hill on the right "
    "directly. Reach position {goal} on the right hill. Positive velocity is to the right. "
)

WORLD = World(
    name="MountainCar",
    instructions=_VALLEY.replace("{goal}", "0.5") + "An action is one of: push left, no push, push right.",
    see=see,
    success="terminated",
    steps=200,
    kinds={"valley": {}},
    intents=INTENTS,
    advise=advise,
    actions=ACTIONS,
    aliases={"left": "push left", "none": "no push", "right": "push right"},
)

WORLD_FORCE = World(
    name="MountainCarContinuous",
    instructions=_VALLEY.replace("{goal}", "0.45")
    + "An action is a number from -1 (full force to the left) to 1 (full force to the right).",
    see=see,
    success="terminated",
    steps=200,
    kinds={"valley": {}},
    intents=INTENTS,
    advise=advise_force,
    space=spaces.Box(-1, 1, (1,), np.float32),
    idle=("[-1.0]", "[-0.5]", "[0.0]", "[0.5]", "[1.0]"),
)


def MountainCar(seeds: Any = SEEDS, valid_seeds: Any = VALID_SEEDS) -> Family:
    """A weak car that has to swing out of a valley.

    ## Description
    The agent drives back and forth in a valley until it is fast enough to climb the right hill.

    ## Observation
    Position and velocity.

    ## Actions
    ``push left``, ``no push``, ``push right``; also ``left``, ``none``, ``right`` or numbers 0 to 2.

    ## Rewards
    -1 for each step.

    ## Episode end
    Terminated on the right hill, truncated after 200 steps. Success: ``terminated``.

    ## Arguments
    * ``seeds``, ``valid_seeds``: seeds of the two splits, e.g. ``"0-999"``.

    ## Source
    ``MountainCar-v0`` of Gymnasium (`gymnasium.envs.classic_control.mountain_car`), after Moore, *Efficient
    Memory-based Learning for Robot Control*, 1990.
    """
    return family_of_world(WORLD, seeds, valid_seeds)


def MountainCarContinuous(seeds: Any = SEEDS, valid_seeds: Any = VALID_SEEDS) -> Family:
    """The same car, driven with a force.

    ## Description
    As MountainCar; the action is the force, and force costs.

    ## Observation
    Position and velocity.

    ## Actions
    A number from -1 to 1, bare or as a JSON list of one.

    ## Rewards
    100 on the right hill, less a tenth of the squared force of each step.

    ## Episode end
    Terminated on the right hill, truncated after 200 steps. Success: ``terminated``.

    ## Arguments
    * ``seeds``, ``valid_seeds``: seeds of the two splits, e.g. ``"0-999"``.

    ## Source
    ``MountainCarContinuous-v0`` of Gymnasium (`gymnasium.envs.classic_control.continuous_mountain_car`).
    """
    return family_of_world(WORLD_FORCE, seeds, valid_seeds)
