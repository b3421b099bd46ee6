"""One round of self-play as four calls that a loop puts together: `challenge`, `attempt`, `rewards`, `distil`.

    challenges = await challenge(seeds, contexts, challenger, searcher, verifier=judge)
    attempts = await attempt(challenges, SkillRetriever(bank.snapshot()), solver, searcher)
    paid = rewards(challenges, attempts, load_shape("quadratic"))
    await distil([one.tried for one in attempts], bank, distiller)

Nothing here keeps state and nothing but `metagym.sesa.distil.distil` writes to a bank; each result has a JSON form.
"""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from typing import Any

from metagym.answers import AnswerScorer
from metagym.chat.types import ChatModel
from metagym.checks import number, settle, whole
from metagym.episodes import Episode
from metagym.errors import BadInput
from metagym.search import Searcher
from metagym.seeding import derive
from metagym.sesa.cards import question_sha256
from metagym.sesa.challenger import Challenge, ask, vet
from metagym.sesa.contexts import ChallengerContext, Seed, SolverContext
from metagym.sesa.distil import Tried
from metagym.sesa.diversity import DISTANCE, repetition
from metagym.sesa.embedders import Embedder
from metagym.sesa.filters import FilterSettings
from metagym.sesa.retrieval import SkillBlock, SkillRetriever
from metagym.sesa.rollouts import RolloutSettings
from metagym.sesa.shaping import MIN_VALID, Measured, Shape, check_rollouts, measure
from metagym.sesa.solver import ROLLOUTS, outcomes_of, score_answers, solve

PENALTY = -1.0
"""Reward of a question that does not count: SSP's configuration; its released script sets 0."""


@dataclass(frozen=True)
class RewardSettings:
    """What the challenger is paid beside the shape.

    Attributes:
        penalty: Reward of a rejected question.
        min_valid: Scored rollouts below which a question is dropped.
        repetition: Weight of the share of the batch that asks the same; 0 switches it off, R-Zero has 1.
        distance: Average distance up to which questions are the same.
    """

    penalty: float = PENALTY
    min_valid: int = MIN_VALID
    repetition: float = 0.0
    distance: float = DISTANCE

    def __post_init__(self) -> None:
        """Checks the ranges."""
        settle(self, "penalty", number, -1000.0, 1000.0)
        settle(self, "min_valid", whole, 1)
        settle(self, "repetition", number, 0.0)
        settle(self, "distance", number, 0.0, 2.0)


@dataclass(frozen=True)
class Attempt:
    """What the solver made of one question.

    Attributes:
        question: The question.
        answers: Its gold answers.
        episodes: Its rollouts, scored.
        probes: Further rollouts without skills, scored; they measure what the skills are worth and enter nothing else.
        skills: What stood in the rollouts' prompts.
    """

    question: str
    answers: tuple[str, ...]
    episodes: tuple[Episode, ...]
    probes: tuple[Episode, ...] = ()
    skills: SkillBlock = SkillBlock()

    @property
    def tried(self) -> Tried:
        """The same for the distiller."""
        return Tried(self.question, self.answers, self.episodes, self.skills.ids)

    @property
    def outcomes(self) -> tuple[bool | None, ...]:
        """Success of each rollout; None where it is unscored."""
        return outcomes_of(self.episodes)

    @property
    def uses(self) -> list[tuple[str, bool]]:
        """(card, won) of each scored rollout and card, for `SkillBank.record_uses`."""
        return [(id_, won) for won in self.outcomes if won is not None for id_ in self.skills.ids]

    def to_json(self) -> dict[str, Any]:
        """The attempt as a JSON object. It holds skills: it is never a part of a challenger's row."""
        return {
            "question": self.question,
            "answers": list(self.answers),
            "episodes": [episode.to_json() for episode in self.episodes],
            "probes": [episode.to_json() for episode in self.probes],
            "skills": {"text": self.skills.text, "ids": list(self.skills.ids), "dropped": list(self.skills.dropped)},
        }


@dataclass(frozen=True)
class Paid:
    """What one challenge earned.

    Attributes:
        reward: None where nothing was measured (search or judge down): it enters no batch of training rows.
        measured: How the solver did; None where it was not asked.
        share: Share of the batch that asks the same; None where it was not computed.
        reason: The rejection's code, ``failed``, ``dropped`` (too few scored rollouts), or "" for a valid question.
    """

    reward: float | None
    measured: Measured | None = None
    share: float | None = None
    reason: str = ""


async def challenge(
    seeds: Sequence[Seed],
    contexts: Sequence[ChallengerContext],
    model: ChatModel,
    searcher: Searcher,
    *,
    settings: RolloutSettings | None = None,
    filters: FilterSettings | None = None,
    verifier: ChatModel | None = None,
    scorer: AnswerScorer | None = None,
    held_out: Collection[str] = (),
    seed: int = 0,
) -> list[Challenge]:
    """Lets the challenger ask, and checks what it asked; see `metagym.sesa.challenger.ask` and `vet`."""
    asked = await ask(seeds, contexts, model, searcher, settings=settings, seed=derive(seed, "ask"))
    return await vet(asked, filters, verifier=verifier, scorer=scorer, held_out=held_out, seed=derive(seed, "vet"))


async def attempt(
    questions: Sequence[Challenge] | Sequence[tuple[str, tuple[str, ...]]],
    retriever: SkillRetriever,
    model: ChatModel,
    searcher: Searcher,
    *,
    rollouts: int = ROLLOUTS,
    probes: int = 0,
    settings: RolloutSettings | None = None,
    scorer: AnswerScorer | None = None,
    seed: int = 0,
) -> list[Attempt]:
    """Lets the solver try the valid questions, and scores its answers.

    Args:
        questions: Challenges (those that are not valid are passed over), or (question, gold answers) of a fixed set.
        retriever: Finds the skills; ``SkillRetriever(None)`` for a solver without.
        model: The solver.
        searcher: The search tool.
        rollouts: Rollouts per question.
        probes: Further rollouts per question without skills, where skills were found.
        settings: How it searches.
        scorer: How answers are scored; exact match by default.
        seed: Root of the sampling seeds.

    Returns:
        One attempt per valid question, in order.

    Raises:
        TooManyFailures: More episodes failed than the settings allow.
        BudgetExceeded, CacheMiss, StoreError: No episode could go on.
    """
    probes = whole("probes", probes, 0)
    posed = [one for item in questions if (one := _posed(item)) is not None]
    contexts = [SolverContext(question, retriever.block(question)) for question, _ in posed]
    played = await solve(contexts, model, searcher, rollouts=rollouts, settings=settings, seed=derive(seed, "solve"))
    skilled = [at for at, context in enumerate(contexts) if context.skills.ids] if probes else []
    bare = [SolverContext(contexts[at].question) for at in skilled]
    root = derive(seed, "probe")
    probed = await solve(bare, model, searcher, rollouts=max(probes, 1), settings=settings, seed=root) if bare else []
    controls = dict(zip(skilled, probed, strict=True))

    async def scored(at: int) -> Attempt:
        question, answers = posed[at]
        own = derive(seed, "score", question_sha256(question))
        episodes = await score_answers(question, answers, played[at], scorer, own)
        without = await score_answers(question, answers, controls.get(at, []), scorer, derive(own, "probe"))
        return Attempt(question, answers, tuple(episodes), tuple(without), contexts[at].skills)

    return list(await asyncio.gather(*map(scored, range(len(posed)))))


def rewards(
    challenges: Sequence[Challenge],
    attempts: Sequence[Attempt],
    shape: Shape,
    settings: RewardSettings | None = None,
    embedder: Embedder | None = None,
) -> list[Paid]:
    """What each challenge earned.

    Args:
        challenges: All of the batch.
        attempts: As `attempt` gives them for these challenges.
        shape: The frontier shape.
        settings: Penalty and repetition.
        embedder: Compares questions by cosine; None by BLEU.

    Raises:
        BadInput: The rollouts are too few for the shape, or the attempts are those of another batch.
    """
    chosen = settings or RewardSettings()
    for one in attempts:
        check_rollouts(shape, len(one.episodes), chosen.min_valid)
    return pay(challenges, [measure(one.outcomes, chosen.min_valid) for one in attempts], shape, chosen, embedder)


def pay(
    challenges: Sequence[Challenge],
    measured: Sequence[Measured],
    shape: Shape,
    settings: RewardSettings | None = None,
    embedder: Embedder | None = None,
) -> list[Paid]:
    """What each challenge earned, from success rates alone: whoever pays so sees no prompt and no card of the solver.

    Args:
        challenges: All of the batch.
        measured: How the solver did on each valid one, in order.
        shape: The frontier shape.
        settings: Penalty and repetition.
        embedder: Compares questions by cosine; None by BLEU.

    Raises:
        BadInput: The measurements are those of another batch.
    """
    chosen = settings or RewardSettings()
    valid = [one for one in challenges if one.valid]
    if len(valid) != len(measured):
        raise BadInput(f"{len(valid)} questions are valid and {len(measured)} were attempted: they must be the same")
    shares: list[float | None] = [None] * len(valid)
    if chosen.repetition:
        shares = list(repetition([str(one.question) for one in valid], embedder, chosen.distance))
    tries = iter(zip(measured, shares, strict=True))
    out = []
    for one in challenges:
        if one.failed:
            out.append(Paid(None, reason="failed"))
        elif not one.valid:
            out.append(Paid(chosen.penalty, reason="no-question" if one.rejected is None else one.rejected.code))
        else:
            found, share = next(tries)
            if found.rate is None:
                out.append(Paid(None, found, share, "dropped"))
            else:
                out.append(Paid(shape(found.rate) - chosen.repetition * (share or 0.0), found, share))
    return out


def without_skills(attempts: Sequence[Attempt]) -> list[Attempt]:
    """The probes as attempts of their own, for comparisons."""
    return [replace(one, episodes=one.probes, probes=(), skills=SkillBlock()) for one in attempts if one.probes]


def _posed(item: Challenge | tuple[str, tuple[str, ...]]) -> tuple[str, tuple[str, ...]] | None:
    if isinstance(item, Challenge):
        return (item.question, item.seed.answers) if item.valid and item.question is not None else None
    question, answers = item
    return question, tuple(answers)
