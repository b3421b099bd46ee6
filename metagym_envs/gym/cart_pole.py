"""CartPole: keep a pole upright on a cart."""

from __future__ import annotations

import re
from typing import Any

from metagym.families import Family
from metagym_envs.alfworld.rules.reader import Intent
from metagym_envs.gym.family import SEEDS, VALID_SEEDS
from metagym_envs.gym.world import World, family_of_world

ACTIONS = ("push left", "push right")  # 0 and 1, as in the environment's own documentation
_STATE = re.compile(
    r"cart position (\S+), cart velocity (\S+), pole angle (\S+) degrees, pole velocity (\S+) degrees per second"
)
_DEGREES = 57.29577951308232
TURN = 0.25
"""Seconds by which the pole's speed is weighed against its angle; anything from 0.1 to 1 balances for 200 steps."""


def see(observation: Any, env: Any) -> str:
    """The four numbers of the state, angles in degrees."""
    place, speed, angle, turn = observation.tolist()
    return (
        f"cart position {place:.3f}, cart velocity {speed:.3f}, pole angle {angle * _DEGREES:.2f} degrees, "
        f"pole velocity {turn * _DEGREES:.2f} degrees per second"
    )


def advise(text: str, rules: frozenset[str]) -> tuple[str, ...]:
    """See `metagym_envs.gym.world.World.advise`."""
    found = _STATE.findall(text)
    if not found:
        return ()
    angle, turn = float(found[-1][2]), float(found[-1][3])
    lean = (angle if "lean" in rules else 0.0) + (TURN * turn if "speed" in rules else 0.0)
    if not rules & {"lean", "speed"}:
        return ()
    return ("push right",) if lean > 0 else ("push left",)


INTENTS = (
    Intent(
        "lean",
        cues=("push* move moving drive act bring* go steer* + lean* tilt* angle falling falls side direction",),
        teach=(
            "Push the cart to the side to which the pole leans.",
            "If the pole angle is positive push right, if it is negative push left.",
        ),
        fault="pushed away from the side to which the pole leaned",
    ),
    Intent(
        "speed",
        cues=(
            "push* move moving drive act watch* consider* weigh* use count* add look* + pole it its + velocity speed* "
            "moving swing* turning rotat* fast",
        ),
        teach=(
            "Consider the velocity of the pole too: push against where it will be in a moment.",
            "Weigh the pole's speed as well as its angle when you push.",
        ),
        weight=0.8,
        fault="did not reckon with the speed of the pole",
    ),
)

WORLD = World(
    name="CartPole",
    instructions=(
        "A pole stands on a cart that runs on a track. Keep the pole upright for 200 steps: the game is lost when it "
        "leans more than 12 degrees, or the cart leaves the track at -2.4 or 2.4. Positions and angles are positive to "
        "the right. An action is one of: push left, push right."
    ),
    see=see,
    success="return >= 200",
    steps=200,
    kinds={"upright": {}},
    intents=INTENTS,
    advise=advise,
    actions=ACTIONS,
    aliases={"left": "push left", "right": "push right"},
)


def CartPole(seeds: Any = SEEDS, valid_seeds: Any = VALID_SEEDS) -> Family:
    """A pole to be kept upright on a cart.

    ## Description
    The agent pushes a cart left or right so that the pole on it does not fall.

    ## Observation
    Position and velocity of the cart, angle and velocity of the pole, in words and degrees.

    ## Actions
    ``push left``, ``push right``; also ``left``, ``right`` or numbers 0 and 1.

    ## Rewards
    1 for each step.

    ## Episode end
    Terminated when the pole falls or the cart leaves the track, truncated after 200 steps. Success:
    ``return >= 200``.

    ## Arguments
    * ``seeds``, ``valid_seeds``: seeds of the two splits, e.g. ``"0-999"``.

    ## Source
    ``CartPole-v1`` of Gymnasium (`gymnasium.envs.classic_control.cartpole`), after Barto, Sutton and Anderson,
    "Neuronlike adaptive elements that can solve difficult learning control problems", 1983.
    """
    return family_of_world(WORLD, seeds, valid_seeds)
