"""A self-play that takes seconds: whatever a random model says is a question, and pays by its first token."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from metagym.sesa.cards import SkillCard, question_sha256
from metagym.sesa.contexts import Seed
from metagym.sesa.distil import Distilled, enter
from metagym.sesa.retrieval import SkillBlock
from metagym.sesa.rounds import RewardSettings
from metagym.sesa.skills import SkillBank
from metagym_trainers.policies import Policy
from metagym_trainers.sesa.settings import Seat, SelfPlaySettings
from metagym_trainers.sesa.world import Answered, Asked, Question
from metagym_trainers.tiny import relations
from metagym_trainers.tiny.models import tiny_model, word_tokenizer
from metagym_trainers.tiny.relations import RelationsWorld

SETTINGS = SelfPlaySettings(
    rounds=2,
    challenger_steps=2,
    solver_steps=3,
    questions=6,
    rollouts=4,
    reward=RewardSettings(penalty=-0.5, repetition=0.25),
)


@dataclass(frozen=True)
class EasyWorld(RelationsWorld):
    """As the toy, but every text asks, half of all answers are right, and every question's words get cards.

    Attributes:
        mark: Stands in the cards' descriptions and templates, and in solver prompts with cards.
    """

    mark: str = ""

    def solver_prompt(self, question: str, skills: SkillBlock) -> str:
        shown = super().solver_prompt(question, skills)
        return f"{shown} {self.mark}" if skills.text and self.mark else shown

    async def ask(self, start: Seed, prompt: str, policy: Policy, seed: int) -> Asked:
        asked = await super().ask(start, prompt, policy, seed)
        words, entity = relations.drawn(sum(asked.tokens.completion_ids))
        question = relations.worded(words, entity)
        return replace(asked, challenge=replace(asked.challenge, seed=Seed((entity,), start.hops), question=question))

    async def answer(self, question: Question, prompt: str, policy: Policy, seed: int) -> Answered:
        answered = await super().answer(question, prompt, policy, seed)
        first = answered.tokens.completion_ids[0]
        paid = (first % 7) / 7
        return Answered(
            replace(answered.episode, success=first % 2 == 0, ret=paid), replace(answered.tokens, reward=paid)
        )

    async def distil(self, attempts: Any, bank: SkillBank, step: int, seed: int) -> Distilled:
        cards = []
        for one in attempts:
            words, _ = relations.parsed(one.question) or ((), "")
            for word in words:
                source = question_sha256(one.question)
                cards.append(
                    SkillCard(
                        f"{self.mark} read {word}",
                        word,
                        f"{self.mark} not r1",
                        f"r2 {{entity}} {self.mark}",
                        "failure",
                        title=self.mark,
                        notes=self.mark,
                        question_sha256=source,
                    )
                )
        added, duplicates, refused = enter(bank, cards, 6)
        return Distilled(added, duplicates, refused=refused)

    def uses(self, attempts: Any) -> list[tuple[str, bool]]:
        return [use for one in attempts for use in one.uses]


def easy_play(
    folder: Path,
    settings: SelfPlaySettings = SETTINGS,
    *,
    world: Callable[[Any], Any] | None = None,
    on_event: Callable[[str, Any], None] = lambda key, value: None,
    **more: Any,
) -> Any:
    """A `SelfPlay` of models of some thousand parameters; `more` are arguments of both `GRPOConfig`s."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from transformers import PrinterCallback

        from metagym_trainers.sesa.selfplay import SelfPlay
        from metagym_trainers.sesa.tiny import arguments

    tokenizer = word_tokenizer(relations.VOCABULARY)
    seats = [
        Seat(
            tiny_model(tokenizer, hidden=16, layers=1, heads=2, positions=64, seed=number),
            tokenizer,
            arguments(4, 2, 5, learning_rate=0.02, **more),  # a step is seen in what is sampled,
        )
        for number in range(2)
    ]
    made = world(tokenizer) if world else EasyWorld(tokenizer, relations.held_out_questions(10))
    play = SelfPlay(made, settings, *seats, folder, dedup=1.0, on_event=on_event)
    for trainer in play.trainers.values():
        trainer.remove_callback(PrinterCallback)
        trainer.create_model_card = lambda **_: None  # a third of a second for each checkpoint
    return play


def rewards(play: Any) -> dict[str, Any]:
    """Every record of a run's rewards."""
    return {key: value for key, value in play.records.records() if key.endswith("/rewards") or "again" in key}
