"""One question of Reasoning Gym as a Gymnasium environment, text in and text out."""

from __future__ import annotations

from typing import Any

import gymnasium

from metagym.errors import BadInput
from metagym.spaces import FreeText
from metagym_envs.reasoning.data import Item
from metagym_envs.reasoning.scoring import score

AGAIN = "That is not right. Look at the question once more and give another answer."


class ReasoningQuestion(gymnasium.Env[str, str]):
    """A question that a program made and can check, with one or two attempts.

    ## Description
    The agent reads a question of one of Reasoning Gym's data sets (arithmetic, algebra, puzzles, games, logic, ...)
    and answers it. With two turns, a first answer that is not right is called so, and the agent may answer again.

    ## Observation
    `FreeText`: the question; after a wrong first answer of two, that it was wrong.

    ## Actions
    `FreeText`: the answer alone, possibly over several lines.

    ## Rewards
    At the end the score of the last answer in [0, 1] as the data set's own scorer gives it (see
    `metagym_envs.reasoning.scoring` for what is not handed to it); 0.0 before.

    ## Episode end
    Terminated by a right answer (score 1) or by the last attempt. `info` holds ``success`` (the score is 1), ``score``
    (None before the first answer) and ``attempts``.

    ## Arguments
    * ``item``: the question.
    * ``name``: name of its data set.
    * ``turns``: attempts, 1 or 2.

    ## Source
    Stojanovski et al., "Reasoning Gym", 2025 (arXiv 2505.24760); package ``reasoning-gym``, Apache-2.0. Two turns are
    SPADE's setting for its evaluation.
    """

    metadata = {"render_modes": []}

    def __init__(self, item: Item, name: str, turns: int = 1) -> None:
        self.item, self.name, self.turns = item, name, turns
        self.observation_space, self.action_space = FreeText(), FreeText()
        self._attempts, self._score, self._open = 0, None, False

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[str, dict[str, Any]]:
        """Asks the question.

        Args:
            seed: As in Gymnasium; a question holds no chance.
            options: None.

        Raises:
            BadInput: An option is given.
        """
        super().reset(seed=seed)
        if options:
            raise BadInput(f"reset of a reasoning question knows no option, got {sorted(map(str, options))}")
        self._attempts, self._score, self._open = 0, None, True
        return str(self.item.entry["question"]), self._info()

    def step(self, action: str) -> tuple[str, float, bool, bool, dict[str, Any]]:
        """Takes an answer.

        Raises:
            BadInput: The answer is no text, or the episode is over or has not begun.
        """
        if not isinstance(action, str):
            raise BadInput(f"an answer is text, got {type(action).__name__}")
        if not self._open:
            raise BadInput("this episode is over or has not begun: call reset before step")
        self._attempts += 1
        self._score = value = score(self.item.dataset, self.name, self.item.entry, action or None)
        done = value == 1 or self._attempts >= self.turns
        self._open = not done
        return "" if done else AGAIN, value if done else 0.0, done, False, self._info()

    _score: float | None

    def _info(self) -> dict[str, Any]:
        return {"success": self._score == 1, "score": self._score, "attempts": self._attempts}
