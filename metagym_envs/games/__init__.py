"""TextArena's games as a family (extra ``games``)."""

from metagym_envs.games.family import Games

__all__ = ["Games"]
