"""MiniHack: small levels of NetHack told in text, played by the real engine (extra ``minihack``).

* `levels`: which levels are played, as what task type; which are not, and why.
* `commands`, `questions`: from words to keys, and answers to what the game asks.
* `engine`: opening a level, its seed, its keys, how it ended.
* `screen`: from the engine's arrays to text.
* `env`: one game as a Gymnasium environment.
* `tasks`, `family`: all of it as a `metagym.Family`.
"""

from __future__ import annotations

from typing import Any

__all__ = ["MiniHack", "MiniHackGame"]


def __getattr__(name: str) -> Any:
    """Loads the family when it is first asked for; the engine itself is imported when the family is built."""
    if name == "MiniHack":
        from metagym_envs.minihack.family import MiniHack

        return MiniHack
    if name == "MiniHackGame":
        from metagym_envs.minihack.env import MiniHackGame

        return MiniHackGame
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
