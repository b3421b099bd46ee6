"""Stand-ins do what they say; B5: the true gain in retrieval of a card that tells to take questions apart."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from metagym.chat.types import Message, Request
from metagym.episodes import Episode
from metagym.errors import BadInput, ChatError, SpecError
from metagym.qadata import QARow, read_rows
from metagym.search import Searcher, load_searcher
from metagym.sesa import SkillBank
from metagym.sesa.contexts import SolverContext
from metagym.sesa.drafts import Origin, cards_in
from metagym.sesa.retrieval import SkillRetriever
from metagym.sesa.riddles import Riddler, clues_in, unravel
from metagym.sesa.rollouts import RolloutSettings, searches_of
from metagym.sesa.solver import score_answers, solve, solver_prompt
from metagym.sesa.stand_ins import (
    HopBandit,
    OracleSolver,
    RaisingJudge,
    ReadingVerifier,
    ScriptedChallenger,
    ScriptedDistiller,
    SearchingSolver,
    decomposes,
    load_seat,
    question_in,
    skills_in,
)
from metagym.sesa.verification import verify
from tests.unit.sesa.worlds import DECOMPOSE, passages, searcher, wait

GREEDY = RolloutSettings(temperature=0.0)


def support(episodes: list[list[Episode]], rows: list[QARow], found: Searcher, k: int = 3) -> float:
    """Share of questions whose supporting titles all were among the top k of the episode's searches."""
    hits = 0
    for (episode,), row in zip(episodes, rows, strict=True):
        titles = {hit.passage.plain_title for one in found.search(searches_of(episode), k) for hit in one}
        hits += set(row.metadata["supporting_titles"]) <= titles
    return hits / len(rows)


def test_b5_the_decompose_card_finds_all_supports_of_musique_questions(shared_dir: Path, tmp_path: Path) -> None:
    folder = shared_dir / "data" / "qa"
    if not folder.is_dir():
        pytest.skip("the question sets are not there")
    found = load_searcher(f"bm25:{folder / 'corpus_mini.jsonl'}")
    rows = read_rows(folder / "questions_musique100.jsonl")
    oracle = OracleSolver(
        {row.question: row.metadata["decomposition"] for row in rows}, {row.question: row.golds for row in rows}
    )
    gains = {}
    with SkillBank.open(tmp_path / "bank") as bank:
        bank.add(DECOMPOSE)
        for name, retriever in (("with", SkillRetriever(bank)), ("without", SkillRetriever(None))):
            contexts = [SolverContext(row.question, retriever.block(row.question)) for row in rows]
            played = wait(solve(contexts, oracle, found, rollouts=1, settings=GREEDY))
            right = [
                wait(score_answers(row.question, row.golds, group))[0].success
                for row, group in zip(rows, played, strict=True)
            ]
            gains[name] = (support(played, rows, found), sum(map(bool, right)) / len(rows))
    print(f"all-support and right answers with the card {gains['with']}, without {gains['without']}")
    assert gains["with"][0] >= 0.60 and gains["without"][0] <= 0.20
    assert gains["with"][1] > gains["without"][1]


def test_the_card_makes_a_solver_that_knows_nothing_search_fact_by_fact() -> None:
    riddler = Riddler(passages())
    made = [riddler.riddle(title, 2, random.Random(1)) for title in riddler.titles[:40]]
    rows = [one for one in made if one is not None and len(one.clues) == 2]
    with_card = SkillRetriever(None).block("")
    assert with_card.text == ""
    rates = {}
    for name, block in (("off", ""), ("on", "<skills>\n[1] Decompose the question.\n</skills>\n")):
        contexts = [SolverContext(one.question, type(with_card)(block, ("0" * 16,) if block else ())) for one in rows]
        played = wait(solve(contexts, SearchingSolver(), searcher(), rollouts=1, settings=GREEDY))
        right = [
            wait(score_answers(one.question, one.answer, group))[0].success
            for one, group in zip(rows, played, strict=True)
        ]
        rates[name] = sum(map(bool, right)) / len(rows)
    assert rates["off"] <= 0.2 and rates["on"] >= 0.9 and len(rows) >= 30


# --- riddles


def test_riddles_have_one_answer_which_their_clues_lead_to() -> None:
    riddler = Riddler(passages())
    assert len(riddler.titles) > 100
    for title in riddler.titles[::5]:
        for hops in (1, 2, 3, 4):
            riddle = riddler.riddle(title, hops, random.Random(hops))
            assert riddle is not None and riddle.answer == title and 1 <= len(riddle.clues) <= hops
            assert clues_in(riddle.question) == riddle.clues and unravel(riddle.clues, passages()) == (title, "")
            assert title.lower() not in riddle.question.lower()
            assert unravel(riddle.clues, [one for one in passages() if one.plain_title != title])[0] == ""
    assert riddler.riddle("nobody", 2, random.Random(0)) is None
    assert clues_in("Who wrote Faust?") == ()


def test_the_verifier_stand_in_answers_riddles_and_nothing_else() -> None:
    riddler = Riddler(passages())
    riddle = riddler.riddle(riddler.titles[0], 2, random.Random(0))
    assert riddle is not None
    own = [one for one in passages() if one.plain_title in riddle.path]
    assert wait(verify(riddle.question, riddle.answer, own, [passages()[:9]], ReadingVerifier())).rejected is None
    for question, answer, read in (
        (riddle.question, "x", own),
        (riddle.question, riddle.answer, own[:1]),
        ("Who?", "x", own),
    ):
        assert wait(verify(question, answer, read, [], ReadingVerifier())).rejected is not None


# --- seats


def test_blocks_of_skills_are_told_from_instructions_that_name_them(tmp_path: Path) -> None:
    plain = solver_prompt(SolverContext("Who decomposes </skills>?"))
    assert skills_in(plain) == "" and not decomposes(plain) and question_in(plain) == "Who decomposes ‹/skills>?"
    with SkillBank.open(tmp_path / "bank") as bank:
        bank.add(DECOMPOSE)
        assert decomposes(solver_prompt(SolverContext("Who?", SkillRetriever(bank).block("Who?"))))


def test_the_distiller_stand_in_writes_cards_that_are_accepted() -> None:
    riddler = Riddler(passages())
    for hops in (1, 2):
        riddle = riddler.riddle(riddler.titles[3], hops, random.Random(0))
        assert riddle is not None
        for attempt in (f"‹search> {riddle.question} ‹/search>", "‹search> half a clue ‹/search>"):
            text = f"Question: {riddle.question}\n\nAttempt 1:\n{attempt}\n"
            reply = wait(ScriptedDistiller().chat(Request(messages=(Message("system", ""), Message("user", text)))))
            cards, refusals = cards_in(reply.text or "", Origin(riddle.question, (riddle.answer,), riddle.path))
            assert len(cards) == 1 and not refusals
            assert ("Decompose" in cards[0].description) is (hops == 2 and riddle.question in attempt)


def test_rules_means_the_stand_in_of_a_seat() -> None:
    for seat in ("solver", "verifier", "distiller"):
        model = load_seat("rules", seat)
        assert model.backend == "scripted" and model.id.startswith(f"scripted:{seat}")
    assert isinstance(load_seat("rules", "challenger", passages()), ScriptedChallenger)
    for wrong in (("judge", ()), ("challenger", ())):
        with pytest.raises(SpecError):
            load_seat("rules", *wrong)
    own = SearchingSolver()
    assert load_seat(own, "solver") is own
    with pytest.raises(ChatError, match="on purpose"):
        wait(RaisingJudge().chat(Request(messages=(Message("user", "x"),))))
    for chance in ({"insight": 2}, {"slip": -1}):
        with pytest.raises(BadInput):
            SearchingSolver(**chance)


def test_an_answer_that_the_corpus_lacks_makes_the_challenger_give_up() -> None:
    prompt = "...Number of facts to chain: 2\nAnswer: nobody\n"
    text = wait(ScriptedChallenger(passages()).chat(Request(messages=(Message("user", prompt),)))).text
    assert text is not None and "<question>" not in text


# --- the bandit


def test_a_bandit_learns_from_differences_alone_and_can_be_stopped_and_continued() -> None:
    bandit = HopBandit((1, 2, 3))
    assert bandit.policy == pytest.approx((1 / 3,) * 3)
    bandit.learn([1, 2, 3], [0.5, 0.5, 0.5])
    bandit.learn([1, 2], [None, None])
    bandit.learn([], [])
    assert bandit.policy == pytest.approx((1 / 3,) * 3)
    bandit.learn([1, 2, 3, 1], [1.0, 0.0, 0.0, None])
    assert bandit.policy[0] > 0.4 > bandit.policy[1] == pytest.approx(bandit.policy[2])
    other = HopBandit((1, 2, 3))
    other.restore(bandit.state())
    assert other.policy == bandit.policy and other.choose(20, 4) == bandit.choose(20, 4)
    with pytest.raises(BadInput, match="arms"):
        HopBandit((1, 2)).restore(bandit.state())
    with pytest.raises(BadInput):
        HopBandit(())
