"""Pendulum: swing it up and keep it there, with a weak motor."""

from __future__ import annotations

import math
import re
from typing import Any

import numpy as np
from gymnasium import spaces

from metagym.families import Family
from metagym_envs.alfworld.rules.reader import Intent
from metagym_envs.gym.family import SEEDS, VALID_SEEDS
from metagym_envs.gym.world import World, family_of_world

MOST = 2.0
"""The motor's torque."""
_STATE = re.compile(r"angle (\S+) degrees from upright, speed (\S+) degrees per second")


def see(observation: Any, env: Any) -> str:
    """Angle from upright and speed."""
    cos, sin, speed = observation.tolist()
    angle = math.degrees(math.atan2(sin, cos))
    return f"angle {angle:.1f} degrees from upright, speed {math.degrees(speed):.1f} degrees per second"


def advise(text: str, rules: frozenset[str]) -> tuple[str, ...]:
    """See `metagym_envs.gym.world.World.advise`."""
    found = _STATE.findall(text)
    if not found:
        return ()
    angle, speed = math.radians(float(found[-1][0])), math.radians(float(found[-1][1]))
    if abs(angle) < 0.5 and abs(speed) < 3:
        if "catch" not in rules:
            return ()
        torque = -(12 * angle + 3 * speed)
    elif "pump" in rules:
        # The energy of a rod of length and mass 1 under g = 10; upright and at rest it has 5.
        energy = speed * speed / 6 + 5 * math.cos(angle)
        torque = MOST * (1 if speed >= 0 else -1) * (1 if energy < 5 else -1)
    else:
        return ()
    return (f"[{round(min(max(torque, -MOST), MOST), 2)}]",)


INTENTS = (
    Intent(
        "pump",
        cues=(
            "swing* pump* push* torque* apply* build* + direction moving speed* momentum way energy + low down hang* "
            "far below bottom until up enough",
        ),
        teach=(
            "While it hangs low, push in the direction in which it is moving, until it has swung up.",
            "Pump it up: full torque in the direction of its speed while it is far from upright.",
        ),
        fault="did not push with its motion while it was far from upright",
    ),
    Intent(
        "catch",
        cues=(
            "catch* balanc* brake* hold* push* torque* keep* stop* + upright top up near close + against brake* "
            "balanc* counter* hold* opposite stay* still",
        ),
        teach=(
            "Near upright, brake: push against its angle and its speed, so that it stays there.",
            "Close to the top, balance it by a torque against the side to which it leans.",
        ),
        fault="did not brake near upright",
    ),
)

WORLD = World(
    name="Pendulum",
    instructions=(
        "A rod hangs from a motor that is too weak to lift it at once. Swing it upright and keep it there for the rest "
        "of 200 steps, with little speed and little torque. Angles and torques are positive counterclockwise. "
        "An action is a torque, a number from -2 to 2."
    ),
    see=see,
    success="steps >= 200 and return > -400",
    steps=200,
    kinds={"swing": {}},
    intents=INTENTS,
    advise=advise,
    space=spaces.Box(-MOST, MOST, (1,), np.float32),
    idle=("[-2.0]", "[-1.0]", "[0.0]", "[1.0]", "[2.0]"),
)


def Pendulum(seeds: Any = SEEDS, valid_seeds: Any = VALID_SEEDS) -> Family:
    """A rod to be swung up and kept upright by a weak motor.

    ## Description
    The agent turns a motor; the rod must be swung back and forth before it comes up.

    ## Observation
    Angle from upright and speed, in degrees.

    ## Actions
    A torque from -2 to 2, bare or as a JSON list of one.

    ## Rewards
    Minus the squared angle, and a little for speed and torque, at each step.

    ## Episode end
    Truncated after 200 steps. Success: ``steps >= 200 and return > -400`` (upright for most of the time: an actor that
    acts at random gets about -1,200).

    ## Arguments
    * ``seeds``, ``valid_seeds``: seeds of the two splits, e.g. ``"0-999"``.

    ## Source
    ``Pendulum-v1`` of Gymnasium (`gymnasium.envs.classic_control.pendulum`).
    """
    return family_of_world(WORLD, seeds, valid_seeds)
