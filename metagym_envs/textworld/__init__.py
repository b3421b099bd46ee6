"""TextWorld's own generated games as a family (extra ``textworld``)."""

from metagym_envs.textworld.family import TextWorld

__all__ = ["TextWorld"]
