"""A toy world for SESA: questions of relation words whose meaning no model is told; tiny models learn it on two cores.

An entity leads to another by one of eight relations. A question is two words and an entity, ``ask w3 w7 of e12``; each
word stands for one relation, by a lexicon that is hidden from both models. The solver writes a list of searches, ``r5
r0``; the world runs it and compares the last entity alone. A card belongs to one word and shows one relation, at the
word's place in the solver's prompt. The distiller is scripted: it reads a failed and a successful attempt at one
question and writes down where they differ. What such a run shows is the wiring, not the paper's claim.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any

from metagym.episodes import Episode, Status, Turn
from metagym.seeding import derive, rng
from metagym.sesa.cards import SkillCard, question_sha256
from metagym.sesa.challenger import Challenge
from metagym.sesa.contexts import ChallengerContext, Seed
from metagym.sesa.deploy import Blocks
from metagym.sesa.distil import Distilled, enter
from metagym.sesa.filters import Rejected
from metagym.sesa.retrieval import SkillBlock
from metagym.sesa.rollouts import FAMILY
from metagym.sesa.rounds import Attempt
from metagym.sesa.shaping import measure
from metagym.sesa.skills import SkillBank
from metagym.sesa.snapshots import BankSnapshot
from metagym.sesa.state import BankEntry
from metagym.tasks import Task
from metagym_trainers.episodes import TokenEpisode
from metagym_trainers.policies import Policy, Sample
from metagym_trainers.sesa.cards import CardDropout
from metagym_trainers.sesa.world import Answered, Asked, Question

HOPS = 2
"""Words of a question."""
RELATIONS = tuple(f"r{number}" for number in range(8))
WORDS = tuple(f"w{number}" for number in range(16))
ENTITIES = tuple(f"e{number}" for number in range(256))
NO_CARD, FILLER = "_", ("fern", "loaf", "wool", "gate")
FRAME = ("skills", "ask", "of", "plan", "write", "go", ".", NO_CARD, "h1", "h2", *FILLER)
VOCABULARY = (*FRAME, *RELATIONS, *WORDS, *ENTITIES)
"""Every word of both models."""
KNOWN = WORDS[:4]
"""Words that the solver's warm start tells; it has to learn the others."""
EVIDENCE = 2
"""Questions of a round that must tell the same before the distiller writes it down."""
FORM = 0.3
"""Share of the solver's reward for a plan of the right form. It keeps the form alive while no plan succeeds: an entropy
bonus of 0.02 is worth up to 0.02 x log(300) = 0.11, and where form is worth less, giving it up pays."""

_draw = rng(11, "relations")
_MEANING = dict(zip(WORDS, _draw.sample(RELATIONS * 2, len(WORDS)), strict=True))
_LINKS = {one: dict(zip(ENTITIES, _draw.sample(ENTITIES, len(ENTITIES)), strict=True)) for one in RELATIONS}
del _draw


def followed(entity: str, plan: Sequence[str]) -> str | None:
    """Where a sequence of searches leads; None where one of them is no relation."""
    for relation in plan:
        if relation not in _LINKS:
            return None
        entity = _LINKS[relation][entity]
    return entity


def parsed(question: str) -> tuple[tuple[str, ...], str] | None:
    """The words and the entity of a question; None where it is none."""
    head, *words, of, entity = question.split() if len(question.split()) >= 4 else ("", "", "")
    fine = head == "ask" and of == "of" and all(word in _MEANING for word in words) and entity in _LINKS["r0"]
    return (tuple(words), entity) if fine and 1 <= len(words) <= HOPS else None


def worded(words: Sequence[str], entity: str) -> str:
    """A question as text."""
    return " ".join(("ask", *words, "of", entity))


def kept_out(words: Sequence[str]) -> bool:
    """Whether a sequence of words is held out: a fifth of those with more than one, which no training sees."""
    return len(words) > 1 and derive(0, "relations", *words) % 5 == 0


def solution(words: Sequence[str], entity: str) -> str:
    """The answer of a question."""
    found = followed(entity, [_MEANING[word] for word in words])
    assert found is not None
    return found


def drawn(seed: int, *, held: bool = False, shortest: int = HOPS) -> tuple[tuple[str, ...], str]:
    """A question at random, of `shortest` to `HOPS` words, from the held-out side or from the other."""
    draw = rng(seed, "question")
    while True:
        words = tuple(draw.choice(WORDS) for _ in range(draw.randint(shortest, HOPS)))
        if len(words) == 1 or kept_out(words) == held:
            return words, draw.choice(ENTITIES)


def held_out_questions(count: int) -> tuple[Question, ...]:
    """Questions for the evaluation, of words in sequences that no training sees."""
    found: dict[str, Question] = {}
    number = 0
    while len(found) < count:
        words, entity = drawn(derive(99, "held-out", number), held=True)
        text = worded(words, entity)
        found.setdefault(text, Question(text, (solution(words, entity),), f"held-{len(found)}"))
        number += 1
    return tuple(found.values())


def solver_example(seed: int) -> Callable[[int], tuple[list[dict[str, str]], str]]:
    """Examples for the solver's warm start: form, a shown card is obeyed, four words are known, the rest is guessed."""

    def example(number: int) -> tuple[list[dict[str, str]], str]:
        draw = rng(seed, "solver-example", number)
        words, entity = drawn(derive(seed, "solver-question", number), shortest=1)
        plan = [_MEANING[word] if word in KNOWN else draw.choice(RELATIONS) for word in words]
        chance = 0.5 if draw.random() < 0.6 else 0.0
        cards: list[str | None] = [one if draw.random() < chance else None for one in plan]
        if draw.random() < 0.5:  # a card wins over what the solver knows
            plan = [draw.choice(RELATIONS) if card else one for card, one in zip(cards, plan, strict=True)]
            cards = [one if card else None for card, one in zip(cards, plan, strict=True)]
        prompt = _solver_prompt(worded(words, entity), _shown(cards) if any(cards) else "")
        return [{"role": "user", "content": prompt}], " ".join(plan)

    return example


def challenger_example(seed: int) -> Callable[[int], tuple[list[dict[str, str]], str]]:
    """Examples for the challenger's warm start: uniform over words and entities, three of ten broken."""

    def example(number: int) -> tuple[list[dict[str, str]], str]:
        draw = rng(seed, "challenger-example", number)
        words, entity = drawn(derive(seed, "challenger-question", number))
        body = [*words, entity]
        if draw.random() < 0.3:
            body[draw.randrange(len(body))] = draw.choice((*FRAME, *RELATIONS))
        return [{"role": "user", "content": _order(len(words))}], " ".join(body)

    return example


@dataclass(frozen=True)
class WordCards:
    """Finds the best card of each word of a question.

    Attributes:
        cards: Word to its best active card.
        dropout: Which of them are left out.
    """

    cards: dict[str, BankEntry]
    dropout: CardDropout = CardDropout()

    @classmethod
    def of(cls, snapshot: BankSnapshot, dropout: CardDropout) -> WordCards:
        """Of every word the card with the highest score; ties by id."""
        best: dict[str, BankEntry] = {}
        for entry in sorted(snapshot.active, key=lambda one: (-one.score, one.card.id)):
            best.setdefault(entry.card.trigger, entry)
        return cls(best, dropout)

    def block(self, question: str) -> SkillBlock:
        """The block for a question."""
        found = parsed(question)
        shown: list[BankEntry | None] = []
        for place, word in enumerate(found[0] if found else ()):
            entry = self.cards.get(word)
            keep = entry is not None and self.dropout.keeps(f"{question}/{place}", entry.card.id)
            shown.append(entry if keep else None)
        ids = tuple(dict.fromkeys(entry.card.id for entry in shown if entry is not None))
        told = [None if entry is None else entry.card.query_template.split()[0] for entry in shown]
        return SkillBlock(_shown(told), ids) if ids else SkillBlock()


@dataclass(frozen=True)
class FillerCards:
    """The placebo: a word of no use wherever a card would show a relation."""

    inner: Blocks
    seed: int = 0

    def block(self, question: str) -> SkillBlock:
        """The block for a question."""
        real, draw = self.inner.block(question), rng(self.seed, "filler", question)
        text = " ".join(draw.choice(FILLER) if word in _LINKS else word for word in real.text.split())
        return replace(real, text=text, ids=tuple(f"placebo:{id_}" for id_ in real.ids))


@dataclass(frozen=True)
class RelationsWorld:
    """The toy as a `metagym_trainers.sesa.world.World`.

    Attributes:
        tokenizer: Of both models, over `VOCABULARY`.
        held_out: Questions of the evaluation.
        max_new: Most cards that a round may add.
    """

    tokenizer: Any
    held_out: tuple[Question, ...] = field(default_factory=lambda: held_out_questions(300))
    max_new: int = 4

    name = "relations (toy)"

    def seeds(self, count: int, seed: int) -> list[Seed]:
        """The challenger of this toy is told a number of words alone; the answer follows from what it asks."""
        return [Seed(("nothing",), HOPS)] * count

    def challenger_prompt(self, context: ChallengerContext) -> str:
        """An order: how many words."""
        return _order(context.hops)

    def solver_prompt(self, question: str, skills: SkillBlock) -> str:
        """Cards, the question, and where the plan begins."""
        return _solver_prompt(question, skills.text)

    async def ask(self, start: Seed, prompt: str, policy: Policy, seed: int) -> Asked:
        """One answer of the challenger."""
        sample, said, tokens = await self._sample(prompt, policy, HOPS + 2, seed, "challenger")
        words, entity = said[:-1], said[-1] if said else ""
        question = worded(words, entity)
        found = parsed(question) if len(words) == start.hops and not sample.cut else None
        episode = _episode(prompt, " ".join(said), seed)
        if found is None:
            return Asked(Challenge(start, episode, None), tokens)
        return Asked(Challenge(Seed((solution(*found),), start.hops), episode, question), tokens)

    async def vet(self, challenges: Sequence[Challenge], seed: int) -> list[Challenge]:
        """What is no question of the ordered length is refused, and so is what is held out."""
        return [replace(one, rejected=_rejected(one.question)) for one in challenges]

    async def answer(self, question: Question, prompt: str, policy: Policy, seed: int) -> Answered:
        """One plan of the solver."""
        sample, said, tokens = await self._sample(prompt, policy, HOPS + 1, seed, "solver")
        found = parsed(question.text)
        assert found is not None
        words, entity = found
        form = len(said) == len(words) and all(word in _LINKS for word in said) and not sample.cut
        right = form and followed(entity, said) == question.answers[0]
        ret = (1 - FORM) * right + FORM * form
        episode = replace(_episode(prompt, " ".join(said), seed), success=right, ret=ret)
        return Answered(episode, replace(tokens, reward=ret))

    def blocks(self, snapshot: BankSnapshot, dropout: CardDropout) -> Blocks:
        """See `WordCards`."""
        return WordCards.of(snapshot, dropout)

    def placebo(self, blocks: Blocks, seed: int) -> Blocks:
        """See `FillerCards`."""
        return FillerCards(blocks, seed)

    async def distil(self, attempts: Sequence[Attempt], bank: SkillBank, step: int, seed: int) -> Distilled:
        """The scripted distiller: where a failed plan and a successful one of a frontier question differ, a card."""
        known = {(entry.card.trigger, entry.card.query_template) for entry in bank.entries()}
        drafts: Counter[tuple[str, str, str]] = Counter()
        origin: dict[tuple[str, str], list[str]] = {}
        skipped: Counter[str] = Counter()
        for one in attempts:
            measured = measure(one.outcomes)
            if not measured.frontier:
                skipped[
                    "dropped" if measured.rate is None else "none-solved" if not measured.rate else "all-solved"
                ] += 1
                continue
            words, _ = parsed(one.question) or ((), "")
            plans = [(episode.success, episode.turns[-1].action.split()) for episode in one.episodes if episode.scored]
            right = next(plan for success, plan in plans if success)
            told = set()
            for _, plan in (pair for pair in plans if not pair[0] and len(pair[1]) == len(words)):
                for word, good, bad in zip(words, right, plan, strict=True):
                    if good != bad and (word, f"{good} {{entity}}") not in known:
                        drafts[word, good, bad] += 1
                        told.add((word, good))
            for pair in told:
                origin.setdefault(pair, []).append(one.question)
        cards: dict[tuple[str, str], SkillCard] = {}
        for (word, good, bad), _ in sorted(drafts.items(), key=lambda item: (-item[1], item[0])):
            if len(origin[word, good]) < EVIDENCE:  # a wrong plan may reach the right entity by chance
                continue
            source = question_sha256(origin[word, good][0])
            made = SkillCard(
                f"Read {word} as one search.",
                word,
                f"not {bad}",
                f"{good} {{entity}}",
                source="failure",
                created_step=step,
                question_sha256=source,
            )
            cards.setdefault((word, good), made)
        added, duplicates, refused = enter(bank, list(cards.values()), self.max_new)
        return Distilled(added, duplicates, skipped, refused=refused)

    def uses(self, attempts: Sequence[Attempt]) -> list[tuple[str, bool]]:
        """A failure can be laid on the cards of a question only where every word had one."""
        return [use for one in attempts if NO_CARD not in one.skills.text.split() for use in one.uses]

    async def _sample(
        self, prompt: str, policy: Policy, most: int, seed: int, role: str
    ) -> tuple[Sample, list[str], TokenEpisode]:
        given = _prompt_ids(self.tokenizer, prompt)
        sample = await policy.sample(given, max_tokens=most, seed=seed)
        ids = list(sample.ids)
        end = self.tokenizer.eos_token_id
        said = self.tokenizer.convert_ids_to_tokens(ids[:-1] if ids and ids[-1] == end else ids)
        tokens = TokenEpisode(
            prompt_ids=given,
            completion_ids=tuple(ids),
            mask=(1,) * len(ids),
            logprobs=None if sample.logprobs is None else tuple(sample.logprobs),
            role=role,
            truncated=sample.cut,
            terminated=not sample.cut,
        )
        return sample, said, tokens


def _order(hops: int) -> str:
    return f"write h{hops} go"


def _shown(cards: Sequence[str | None]) -> str:
    return " ".join(("skills", *(card or NO_CARD for card in cards), *["."] * (HOPS - len(cards))))


def _solver_prompt(question: str, skills: str) -> str:
    found = parsed(question)
    words, entity = found if found else ((), "")
    pad = ["."] * (HOPS - len(words))
    head = skills or _shown([None] * len(words))
    return " ".join((head, "ask", *words, *pad, "of", entity, "plan"))


def _rejected(question: str | None) -> Rejected | None:
    if question is None:
        return Rejected("no-question", "the reply is no question of the ordered number of words")
    found = parsed(question)
    if found is None or kept_out(found[0]):
        return Rejected("held-out", "the question is one of those that are kept for evaluation")
    return None


def _episode(prompt: str, said: str, seed: int) -> Episode:
    turn = Turn(prompt, said, said, 0.0, True, False)
    return Episode(Task(FAMILY, "relations"), (turn,), "", 0.0, None, Status.OK, seed=seed, backend="local")


@lru_cache(maxsize=65536)
def _prompt_ids(tokenizer: Any, prompt: str) -> tuple[int, ...]:
    """The ids of a first message; groups and rollouts share prompts, and rendering costs more than sampling a word."""
    made = tokenizer.apply_chat_template(
        [{"role": "user", "content": prompt}], add_generation_prompt=True, tokenize=True, return_dict=False
    )
    return tuple(made)
