"""The toy world of SESA: what its questions mean, what its cards show, and what its scripted distiller writes."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from metagym.sesa.contexts import Seed, challenger_context
from metagym.sesa.retrieval import SkillBlock
from metagym.sesa.rounds import Attempt
from metagym.sesa.skills import SkillBank
from metagym_trainers.policies import Sample
from metagym_trainers.sesa.cards import CardDropout
from metagym_trainers.sesa.world import Answered, Question
from metagym_trainers.tiny import relations
from metagym_trainers.tiny.models import word_tokenizer
from metagym_trainers.tiny.relations import FillerCards, RelationsWorld, WordCards


class Says:
    """A policy that says what it is told to."""

    temperature = 1.0

    def __init__(self, world: RelationsWorld, *answers: str, end: bool = True) -> None:
        ids = world.tokenizer.convert_tokens_to_ids
        self.answers = iter([(*ids(one.split()), *([world.tokenizer.eos_token_id] if end else ())) for one in answers])
        self.end = end

    async def sample(self, prompt_ids: Sequence[int], *, max_tokens: int, seed: int) -> Sample:
        return Sample(next(self.answers), None, not self.end)


@pytest.fixture(scope="module")
def world() -> RelationsWorld:
    return RelationsWorld(word_tokenizer(relations.VOCABULARY), relations.held_out_questions(40))


@pytest.fixture
def bank(tmp_path: Path) -> Iterator[SkillBank]:
    with SkillBank.open(tmp_path / "bank", "hash", 1.0) as made:
        yield made


def a_question(seed: int = 0) -> tuple[Question, list[str]]:
    words, entity = relations.drawn(seed)
    plan = [relations._MEANING[word] for word in words]
    return Question(relations.worded(words, entity), (relations.solution(words, entity),)), plan


def attempt(world: RelationsWorld, question: Question, *plans: Sequence[str], skills: str = "") -> Attempt:
    policy = Says(world, *(" ".join(plan) for plan in plans))

    async def play() -> list[Answered]:
        prompt = world.solver_prompt(question.text, SkillBlock(skills))
        return [await world.answer(question, prompt, policy, 0) for _ in plans]

    played = asyncio.run(play())
    return Attempt(question.text, question.answers, tuple(one.episode for one in played), (), SkillBlock(skills))


def alike(seed: int) -> Question:
    """Another question of the same words."""
    words, entity = relations.drawn(seed)
    moved = relations.ENTITIES[(relations.ENTITIES.index(entity) + 1) % len(relations.ENTITIES)]
    return Question(relations.worded(words, moved), (relations.solution(words, moved),))


def evidence(world: RelationsWorld, seed: int, wrong: Sequence[str]) -> list[Attempt]:
    """A failed and a successful plan on two questions that tell the same."""
    question, plan = a_question(seed)
    return [attempt(world, one, plan, wrong) for one in (question, alike(seed))]


def other(relation: str) -> str:
    return relations.RELATIONS[(relations.RELATIONS.index(relation) + 1) % 8]


def test_the_vocabulary_knows_every_word_of_every_prompt(world: RelationsWorld) -> None:
    question, plan = a_question()
    prompt = world.solver_prompt(question.text, SkillBlock("skills r1 _"))
    order = world.challenger_prompt(challenger_context(Seed(("x",), 2)))
    unknown = world.tokenizer.unk_token_id
    assert (
        unknown not in world.tokenizer(f"{prompt} {order} {' '.join(plan)} {' '.join(relations.FILLER)}")["input_ids"]
    )


def test_held_out_sequences_of_words_are_never_drawn_for_training(world: RelationsWorld) -> None:
    asked = {relations.parsed(one.text)[0] for one in world.held_out}  # type: ignore[index]
    drawn = {relations.drawn(seed)[0] for seed in range(2000)}
    assert len(drawn) > 180 and all(map(relations.kept_out, asked))
    assert not any(map(relations.kept_out, drawn))


@pytest.mark.parametrize(
    "text", ["", "ask of e1", "ask w1 w2 w3 of e1", "ask w99 of e1", "ask w1 of w2", "do w1 of e1"]
)
def test_what_is_no_question_is_read_as_none(text: str) -> None:
    assert relations.parsed(text) is None


def test_a_plan_is_paid_for_the_entity_it_reaches_and_a_little_for_its_form(world: RelationsWorld) -> None:
    question, plan = a_question(3)
    wrong = [other(plan[0]), *plan[1:]]
    found = attempt(world, question, plan, wrong, plan[:1], ["w1", "w2"])
    assert [one.success for one in found.episodes] == [True, False, False, False]
    assert [one.ret for one in found.episodes] == pytest.approx([1.0, 0.3, 0.0, 0.0])


def test_a_plan_that_was_cut_is_neither_right_nor_of_good_form(world: RelationsWorld) -> None:
    question, plan = a_question(3)
    policy = Says(world, " ".join(plan), end=False)
    played = asyncio.run(world.answer(question, world.solver_prompt(question.text, SkillBlock()), policy, 0))
    assert played.episode.success is False and played.tokens.reward == 0.0 and played.tokens.truncated


def test_a_challenge_is_read_and_its_answer_follows_from_it(world: RelationsWorld) -> None:
    words, entity = relations.drawn(5)
    start = Seed(("nothing",), 2)
    prompt = world.challenger_prompt(challenger_context(start))
    held = relations.parsed(world.held_out[0].text)
    assert held is not None
    policy = Says(world, " ".join((*words, entity)), "w1 e3", "w1 w2 w3", " ".join((*held[0], held[1])))

    async def play() -> list[str]:
        asked = [(await world.ask(start, prompt, policy, 0)).challenge for _ in range(4)]
        vetted = await world.vet(asked, 0)
        assert vetted[0].seed.answers == (relations.solution(words, entity),)
        return ["valid" if one.valid else one.rejected.code for one in vetted]  # type: ignore[union-attr]

    assert asyncio.run(play()) == ["valid", "no-question", "no-question", "held-out"]


def test_the_distiller_writes_down_where_failure_and_success_differ(world: RelationsWorld, bank: SkillBank) -> None:
    question, plan = a_question(7)
    wrong = [plan[0], other(plan[1])]
    tried = evidence(world, 7, wrong)
    assert not asyncio.run(world.distil(tried[:1], bank, 4, 0)).added, "one question alone may be luck"
    tried += [attempt(world, question, plan, plan), attempt(world, question, wrong)]
    made = asyncio.run(world.distil(tried, bank, 4, 0))
    (entry,) = bank.entries()
    words = relations.parsed(question.text)[0]  # type: ignore[index]
    assert made.added == (entry.card.id,) and made.skipped == {"all-solved": 1, "dropped": 1}
    assert (entry.card.trigger, entry.card.query_template) == (words[1], f"{plan[1]} {{entity}}")
    assert entry.card.anti_pattern == f"not {wrong[1]}" and entry.card.created_step == 4
    assert not asyncio.run(world.distil(tried, bank, 5, 0)).added, "a card that is known was made again"


def test_a_round_adds_only_so_many_cards(world: RelationsWorld, bank: SkillBank) -> None:
    tried = []
    for seed in range(6):
        _, plan = a_question(seed)
        tried += evidence(world, seed, [other(one) for one in plan])
    made = asyncio.run(world.distil(tried, bank, 0, 0))
    assert len(made.added) == world.max_new and made.refused["over-limit"] > 0


def test_cards_stand_at_the_place_of_their_word(world: RelationsWorld, bank: SkillBank) -> None:
    question, plan = a_question(7)
    asyncio.run(world.distil(evidence(world, 7, [plan[0], other(plan[1])]), bank, 0, 0))
    block = world.blocks(bank.snapshot(), CardDropout()).block(question.text)
    assert block.text == f"skills _ {plan[1]}" and len(block.ids) == 1
    assert world.solver_prompt(question.text, block).startswith(f"skills _ {plan[1]} ask ")
    dropped = WordCards.of(bank.snapshot(), CardDropout(1.0)).block(question.text)
    assert dropped == SkillBlock(), "without cards the block is that of a solver that never had any"


def test_the_placebo_has_the_form_of_the_cards_and_none_of_their_content(
    world: RelationsWorld, bank: SkillBank
) -> None:
    question, plan = a_question(7)
    asyncio.run(world.distil(evidence(world, 7, [other(one) for one in plan]), bank, 0, 0))
    real = world.blocks(bank.snapshot(), CardDropout())
    block = FillerCards(real).block(question.text)
    assert len(block.text.split()) == len(real.block(question.text).text.split())
    assert not set(block.text.split()) & set(relations.RELATIONS)
    assert set(block.text.split()) & set(relations.FILLER)


def test_a_failure_counts_against_cards_only_where_every_word_had_one(world: RelationsWorld) -> None:
    question, plan = a_question(7)
    some = attempt(world, question, plan, [other(plan[0]), *plan[1:]], skills=f"skills {plan[0]} _")
    assert world.uses([some]) == []


def test_examples_teach_form_and_a_fourth_of_the_words(world: RelationsWorld) -> None:
    known, unknown = [], []
    for number in range(600):
        (message,), answer = relations.solver_example(1)(number)
        prompt = message["content"].split()
        if prompt[0] == "skills" and set(prompt[1:3]) <= {"_", "."}:
            words = [word for word in prompt if word in relations.WORDS]
            for word, said in zip(words, answer.split(), strict=True):
                (known if word in relations.KNOWN else unknown).append(relations._MEANING[word] == said)
    assert all(known) and 0.05 < sum(unknown) / len(unknown) < 0.25
    orders = [relations.challenger_example(1)(number) for number in range(200)]
    asked = [answer.split() for _, answer in orders]
    fine = [relations.parsed(relations.worded(one[:-1], one[-1])) is not None for one in asked]
    assert 0.5 < sum(fine) / len(fine) < 0.9
