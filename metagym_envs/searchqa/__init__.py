"""SearchQA: questions that are answered with the help of a search engine.

* `world`: an invented world, passages and questions about it, so that nothing has to be downloaded.
* `data`: where questions and passages come from.
* `env`: one question as a Gymnasium environment.
* `text`: what the actor is told, and the rule from a reply to one action.
* `rules`: scripted stand-ins for both seats.
* `family`: all of it as a `metagym.Family`.
"""

from __future__ import annotations

from typing import Any

__all__ = ["SearchQA", "SearchQuestion"]


def __getattr__(name: str) -> Any:
    """Loads the family when it is first asked for."""
    if name == "SearchQA":
        from metagym_envs.searchqa.family import SearchQA

        return SearchQA
    if name == "SearchQuestion":
        from metagym_envs.searchqa.env import SearchQuestion

        return SearchQuestion
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
