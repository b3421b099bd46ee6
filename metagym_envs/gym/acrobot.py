"""Acrobot: swing a double pendulum up to the line."""

from __future__ import annotations

import math
import re
from typing import Any

from metagym.families import Family
from metagym_envs.alfworld.rules.reader import Intent
from metagym_envs.gym.family import SEEDS, VALID_SEEDS
from metagym_envs.gym.world import World, family_of_world

ACTIONS = ("torque -1", "no torque", "torque +1")  # 0 to 2, as in the environment's own documentation
_STATE = re.compile(r"second link: angle (\S+) degrees, speed (\S+)")


def see(observation: Any, env: Any) -> str:
    """Angles and speeds of both links; an angle of 0 hangs straight down, or straight on."""
    cos1, sin1, cos2, sin2, speed1, speed2 = observation.tolist()
    first, second = (math.degrees(math.atan2(sin, cos)) for sin, cos in ((sin1, cos1), (sin2, cos2)))
    return (
        f"first link: angle {first:.1f} degrees, speed {speed1:.3f}; "
        f"second link: angle {second:.1f} degrees, speed {speed2:.3f}"
    )


def advise(text: str, rules: frozenset[str]) -> tuple[str, ...]:
    """See `metagym_envs.gym.world.World.advise`."""
    found = _STATE.findall(text)
    if not found or "pump" not in rules:
        return ()
    return ("torque +1",) if float(found[-1][1].rstrip(".,;")) > 0 else ("torque -1",)


INTENTS = (
    Intent(
        "pump",
        cues=(
            "torque* push* apply* act swing* turn* pump* + direction way speed* velocity sign moving swing* turning",
        ),
        teach=(
            "Apply the torque in the direction in which the second link is turning, to pump up its swing.",
            "Push the way the lower link moves: torque +1 while its speed is positive, -1 while it is negative.",
        ),
        fault="applied a torque against the turning of the second link",
    ),
)

WORLD = World(
    name="Acrobot",
    instructions=(
        "Two links hang from a fixed point; you can turn the joint between them. Swing the lower end up until it is "
        "higher than one link's length above the fixed point. The first link's angle is measured from straight down, "
        "the second's from the line of the first. An action is one of: torque -1, no torque, torque +1."
    ),
    see=see,
    success="terminated",
    steps=200,
    kinds={"swing": {}},
    intents=INTENTS,
    advise=advise,
    actions=ACTIONS,
    aliases={"negative torque": "torque -1", "positive torque": "torque +1", "none": "no torque"},
)


def Acrobot(seeds: Any = SEEDS, valid_seeds: Any = VALID_SEEDS) -> Family:
    """A double pendulum to be swung up by its middle joint.

    ## Description
    The agent turns the joint between two hanging links until the lower end swings above a line.

    ## Observation
    Angles and speeds of both links, in degrees.

    ## Actions
    ``torque -1``, ``no torque``, ``torque +1``, or numbers 0 to 2.

    ## Rewards
    -1 for each step that does not end it.

    ## Episode end
    Terminated above the line, truncated after 200 steps. Success: ``terminated``.

    ## Arguments
    * ``seeds``, ``valid_seeds``: seeds of the two splits, e.g. ``"0-999"``.

    ## Source
    ``Acrobot-v1`` of Gymnasium (`gymnasium.envs.classic_control.acrobot`), after Sutton, "Generalization in
    Reinforcement Learning: Successful Examples Using Sparse Coarse Coding", 1996.
    """
    return family_of_world(WORLD, seeds, valid_seeds)
