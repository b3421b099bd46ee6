"""SPADE: designer and agent as two roles of one policy, trained together.

SpadeTraining      the layout of a generation batch, and how its rows are paid
SpadeCore          one generation after another, for any trainer
SpadeRollout       the core as `rollout_func` of TRL's GRPOTrainer
SpadeWorker        the core as rollout worker of TRL's AsyncGRPOTrainer

"""

from __future__ import annotations

from metagym_trainers.spade.core import Generation, SpadeCore
from metagym_trainers.spade.paper import training_of
from metagym_trainers.spade.rollout import SpadeRollout, check_geometry, grpo_settings, run, slots_dataset
from metagym_trainers.spade.settings import SpadeTraining
from metagym_trainers.spade.worker import SpadeWorker

__all__ = [
    "Generation",
    "SpadeCore",
    "SpadeRollout",
    "SpadeTraining",
    "SpadeWorker",
    "check_geometry",
    "grpo_settings",
    "run",
    "slots_dataset",
    "training_of",
]
