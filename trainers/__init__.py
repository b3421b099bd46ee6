"""Trainers: TRL's GRPO on the three systems, by thin adapters (extra ``trl``; ``gpu`` adds vLLM).

Nothing here is imported before it is asked for: ``import metagym_trainers`` loads neither torch nor TRL.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from metagym_trainers.advantages import token_advantages
    from metagym_trainers.checkpoints import JsonPart, Part, StateCallback, check_alignment, latest_checkpoint
    from metagym_trainers.convert import rollout_columns, rollout_samples
    from metagym_trainers.episodes import TokenEpisode, TurnSpan
    from metagym_trainers.guards import check_config, end_ids
    from metagym_trainers.policies import HTTPPolicy, LocalPolicy, Policy, Sample
    from metagym_trainers.recording import Recorder
    from metagym_trainers.tracking import RolloutReward, Tracker
    from metagym_trainers.versions import require_trl, require_vllm

_HOMES = {
    "JsonPart": "checkpoints",
    "Part": "checkpoints",
    "StateCallback": "checkpoints",
    "check_alignment": "checkpoints",
    "latest_checkpoint": "checkpoints",
    "HTTPPolicy": "policies",
    "LocalPolicy": "policies",
    "Policy": "policies",
    "Sample": "policies",
    "Recorder": "recording",
    "RolloutReward": "tracking",
    "Tracker": "tracking",
    "TokenEpisode": "episodes",
    "TurnSpan": "episodes",
    "check_config": "guards",
    "end_ids": "guards",
    "require_trl": "versions",
    "require_vllm": "versions",
    "rollout_columns": "convert",
    "rollout_samples": "convert",
    "token_advantages": "advantages",
}

__all__ = [
    "HTTPPolicy",
    "JsonPart",
    "LocalPolicy",
    "Part",
    "Policy",
    "Recorder",
    "RolloutReward",
    "Sample",
    "StateCallback",
    "TokenEpisode",
    "Tracker",
    "TurnSpan",
    "check_alignment",
    "check_config",
    "end_ids",
    "latest_checkpoint",
    "require_trl",
    "require_vllm",
    "rollout_columns",
    "rollout_samples",
    "token_advantages",
]


def __getattr__(name: str) -> Any:
    """Imports a public name when it is first used (PEP 562)."""
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f"{__name__}.{_HOMES[name]}"), name)


def __dir__() -> list[str]:
    """The public names, loaded or not."""
    return sorted(__all__)
