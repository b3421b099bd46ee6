"""Whether anything of a generation batch was measured, judged over all processes before the update."""

from __future__ import annotations

from typing import Any

from transformers import TrainerCallback

from metagym_trainers.ict.rewards import ReplayReward, refuse_unscored
from metagym_trainers.ranks import several, total


class JudgedTogether(TrainerCallback):  # type: ignore[misc, unused-ignore]
    """Lets a process whose own part could not be scored go on where the others' could.

    TRL awaits async rewards in another thread, from which no collective call may be made; so the reward counts, and the
    sum is taken here, on the thread that trains, before the weights are updated. (DeepSpeed has updated them by then:
    the run stops all the same, and nothing of that step is saved.) One process alone is judged by the reward itself.

    Args:
        reward: The training's reward.
    """

    def __init__(self, reward: ReplayReward) -> None:
        self.reward = reward

    def on_train_begin(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        """Takes the judgement over from the reward where several processes train."""
        self.reward.together, self.reward.measured = several(), None

    def on_pre_optimizer_step(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        """Judges the batch that was generated since the last update; every process generates in the same steps.

        Raises:
            TooManyFailures: Nothing was measured in any process, although there were candidates.
        """
        measured, self.reward.measured = self.reward.measured, None
        if self.reward.together and measured is not None:
            scored, played = total(measured.scored, measured.played)
            refuse_unscored(scored, played, measured.cause)

    def on_train_end(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        """Gives the judgement back, for evaluations."""
        self.reward.together = False
