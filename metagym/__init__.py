"""MetaGym: meta-environments in which one outer action is a whole batch of inner episodes.

Importing it registers the environments of every installed family with Gymnasium::

    import gymnasium, metagym

    env = gymnasium.make("MetaGym/ICT-ALFWorld-v0", actor="rules", batch_size=5)
    observation, info = env.reset(seed=0)
    observation, reward, terminated, truncated, info = env.step("If something is closed, open it.")
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from metagym import errors, seeding
from metagym.episodes import Episode, Status, Turn, Usage
from metagym.families import Family, family_from_gymnasium, load_family
from metagym.registration import load_plugins, register_family, register_systems
from metagym.spaces import FreeText
from metagym.tasks import Task, TaskSet, TaskStream

if TYPE_CHECKING:
    from metagym import chat, sesa
    from metagym.playing import ActorSettings, PlaySettings, play, play_async

__version__ = "0.1.0"

__all__ = [
    "ActorSettings",
    "Episode",
    "Family",
    "FreeText",
    "PlaySettings",
    "Status",
    "Task",
    "TaskSet",
    "TaskStream",
    "Turn",
    "Usage",
    "chat",
    "errors",
    "family_from_gymnasium",
    "load_family",
    "play",
    "play_async",
    "register_family",
    "seeding",
    "sesa",
]

_LAZY = {
    "ActorSettings": "metagym.playing",
    "PlaySettings": "metagym.playing",
    "play": "metagym.playing",
    "play_async": "metagym.playing",
}


def __getattr__(name: str) -> Any:
    """Loads what needs more than the nouns at its first use."""
    if name in ("chat", "sesa"):
        return import_module(f"metagym.{name}")
    if name in _LAZY:
        value = globals()[name] = getattr(import_module(_LAZY[name]), name)
        return value
    raise AttributeError(f"module 'metagym' has no attribute {name!r}")


register_systems()
load_plugins()
