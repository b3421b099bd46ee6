"""Problems with one answer (mathematics, multiple choice, code): benchmarks that papers report, from local files."""

from metagym_envs.problems.family import Problems

__all__ = ["Problems"]
