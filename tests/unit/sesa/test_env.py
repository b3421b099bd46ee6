from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import gymnasium
import pytest

from metagym.chat.types import Message, Request
from metagym.errors import BadInput, BankReadOnly, SearchUnavailable, SpecError, TooManyFailures
from metagym.search import Corpus, Passage, searcher_of
from metagym.sesa import SkillBank
from metagym.sesa.challenger import challenger_prompt
from metagym.sesa.contexts import Seed, SolverContext, challenger_context
from metagym.sesa.env import ChallengerEnv, SolverEnv
from metagym.sesa.materials import Material
from metagym.sesa.solver import solver_prompt
from metagym.sesa.stand_ins import RaisingJudge, ScriptedChallenger, SearchingSolver
from tests.unit.sesa.worlds import DECOMPOSE, BrokenSearcher, passages, says, small_searcher

SOLVER, CHALLENGER = "MetaGym/SESA-Solver-v0", "MetaGym/SESA-Challenger-v0"
RIDDLE = 'Which entry is the one of which it is written "{}" and nothing else at all?'


def made(id_: str, **arguments: Any) -> Any:
    return gymnasium.make(id_, **arguments).unwrapped


def plays(env: Any, model: Any, seed: int, **options: Any) -> tuple[float, bool, bool, dict[str, Any], list[str]]:
    """One episode with a chat model in the seat of the agent."""
    observation, info = env.reset(seed=seed, options=options or None)
    messages, reward, seen = [Message("user", observation)], 0.0, [observation]
    while True:
        request = Request(messages=tuple(messages), temperature=0.0, seed=seed)
        text = asyncio.run(model.chat(request)).text or ""
        observation, reward, terminated, truncated, info = env.step(text)
        messages += [Message("assistant", text), Message("user", observation)]
        seen.append(observation)
        if terminated or truncated:
            return reward, terminated, truncated, info, seen


# --- the solver's


def test_a_solver_searches_and_answers() -> None:
    env = made(SOLVER)
    prompt, info = env.reset(seed=4)
    assert prompt == solver_prompt(SolverContext(env.row.question)) and info["success"] is None
    observation, reward, *ended, _ = env.step(f"<search> {env.row.metadata['supporting_titles'][0]} </search>")
    assert observation.lstrip().startswith("<information>") and (reward, ended) == (0.0, [False, False])
    _, reward, terminated, truncated, info = env.step(f"<think>Now I know.</think><answer> {env.row.golds[0]}")
    assert (reward, terminated, truncated, info["success"]) == (1.0, True, False, True)
    with pytest.raises(BadInput, match="call reset"):
        env.step("<answer> x </answer>")


def test_wrong_missing_and_late_answers_pay_nothing_and_are_told_apart() -> None:
    env = made(SOLVER, max_steps=2)
    env.reset(seed=0)
    *_, terminated, truncated, info = env.step("<answer> nobody </answer>")
    assert (terminated, truncated, info["success"], info["score"]["value"]) == (True, False, False, 0.0)
    env.reset(seed=0)
    notice, *_ = env.step("I wonder.")
    assert "Nothing was done" in notice and "No searches are left" in notice
    *_, terminated, truncated, info = env.step("<search> x </search>")
    assert (terminated, truncated, info["success"], info["score"]["cause"]) == (False, True, False, "no-answer")


def test_cards_of_a_bank_stand_in_the_prompt_and_the_bank_is_not_changed(tmp_path: Path) -> None:
    with SkillBank.open(tmp_path / "bank") as bank:
        bank.add(DECOMPOSE)
    before = {path.name: path.read_bytes() for path in (tmp_path / "bank").iterdir() if path.is_file()}
    env = made(SOLVER, bank=str(tmp_path / "bank"))
    prompt, info = env.reset(seed=1)
    assert info["skills"] == [DECOMPOSE.id] and DECOMPOSE.description in prompt
    with pytest.raises(BankReadOnly):
        env.retriever.bank.add(DECOMPOSE)
    env.step("<answer> x </answer>")
    env.close()
    assert before == {path.name: path.read_bytes() for path in (tmp_path / "bank").iterdir() if path.is_file()}
    plain = made(SOLVER, bank=str(tmp_path / "bank"), retrieve_k=0)
    assert plain.reset(seed=1)[0] == made(SOLVER).reset(seed=1)[0]


def test_a_question_is_asked_by_its_id_and_options_are_checked() -> None:
    env = made(SOLVER)
    name = env.rows[7].id
    assert env.reset(seed=0, options={"question": name})[1]["question"] == name
    with pytest.raises(BadInput, match="no question 'nowhere'"):
        env.reset(options={"question": "nowhere"})
    with pytest.raises(BadInput, match="knows the option question"):
        env.reset(options={"task": name})
    for wrong in (
        {"split": "test"},
        {"questions": "none"},
        {"max_steps": 0},
        {"topk": 0},
        {"scorer": "bleu"},
        {"bank": 3},
        {"render_mode": "human"},
        {"material": "nothing"},
    ):
        with pytest.raises(BadInput):
            SolverEnv(**wrong)


def test_files_of_ones_own_take_the_place_of_the_invented_world(tmp_path: Path) -> None:
    rows = tmp_path / "questions.jsonl"
    rows.write_text(
        json.dumps({"id": "q1", "question": "Which river flows through Orlen?", "golden_answers": ["Vash"]})
    )
    corpus = Corpus([Passage("1", '"Orlen"\nThe river of Orlen is the Vash.')])
    env = made(SOLVER, material=Material("own", searcher_of("fts5", corpus)), questions=str(rows))
    env.reset(seed=0)
    assert "the Vash" in env.step("<search> river Orlen </search>")[0]
    assert env.step("<answer> the Vash </answer>")[1] == 1.0


def test_a_failing_search_may_be_tried_again_and_a_failing_judge_is_no_wrong_answer() -> None:
    fails = [True]
    flaky = BrokenSearcher(lambda query: bool(fails and fails.pop()), SearchUnavailable("down"))
    env = made(SOLVER, searcher=flaky)
    env.reset(seed=0)
    with pytest.raises(SearchUnavailable):
        env.step("<search> x </search>")
    assert "<information>" in env.step("<search> x </search>")[0]
    judged = SolverEnv(scorer="em+judge", judge=RaisingJudge())
    judged.reset(seed=0)
    with pytest.raises(TooManyFailures, match="was not scored"):
        judged.step("<answer> x </answer>")


def test_a_text_that_is_no_text_and_a_step_before_reset_are_refused() -> None:
    for id_ in (SOLVER, CHALLENGER):
        env = made(id_, render_mode="ansi")
        with pytest.raises(BadInput, match="call reset"):
            env.step("x")
        prompt, _ = env.reset(seed=0)
        assert env.render() == prompt
        with pytest.raises(BadInput, match="text"):
            env.step(3)


def test_seeds_without_a_number_go_on_with_the_environments_own_sequence() -> None:
    one, other = made(SOLVER), made(SOLVER)
    starts = []
    for env in (one, other):
        env.reset(seed=11)
        starts.append([env.reset()[0] for _ in range(4)])
    assert starts[0] == starts[1] and len(set(starts[0])) > 1


# --- the challenger's


def test_a_valid_question_pays_the_shape_of_the_solvers_success() -> None:
    env = made(CHALLENGER)
    model = ScriptedChallenger(passages())
    paid = set()
    for seed in range(8):
        reward, terminated, truncated, info, seen = plays(env, model, seed)
        assert seen[0] == challenger_prompt(challenger_context(Seed((info["answer"],), info["hops"])))
        if info["rejected"]:
            continue
        rate = info["success_rate"]
        assert reward == pytest.approx(4 * rate * (1 - rate) if 0 < rate < 1 else 0.0)
        assert terminated and not truncated
        assert f"{rate:.0%}" in seen[-1] and info["backend"] == "scripted"
        assert plays(env, model, seed)[0] == reward
        paid.add(reward)
    assert len(paid) > 1


@pytest.mark.parametrize("shape", ["one_minus_acc", "constant?value=0.25", "min"])
def test_the_shape_is_a_setting(shape: str) -> None:
    env = made(CHALLENGER, shape=shape, hops=[1, 1], verifier=None)
    reward, *_, info, _ = plays(env, ScriptedChallenger(passages()), 3)
    rate = info["success_rate"]
    assert reward == {"o": 1 - rate, "c": 0.25, "m": min(rate, 1 - rate)}[shape[0]]


def test_what_does_not_count_gets_the_penalty_and_the_reason_as_text() -> None:
    env = made(CHALLENGER, penalty=-0.5, max_steps=3)
    env.reset(seed=0)
    said, reward, terminated, truncated, info = env.step("<question> What? </question>")
    assert (reward, terminated, truncated, info["success_rate"]) == (-0.5, True, False, None)
    assert info["rejected"][0] == "too-short" and info["rejected"][1] in said
    env.reset(seed=0)
    env.step("hm")
    env.step("hm")
    said, reward, terminated, truncated, info = env.step("hm")
    assert (reward, terminated, truncated, info["rejected"][0]) == (-0.5, False, True, "no-question")


def test_an_answer_and_hops_may_be_given() -> None:
    env = made(CHALLENGER)
    prompt, info = env.reset(options={"answer": ["Washington, D.C.", "Washington"], "hops": 4})
    assert "Number of facts to chain: 4\nAnswer: Washington, D.C.\n" in prompt and info["hops"] == 4
    for wrong in ({"hops": 0}, {"answer": ""}, {"seed": 3}):
        with pytest.raises(BadInput):
            env.reset(options=wrong)


def test_unscored_attempts_give_no_reward() -> None:
    broken = made(CHALLENGER, solver=RaisingJudge(), verifier=None, filters={"min_searches": 0})
    broken.reset(seed=0)
    with pytest.raises(TooManyFailures, match="5 of 5 tries were not scored"):
        broken.step(f"<question> {RIDDLE} </question>")


def test_i2_neither_text_nor_info_of_the_challenger_holds_a_card(tmp_path: Path) -> None:
    with SkillBank.open(tmp_path / "bank") as bank:
        bank.add(DECOMPOSE)
    env = made(CHALLENGER, bank=str(tmp_path / "bank"), hops=[2, 3])
    plain = made(CHALLENGER, hops=[2, 3])
    model = ScriptedChallenger(passages())
    rates = []
    for seed in range(6):
        *_, info, seen = plays(env, model, seed)
        told = json.dumps([info, seen])
        assert not any(text and text in told for text in DECOMPOSE.texts().values()) and DECOMPOSE.id not in told
        rates.append((info["success_rate"] or 0, plays(plain, model, seed)[3]["success_rate"] or 0))
    assert sum(on for on, _ in rates) > sum(off for _, off in rates)  # the solver did read it
    env.close()


def test_f5_one_rollout_is_refused_with_a_bell_before_anything_is_played() -> None:
    with pytest.raises(BadInput, match="rollouts is 1"):
        made(CHALLENGER, rollouts=1)
    assert made(CHALLENGER, rollouts=1, min_valid=1, shape="one_minus_acc").rollouts == 1


def test_bad_settings_are_one_sentence_each() -> None:
    for wrong in (
        {"hops": 2},
        {"hops": [3, 1]},
        {"hops": [1, 9]},
        {"answers": "Paris"},
        {"shape": "bell"},
        {"filters": {"colour": 1}},
        {"filters": {"noise": -1}},
        {"answers": []},
        {"answers": [""]},
        {"penalty": "x"},
        {"verifier": None, "filters": {"verify": True}},
    ):
        with pytest.raises(BadInput):
            made(CHALLENGER, **wrong)
    with pytest.raises(SpecError):
        made(CHALLENGER, solver="nobody")


def test_models_of_ones_own_sit_on_the_seats() -> None:
    env = ChallengerEnv(solver=SearchingSolver(insight=1.0, slip=0.0), verifier=says("Answer: nobody"))
    *_, info, _ = plays(env, ScriptedChallenger(passages()), 0)
    assert info["rejected"][0] in ("verify-wrong", "no-question")
    env.close()


def test_docstrings_have_the_fixed_headings() -> None:
    for env in (SolverEnv, ChallengerEnv):
        found = [line.strip()[3:] for line in (env.__doc__ or "").splitlines() if line.strip().startswith("## ")]
        assert found == ["Description", "Observation", "Actions", "Rewards", "Episode end", "Arguments", "Source"]


def test_one_answer_of_five_is_held_out_and_never_a_seed_of_training() -> None:
    material = Material("m", small_searcher(), tuple((f"Answer {number}",) for number in range(500)))
    train, valid = material.side("train"), material.side("valid")
    assert set(train) | set(valid) == set(material.answers) and not set(train) & set(valid)
    assert 60 < len(valid) < 140
    env = made(CHALLENGER)
    assert set(env.answers) == set(env.material.side("train"))
