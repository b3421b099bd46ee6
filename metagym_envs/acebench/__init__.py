"""ACEBench's agent split, from a local checkout of its public repository."""

from metagym_envs.acebench.family import ACEBench

__all__ = ["ACEBench"]
