"""SPADE: environments written as programs, proved fair, and paid by the regret of the agent that plays them.

Programs find their base classes here: ``from metagym.spade import SyntheticEnv, ToolEnv``.
"""

from __future__ import annotations

from metagym.sandbox.bases import SyntheticEnv, ToolEnv

__all__ = ["SyntheticEnv", "ToolEnv"]
