"""ICT: training the reflector by the replay reward (arXiv 2605.20477)."""

from metagym_trainers.ict.curriculum import Curriculum, PolicyReflector
from metagym_trainers.ict.replays import Replay, Replays
from metagym_trainers.ict.rewards import ReplayReward
from metagym_trainers.ict.rows import ReplaySpec, ict_dataset

__all__ = ["Curriculum", "PolicyReflector", "Replay", "ReplayReward", "ReplaySpec", "Replays", "ict_dataset"]
