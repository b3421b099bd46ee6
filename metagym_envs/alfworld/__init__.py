"""ALFWorld: household tasks told in text.

* `engine`: our own engine, equal to the real one to the byte.
* `generator`, `scenes`: our own games, so that nothing has to be downloaded.
* `data`, `published`: where games come from.
* `expert`: a scripted expert over the engine's state.
* `text`: what the actor is told, and the rule from free text to one command.
* `family`: all of it as a `metagym.Family`.
"""

from __future__ import annotations

from typing import Any

__all__ = ["ALFWorld", "ALFWorldGame"]


def __getattr__(name: str) -> Any:
    """Loads the family when it is first asked for: the engine alone stays light."""
    if name == "ALFWorld":
        from metagym_envs.alfworld.family import ALFWorld

        return ALFWorld
    if name == "ALFWorldGame":
        from metagym_envs.alfworld.env import ALFWorldGame

        return ALFWorldGame
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
