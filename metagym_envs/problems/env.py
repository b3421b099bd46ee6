"""One problem as a Gymnasium environment, text in and text out."""

from __future__ import annotations

from typing import Any

import gymnasium

from metagym.errors import BadInput
from metagym.spaces import FreeText
from metagym_envs.problems.rows import Row, shown
from metagym_envs.problems.scoring import Scored, Scorer

AGAIN = "That is not right. Look at the problem once more and give another answer."


class Problem(gymnasium.Env[str, str]):
    r"""A problem with one answer, with one or two attempts.

    ## Description
    The agent reads a problem of a benchmark (AIME, GPQA, MATH-500, GSM8K, LiveCodeBench, HumanEval, or rows of that
    shape) and answers it. With two turns, a first answer that is not right is called so, and the agent may try again.

    ## Observation
    `FreeText`: the problem; after a wrong first answer of two, that it was wrong, and for code which test failed first
    and how, never what the test expects.

    ## Actions
    `FreeText`: the answer alone: an expression (``\boxed{...}`` around it is taken off), a letter, or source code.

    ## Rewards
    1.0 for a right last answer, 0.0 otherwise and before. Expressions are compared by math-verify, programs are run on
    their tests, functions under their check, all in confined workers of the sandbox. What a worker dies of is wrong.

    ## Episode end
    Terminated by a right answer or by the last attempt. `info` holds ``success``, ``attempts``, ``engine`` (what
    judges, and what confined it), and after an answer ``verdict``, ``detail``, ``scores`` and ``final_answer`` (the
    answer as majorities count it; None for code).

    ## Arguments
    * ``row``: the problem.
    * ``scorer``: what judges.
    * ``turns``: attempts, 1 or 2.

    ## Source
    The benchmarks' own pages; see docs/problems.md for each one's file. Two turns are SPADE's setting for its
    evaluation on Reasoning Gym.
    """

    metadata = {"render_modes": []}

    def __init__(self, row: Row, scorer: Scorer, turns: int = 1) -> None:
        self.row, self.scorer, self.turns = row, scorer, turns
        self.observation_space, self.action_space = FreeText(), FreeText()
        self._attempts, self._open, self._engine = 0, False, ""
        self._scored: Scored | None = None

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[str, dict[str, Any]]:
        """Poses the problem.

        Args:
            seed: As in Gymnasium; a problem holds no chance.
            options: None.

        Raises:
            BadInput: An option is given.
            MissingExtra: What judges is not installed.
            SandboxUnavailable: A layer of the sandbox is missing: before any model is asked.
        """
        super().reset(seed=seed)
        if options:
            raise BadInput(f"reset of a problem knows no option, got {sorted(map(str, options))}")
        self._engine = self.scorer.start()
        self._attempts, self._scored, self._open = 0, None, True
        return shown(self.row), self._info()

    def step(self, action: str) -> tuple[str, float, bool, bool, dict[str, Any]]:
        """Takes an answer.

        Raises:
            BadInput: The answer is no text, the episode is over or has not begun, or the row's own label or check
                cannot be used.
            SandboxUnavailable: A layer of the sandbox is missing.
        """
        if not isinstance(action, str):
            raise BadInput(f"an answer is text, got {type(action).__name__}")
        if not self._open:
            raise BadInput("this episode is over or has not begun: call reset before step")
        self._attempts += 1
        self._scored = scored = self.scorer.score(self.row, action)
        done = scored.right or self._attempts >= self.turns
        self._open = not done
        observation = "" if done else f"{AGAIN} ({scored.told})" if scored.told else AGAIN
        return observation, float(scored.right), done, False, self._info()

    def _info(self) -> dict[str, Any]:
        info: dict[str, Any] = {"success": False, "attempts": self._attempts, "engine": self._engine}
        if (scored := self._scored) is not None:
            info |= {
                "success": scored.right,
                "verdict": scored.verdict,
                "detail": scored.detail,
                "scores": dict(scored.scores),
                "final_answer": scored.final,
            }
        return info
