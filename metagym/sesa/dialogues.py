"""What the environments of both seats have in common."""

from __future__ import annotations

import gymnasium

from metagym.checks import whole
from metagym.episodes import Episode, Status, Turn
from metagym.errors import BadInput
from metagym.search import Searcher
from metagym.seeding import check_seed
from metagym.sesa.protocol import Final, Move, closed, move_of, tagged
from metagym.sesa.rollouts import FAMILY, RolloutSettings, SearchEnv
from metagym.spaces import FreeText
from metagym.tasks import Task

MAX_STEPS = 11
"""Turns of an episode: SSP's 10, and one that may only end it."""


class DialogueEnv(gymnasium.Env[str, str]):
    """One search dialogue at a time, and a record of it.

    Args:
        topk: Passages per search.
        max_steps: Most turns.
        information_tokens: Most tokens of one information block.
        render_mode: None or ``"ansi"``.
    """

    metadata = {"render_modes": ["ansi"], "render_fps": 1}
    final: Final = "answer"

    def __init__(self, topk: int, max_steps: int, information_tokens: int, render_mode: str | None) -> None:
        if render_mode not in (None, "ansi"):
            raise BadInput(f"render_mode is None or 'ansi', got {render_mode!r}")
        steps = whole("max_steps", max_steps, 1)
        self.settings = RolloutSettings(topk=topk, max_turns=steps - 1, information_tokens=information_tokens)
        self.render_mode = render_mode
        self.observation_space, self.action_space = FreeText(), FreeText()
        self._inner: SearchEnv | None = None
        self._turns: list[Turn] = []
        self._observation = ""
        self._seed = 0

    def _begin(self, prompt: str, searcher: Searcher) -> str:
        self._inner = SearchEnv(prompt, searcher, self.final, self.settings)
        self._turns = []
        self._observation, _ = self._inner.reset()
        return self._observation

    def _draw_seed(self, seed: int | None) -> None:
        super().reset(seed=None if seed is None else check_seed(seed))
        self._seed = seed if seed is not None else int(self.np_random.integers(2**62))

    def _turn(self, action: str) -> tuple[Move, bool]:
        """Plays one turn of the dialogue; the move, and whether the episode is over."""
        if not isinstance(action, str):
            raise BadInput(f"an action is text, got {type(action).__name__}")
        if self._inner is None:
            raise BadInput("the episode is over or has not begun: call reset before step")
        said, _, terminated, truncated, _ = self._inner.step(action)
        move = move_of(closed(action, self.final), self.final)
        self._turns.append(
            Turn(self._observation, closed(action, self.final), tagged(move), 0.0, terminated, truncated)
        )
        self._observation = said
        if terminated or truncated:
            self._inner = None
        return move, terminated or truncated

    def _episode(self) -> Episode:
        last = self._turns[-1]
        status = Status.OK if last.terminated else Status.TRUNCATED
        name = f"{self.final}-{self._seed}"
        return Episode(Task(FAMILY, name), tuple(self._turns), self._observation, 0.0, None, status)

    def render(self) -> str | None:
        """The current observation, with ``render_mode="ansi"``."""
        return self._observation if self.render_mode == "ansi" else None
