"""The world of the paper: both seats search, and nothing that a search or a card brings is trained on."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from metagym.answers import AnswerScorer
from metagym.chat import scripted
from metagym.errors import BadInput, SearchError
from metagym.qadata import QARow
from metagym.sesa.contexts import Seed, challenger_context
from metagym.sesa.crew import Crew
from metagym.sesa.filters import FilterSettings
from metagym.sesa.materials import Material
from metagym.sesa.retrieval import SkillBlock
from metagym.sesa.rollouts import RolloutSettings
from metagym.sesa.rounds import Attempt
from metagym.sesa.skills import SkillBank
from metagym_trainers.sesa.cards import CardDropout
from metagym_trainers.sesa.search import SearchSettings, SearchWorld
from metagym_trainers.sesa.world import Question
from tests.unit.sesa.worlds import DECOMPOSE, BrokenSearcher, small_searcher
from tests.unit.trainers.stubs import MergingTokenizer, ScriptedPolicy

END = 0
ANSWERS = (("Vash",), ("Orlen",), ("Mira Tolk",), ("Tolk",))
TELLING = "<question> What is the Vash, where does it run, and why is it so? </question>"
ASKED = "Which river runs through the town in which Mira Tolk was born?"
CARD = (
    '{"description": "Search step by step.", "trigger": "chains", "anti_pattern": "one search", '
    '"query_template": "{entity} {relation}"}'
)


class Plain(MergingTokenizer):
    """One id per letter or mark: whatever is not ASCII becomes a question mark."""

    def __call__(self, text: str, add_special_tokens: bool = True) -> dict[str, list[int]]:
        return super().__call__(text.encode("ascii", "replace").decode(), add_special_tokens)


def world(searcher: Any = None, **settings: Any) -> SearchWorld:
    rows = {"valid": [QARow("1", "Which town is it?", ("Orlen",), "held")]}
    material = Material("small", searcher or small_searcher(), ANSWERS, rows=rows)
    chat = scripted(lambda request: CARD)
    crew = Crew(None, chat, chat, None, AnswerScorer("em"))
    chosen = SearchSettings(filters=FilterSettings(verify=False), data="questions", **settings)
    return SearchWorld(material, crew, Plain(), Plain(), chosen)


def policy(*texts: str) -> ScriptedPolicy:
    tokenizer = Plain()
    return ScriptedPolicy([(*tokenizer.ids(text), END) for text in texts])


def answered(made: SearchWorld, *texts: str, block: SkillBlock = SkillBlock()) -> Any:  # noqa: B008 -- frozen
    question = Question(ASKED, ("the Vash",))
    prompt = made.solver_prompt(question.text, block)
    return asyncio.run(made.answer(question, prompt, policy(*texts), 0))


def trained(tokens: Any) -> str:
    return Plain().decode(tokens.sampled)


def foreign(tokens: Any) -> str:
    return Plain().decode([one for one, mask in zip(tokens.completion_ids, tokens.mask, strict=True) if not mask])


def test_information_blocks_are_read_and_not_trained_on() -> None:
    first, second = "<search> Mira Tolk born </search>", "<search> river of Orlen </search>"
    found = answered(world(), first, second, "It is known. <answer> Vash </answer>")
    assert found.episode.success and found.tokens.reward == 1.0
    assert trained(found.tokens) == f"{first}{second}It is known. <answer> Vash </answer>"
    assert "<information>" in foreign(found.tokens) and "Mira Tolk was born in Orlen" in foreign(found.tokens)
    assert "<answer>" not in foreign(found.tokens)
    assert found.tokens.metrics["searches"] == 2.0 and found.tokens.terminated


def test_cards_stand_in_the_prompt_and_never_among_what_is_trained_on(tmp_path: Path) -> None:
    with SkillBank.open(tmp_path / "bank", "hash") as bank:
        bank.add(DECOMPOSE)
        block = world().blocks(bank.snapshot(), CardDropout()).block(ASKED)
    found = answered(world(), "<answer> Vash </answer>", block=block)
    shown = Plain().decode(found.tokens.prompt_ids)
    assert DECOMPOSE.description in shown and "<skills>" in shown
    assert DECOMPOSE.description not in trained(found.tokens)
    assert block.ids == (DECOMPOSE.id,)
    with SkillBank.open(tmp_path / "bank", read_only=True) as bank:
        assert world().blocks(bank.snapshot(), CardDropout(1.0)).block(ASKED) == SkillBlock()


def test_s28_only_the_answer_that_ended_the_episode_is_scored() -> None:
    made = world(rollout=RolloutSettings(max_turns=1))
    last = answered(made, "<search> river of Orlen Vash </search>", "<answer> Orlen </answer>")
    thought = answered(made, "I do not know.", "<think> <answer> Vash </answer> </think> No.")
    told = answered(made, "<answer> Vash </answer>")
    assert [one.tokens.reward for one in (last, thought, told)] == [0.0, 0.0, 1.0]


def test_a_search_that_fails_leaves_the_episode_unscored_and_its_row_silent() -> None:
    broken = BrokenSearcher(lambda query: True, SearchError("the index is gone"))
    found = answered(world(broken), "<search> Mira Tolk </search>", "<answer> Vash </answer>")
    assert not found.episode.scored and found.tokens.reward is None and not any(found.tokens.mask)
    assert "the index is gone" in found.episode.cause


def asked(made: SearchWorld, *texts: str, answer: str = "Vash") -> Any:
    start = Seed((answer,), 2)
    prompt = made.challenger_prompt(challenger_context(start))
    found = asyncio.run(made.ask(start, prompt, policy(*texts), 0))
    (vetted,) = asyncio.run(made.vet([found.challenge], 0))
    return found, vetted


def test_a_challenger_searches_too_and_is_trained_on_its_own_words_alone() -> None:
    texts = ("<search> Vash </search>", "<search> born in Orlen </search>", f"<question> {ASKED} </question>")
    found, vetted = asked(world(), *texts)
    assert vetted.valid and vetted.question == ASKED and vetted.searches == ("Vash", "born in Orlen")
    assert trained(found.tokens) == "".join(texts) and "Mira Tolk was born" in foreign(found.tokens)


@pytest.mark.parametrize(
    ("texts", "code"),
    [
        (("no question at all",) * 3, "no-question"),
        ((f"<question> {ASKED} </question>",), "no-information"),
        (("<search> a </search>", "<search> b </search>", TELLING), "answer-in-question"),
    ],
)  # fmt: skip
def test_filters_of_the_core_refuse_by_name(texts: Sequence[str], code: str) -> None:
    _, vetted = asked(world(rollout=RolloutSettings(max_turns=2)), *texts)
    assert not vetted.valid and vetted.rejected.code == code


def test_a_challenger_whose_search_fails_is_failed_and_not_refused() -> None:
    broken = BrokenSearcher(lambda query: True, SearchError("the index is gone"))
    _, vetted = asked(world(broken), "<search> Vash </search>")
    assert vetted.failed and vetted.rejected is None and not vetted.valid


def test_failures_at_the_frontier_become_cards_by_the_core_s_distiller(tmp_path: Path) -> None:
    made = world()
    right, wrong = answered(made, "<answer> Vash </answer>"), answered(made, "<answer> Orlen </answer>")
    tried = Attempt(ASKED, ("the Vash",), (right.episode, wrong.episode))
    with SkillBank.open(tmp_path / "bank", "hash") as bank:
        done = asyncio.run(made.distil([tried], bank, 3, 0))
        (entry,) = bank.entries()
    assert done.added == (entry.card.id,) and entry.card.description == "Search step by step."
    assert made.uses([tried]) == []


def test_seeds_use_each_answer_once_before_any_comes_again() -> None:
    made = world(hops=(1, 2))
    seeds = made.seeds(2 * len(made.answers), 4)
    answers = [one.answer for one in seeds]
    assert sorted(answers[: len(made.answers)]) == sorted(one[0] for one in made.answers)
    assert [one.hops for one in seeds[:4]] == [1, 2, 1, 2] and seeds == made.seeds(len(seeds), 4)


def test_what_is_missing_is_said_at_the_start() -> None:
    material = Material("small", small_searcher(), ANSWERS)
    chat = scripted(lambda request: CARD)
    with pytest.raises(BadInput, match="nobody verifies"):
        SearchWorld(material, Crew(None, chat, chat, None, AnswerScorer("em")), Plain(), Plain())
    with pytest.raises(BadInput, match="no answers"):
        SearchWorld(
            Material("none", small_searcher()), Crew(None, chat, chat, chat, AnswerScorer("em")), Plain(), Plain()
        )
