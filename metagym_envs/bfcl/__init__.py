"""The multi-turn part of the Berkeley Function Calling Leaderboard as a family (extra ``bfcl``)."""

from metagym_envs.bfcl.family import BFCL

__all__ = ["BFCL"]
