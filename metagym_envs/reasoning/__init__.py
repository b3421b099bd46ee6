"""Reasoning Gym's data sets as a family (extra ``reasoning``)."""

from metagym_envs.reasoning.family import Reasoning

__all__ = ["Reasoning"]
