"""ICT: training the reflector by the replay reward (arXiv 2605.20477)."""

from metagym_trainers.ict.replays import Replays
from metagym_trainers.ict.rewards import ReplayReward
from metagym_trainers.ict.rows import ict_dataset

__all__ = ["Replays", "ReplayReward", "ict_dataset"]
