"""What the trainers ask of a world: how a challenge is made and checked, how a question is answered, what cards say.

The trainers, the driver and the bookkeeping know nothing of searches, passages or prompts.
`metagym_trainers.sesa.search` is the world of SESA's paper, on `metagym.sesa`; `metagym_trainers.tiny.relations` is a
toy for tests and demonstrations.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from metagym.episodes import Episode
from metagym.sesa.challenger import Challenge
from metagym.sesa.contexts import ChallengerContext, Seed
from metagym.sesa.deploy import Blocks
from metagym.sesa.distil import Distilled
from metagym.sesa.retrieval import SkillBlock
from metagym.sesa.rounds import Attempt
from metagym.sesa.skills import SkillBank
from metagym.sesa.snapshots import BankSnapshot
from metagym_trainers.episodes import TokenEpisode
from metagym_trainers.policies import Policy
from metagym_trainers.sesa.cards import CardDropout


@dataclass(frozen=True)
class Question:
    """A question with its answers.

    Attributes:
        text: What the solver is asked.
        answers: Its gold answers.
        id: Unique among those of a set; names it in records.
    """

    text: str
    answers: tuple[str, ...]
    id: str = ""


@dataclass(frozen=True)
class Asked:
    """One challenge, as the world reads it and as tokens.

    Attributes:
        challenge: What was asked; not checked yet.
        tokens: The same as token ids with its mask; no reward yet.
    """

    challenge: Challenge
    tokens: TokenEpisode


@dataclass(frozen=True)
class Answered:
    """One attempt at a question, as the world reads it and as tokens.

    Attributes:
        episode: Scored; unscored where search or judge failed.
        tokens: The same as token ids with its mask; its reward is None where nothing was measured.
    """

    episode: Episode
    tokens: TokenEpisode


class World(Protocol):
    """A world of questions; all methods may run many times at once on one event loop.

    Error contract: what fails in one episode becomes that episode's status (`Episode.status`, `Challenge.failed`), so
    that it enters no reward; what ends everything (`BudgetExceeded`, `CacheMiss`) is raised.
    """

    @property
    def name(self) -> str:
        """As in tables and records."""
        ...

    @property
    def held_out(self) -> Sequence[Question]:
        """Questions of the evaluation: no challenge may repeat one, and no card may come from one."""
        ...

    def seeds(self, count: int, seed: int) -> list[Seed]:
        """Where the challenges of a round start."""
        ...

    def challenger_prompt(self, context: ChallengerContext) -> str:
        """The challenger's first message; made of the context alone, which holds no card."""
        ...

    def solver_prompt(self, question: str, skills: SkillBlock) -> str:
        """The solver's first message."""
        ...

    async def ask(self, start: Seed, prompt: str, policy: Policy, seed: int) -> Asked:
        """Lets a policy make one challenge."""
        ...

    async def vet(self, challenges: Sequence[Challenge], seed: int) -> list[Challenge]:
        """Checks challenges; what cannot be checked is rejected, and named."""
        ...

    async def answer(self, question: Question, prompt: str, policy: Policy, seed: int) -> Answered:
        """Lets a policy attempt one question once, and scores it."""
        ...

    def blocks(self, snapshot: BankSnapshot, dropout: CardDropout) -> Blocks:
        """What retrieves the cards of a question."""
        ...

    def placebo(self, blocks: Blocks, seed: int) -> Blocks:
        """Blocks of the same form and length whose content is of no use."""
        ...

    async def distil(self, attempts: Sequence[Attempt], bank: SkillBank, step: int, seed: int) -> Distilled:
        """Makes cards of failures at the frontier."""
        ...

    def uses(self, attempts: Sequence[Attempt]) -> list[tuple[str, bool]]:
        """(card, won) of every scored rollout that counts for or against a card."""
        ...
