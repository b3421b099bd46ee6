from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from metagym.episodes import Status
from metagym.errors import BadInput, SearchUnavailable
from metagym.search import Corpus, Passage, searcher_of
from metagym.sesa import SkillBank
from metagym.sesa.cards import question_sha256
from metagym.sesa.challenger import Challenge, ask, challenger_prompt, vet
from metagym.sesa.contexts import Seed, challenger_context
from metagym.sesa.distil import distil
from metagym.sesa.filters import FilterSettings
from metagym.sesa.retrieval import SkillBlock, SkillRetriever
from metagym.sesa.rollouts import RolloutSettings
from metagym.sesa.rounds import Attempt, RewardSettings, attempt, challenge, rewards, without_skills
from metagym.sesa.shaping import load_shape
from metagym.sesa.stand_ins import (
    ReadingVerifier,
    ScriptedChallenger,
    ScriptedDistiller,
    ScriptedSolver,
    SearchingSolver,
)
from tests.unit.sesa.worlds import (
    DECOMPOSE,
    BrokenSearcher,
    Recording,
    answered,
    passages,
    says,
    searcher,
    small_searcher,
    wait,
)

QUESTION = "Which river flows through the town in which the novelist Mira Tolk was born?"
SEED = Seed(("Vash", "river Vash"), 2)
TURNS = (
    "<search> birthplace of Mira Tolk </search>",
    "<search> river of Orlen </search>",
    f"<question> {QUESTION} </question>",
)
LIMITS = FilterSettings(verify=False)


def asked(*texts: str, settings: RolloutSettings | None = None, search: object = None) -> Challenge:
    found = search or small_searcher()
    return wait(ask([SEED], [challenger_context(SEED)], says(*texts), found, settings=settings))[0]  # type: ignore[arg-type]


def vetted(one: Challenge, **more: object) -> Challenge:
    return wait(vet([one], LIMITS, **more))[0]  # type: ignore[arg-type]


def test_a_challenge_searches_and_asks() -> None:
    one = vetted(asked(*TURNS))
    assert one.valid and one.question == QUESTION and one.searches == ("birthplace of Mira Tolk", "river of Orlen")
    assert {passage.plain_title for passage in one.passages} == {"Orlen", "Mira Tolk"}
    assert Challenge.from_json(one.to_json()) == one
    with pytest.raises(BadInput):
        Challenge.from_json({"question": "x"})


def test_the_prompt_is_made_of_the_context_alone() -> None:
    model = Recording(says(*TURNS))
    context = challenger_context(SEED, 0.4, example="Where was Ada born?")
    wait(ask([SEED], [context], model, small_searcher()))
    prompt = model.requests[0].messages[0].content
    assert prompt == challenger_prompt(context) and "40%" in prompt and "Where was Ada born?" in prompt
    assert prompt.endswith("Number of facts to chain: 2\nAnswer: Vash\n")
    assert challenger_prompt(challenger_context(SEED)).count("%") == 0


@pytest.mark.parametrize(
    ("texts", "code"),
    [
        (("<question> Which? </question>",), "too-short"),
        ((f"<question> {QUESTION} </question>",), "no-information"),
        ((TURNS[0], TURNS[0], TURNS[2]), "repeated-search"),
        (
            (TURNS[0], TURNS[1], "<question> Why is Vash the river of the town of Mira Tolk, a novelist? </question>"),
            "answer-in-question",
        ),
        (("I cannot think of any.",), "no-question"),
        (("<answer> Vash </answer>",), "no-question"),
        (("<think><question>" + QUESTION + "</question></think>",), "no-question"),
    ],
)
def test_f4_what_does_not_count_gets_the_penalty_and_no_solver(texts: tuple[str, ...], code: str) -> None:
    one = vetted(asked(*texts, settings=RolloutSettings(max_turns=3)))
    assert one.rejected is not None and one.rejected.code == code and not one.valid
    solver = Recording(says("<answer> Vash </answer>"))
    tried = wait(attempt([one], SkillRetriever(None), solver, small_searcher()))
    assert not tried and not solver.requests
    (paid,) = rewards([one], tried, load_shape("quadratic"), RewardSettings(penalty=-0.5))
    assert (paid.reward, paid.measured, paid.reason) == (-0.5, None, code)


def test_f4_rejected_questions_enter_no_rate_and_make_no_card(tmp_path: Path) -> None:
    good, bad = vetted(asked(*TURNS)), vetted(asked(TURNS[2]))
    coin = ScriptedSolver(lambda question, skills: 0.5, lambda question: "Vash")
    tried = wait(attempt([bad, good], SkillRetriever(None), coin, small_searcher(), seed=2))
    assert [one.question for one in tried] == [QUESTION]
    paid = rewards([bad, good], tried, load_shape("quadratic"))
    assert paid[0].reward == -1.0 and paid[1].measured is not None and paid[1].measured.scored == 5
    with SkillBank.open(tmp_path / "bank") as bank:
        assert wait(distil([one.tried for one in tried], bank, ScriptedDistiller())).calls <= 1


def test_a_search_that_is_down_is_no_fault_of_the_challenger() -> None:
    down = BrokenSearcher(lambda query: True, SearchUnavailable("down"))
    one = asked(*TURNS, settings=RolloutSettings(max_failures=1.0), search=down)
    assert one.failed and one.rejected is None and vetted(one) == one
    (paid,) = rewards([one], [], load_shape("quadratic"))
    assert paid.reward is None and paid.reason == "failed"


def test_verification_fails_closed_and_needs_somebody_who_verifies() -> None:
    with pytest.raises(BadInput, match="no verifier"):
        wait(vet([asked(*TURNS)], FilterSettings()))
    for text, code in (("Answer: Vash", ""), ("Answer: Dorn", "verify-wrong"), (None, "verify-failed")):
        (one,) = wait(vet([asked(*TURNS)], FilterSettings(), verifier=says(text)))
        assert (one.rejected.code if one.rejected else "") == code


def test_noise_is_never_the_challenges_own_passages() -> None:
    elsewhere = searcher_of("fts5", Corpus([Passage("9", '"Far Isle"\nThe Vash is far from Tamsin.')]))
    mine = asked(*TURNS)
    other = asked("<search> Tamsin </search>", "<search> Vash </search>", TURNS[2], search=elsewhere)
    judge = Recording(says("Answer: Vash"))
    for seed in range(8):
        wait(vet([mine, other], FilterSettings(noise=1), verifier=judge, seed=seed))
    assert len(judge.requests) == 16 and all("Far Isle" in one.messages[1].content for one in judge.requests)


def test_the_verifier_reads_the_challengers_passages_and_those_of_others() -> None:
    judge = Recording(says("Answer: Vash"))
    other = asked("<search> Mira Tolk </search>", TURNS[2])
    wait(vet([asked(*TURNS), other], FilterSettings(min_searches=1), verifier=judge))
    assert len(judge.requests) == 2 and all(
        "Mira Tolk was born" in request.messages[1].content for request in judge.requests
    )


def test_held_out_questions_are_refused() -> None:
    one = vetted(asked(*TURNS), held_out={question_sha256(QUESTION)})
    assert one.rejected is not None and one.rejected.code == "held-out"


# --- a whole round


def test_a_round_pays_the_shape_and_the_repetition(tmp_path: Path) -> None:
    model = ScriptedChallenger(passages())
    seeds = [Seed((title,), 1 + number % 4) for number, title in enumerate(model.titles[:8])]
    contexts = [challenger_context(one) for one in seeds]
    found = wait(challenge(seeds, contexts, model, searcher(), verifier=ReadingVerifier(), seed=1))
    assert all(one.valid for one in found)
    tried = wait(attempt(found, SkillRetriever(None), SearchingSolver(), searcher(), seed=1))
    paid = rewards(found, tried, load_shape("quadratic"), RewardSettings(repetition=0.5))
    for one in paid:
        assert one.measured is not None and one.measured.rate is not None and one.share is not None
        rate = one.measured.rate
        assert one.reward == pytest.approx((4 * rate * (1 - rate) if 0 < rate < 1 else 0) - 0.5 * one.share)
    again = wait(challenge(seeds, contexts, model, searcher(), verifier=ReadingVerifier(), seed=1))
    assert found == again and tried == wait(attempt(again, SkillRetriever(None), SearchingSolver(), searcher(), seed=1))
    with pytest.raises(BadInput, match="must be the same"):
        rewards(found, tried[1:], load_shape("quadratic"))


def test_probes_run_without_skills_and_count_for_nothing_else(tmp_path: Path) -> None:
    model = ScriptedSolver(lambda question, skills: float(bool(skills)), lambda question: "Vash")
    with SkillBank.open(tmp_path / "bank") as bank:
        bank.add(DECOMPOSE)
        (one,) = wait(
            attempt([(QUESTION, ("Vash",))], SkillRetriever(bank), model, small_searcher(), rollouts=3, probes=2)
        )
        assert one.outcomes == (True, True, True) and [probe.success for probe in one.probes] == [False, False]
        assert Counter(one.uses) == {(DECOMPOSE.id, True): 3} and one.tried.skill_ids == (DECOMPOSE.id,)
        (bare,) = without_skills([one])
        assert bare.outcomes == (False, False) and bare.skills.ids == ()
        assert one.to_json()["skills"]["ids"] == [DECOMPOSE.id]
    (none,) = wait(attempt([(QUESTION, ("Vash",))], SkillRetriever(None), model, small_searcher(), probes=2))
    assert none.probes == () and none.uses == [] and without_skills([none]) == []


def test_unscored_rollouts_drop_a_question_without_a_reward() -> None:
    one = vetted(asked(*TURNS))
    broken = [answered("x", None, status=Status.ERROR, number=n) for n in range(4)]
    tried = Attempt(QUESTION, ("Vash",), (answered("Vash", True), *broken))
    (paid,) = rewards([one], [tried], load_shape("quadratic"))
    assert (
        paid.reward is None and paid.reason == "dropped" and paid.measured is not None and paid.measured.unscored == 4
    )
    assert rewards([one], [tried], load_shape("one_minus_acc"), RewardSettings(min_valid=1))[0].reward == 0.0


def test_every_scored_rollout_counts_as_a_use_of_each_card_won_or_lost() -> None:
    rollouts = (
        answered("Vash", True),
        answered("Dorn", False, number=1),
        answered("x", None, status=Status.ERROR, number=2),
    )
    one = Attempt("Who?", ("Vash",), rollouts, skills=SkillBlock("text", ("a", "b"), ("c",)))
    assert one.uses == [("a", True), ("b", True), ("a", False), ("b", False)]
    assert Attempt("Who?", ("Vash",), rollouts).uses == []
