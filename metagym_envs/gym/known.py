"""The environments that come with a text of their own."""

from __future__ import annotations

from metagym_envs.gym import acrobot, blackjack, cart_pole, cliff_walking, frozen_lake, mountain_car, pendulum, taxi
from metagym_envs.gym.world import World

WORLDS: dict[str, World] = {
    world.name: world
    for world in (
        *(frozen_lake.WORLD, taxi.WORLD, cliff_walking.WORLD, blackjack.WORLD, cart_pole.WORLD, acrobot.WORLD),
        *(mountain_car.WORLD, mountain_car.WORLD_FORCE, pendulum.WORLD),
    )
}
"""By their names in Gymnasium's registry, without versions."""
