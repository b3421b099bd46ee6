"""Environments of Gymnasium as families of text games.

* `onthefly`: a family of any Gymnasium environment, by its id (`from_gymnasium`).
* `family`: how a family is put together from an environment and the wrappers of `metagym_wrappers`.
* `making`, `seeds`: environments and seeds from what a user writes, or one sentence on why not.
* `world`: what is known of an environment that comes with a text of its own; `known` lists these.
* `stand_ins`: scripted actor and reflector over a world's table of advice.
* one module for each bundled family: toy text and classic control.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

_HOME = {
    "from_gymnasium": "onthefly",
    "FrozenLake": "frozen_lake",
    "Taxi": "taxi",
    "CliffWalking": "cliff_walking",
    "Blackjack": "blackjack",
    "CartPole": "cart_pole",
    "MountainCar": "mountain_car",
    "MountainCarContinuous": "mountain_car",
    "Acrobot": "acrobot",
    "Pendulum": "pendulum",
}

__all__ = [*_HOME]


def __getattr__(name: str) -> Any:
    """Loads a family when it is first asked for."""
    if name in _HOME:
        return getattr(import_module(f"{__name__}.{_HOME[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
