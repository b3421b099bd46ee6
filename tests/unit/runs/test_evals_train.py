"""What runs of ICT and SESA were trained on is read from their folders, and test tasks are kept out of it."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest

from metagym.errors import BadInput
from metagym.evaluation.benchmarks import Benchmark
from metagym.evaluation.contamination import contaminated, refuse_contaminated
from metagym.evaluation.tasks import prepare
from metagym.ict.config import RunConfig
from metagym.runs.evals_prompts import read_prompt
from metagym.runs.evals_train import read_training
from metagym.runs.ict import run_ict
from metagym.runs.results import load_results
from metagym.runs.sesa import run_sesa_sync
from metagym.sesa.config import SesaConfig


@pytest.fixture(scope="module")
def ict_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    config = RunConfig(family="SearchQA", batch_size=3, meta_turns=1, eval_tasks=4, max_steps=3)
    return asyncio.run(run_ict(config, tmp_path_factory.mktemp("ict") / "run"))


def test_an_ict_run_trained_on_its_batches_and_not_on_its_held_out_tasks(ict_run: Path) -> None:
    found = read_training(ict_run)
    assert len(found.tasks) == 6 and {task.split for task in found.tasks} == {"train"}
    held_out = prepare(Benchmark("qa", "SearchQA"))
    refuse_contaminated([held_out], [found])
    trained = prepare(Benchmark("qa", "SearchQA", split="train"))
    with pytest.raises(BadInput, match="6 of .* test tasks of qa stand in training data"):
        refuse_contaminated([trained], [found])


def test_the_prompt_of_an_ict_run_is_its_last_or_that_of_a_turn(ict_run: Path) -> None:
    prompts = load_results(ict_run).prompts
    assert read_prompt(str(ict_run)) == (prompts[-1].prompt, "run, meta-turn 1")
    assert read_prompt(f"{ict_run}@0") == (prompts[0].prompt, "run, meta-turn 0")
    with pytest.raises(Exception, match="no prompt of meta-turn 7"):
        read_prompt(f"{ict_run}@7")


def test_the_questions_of_a_run_of_sesa_and_of_its_bank_are_found(tmp_path: Path) -> None:
    run = run_sesa_sync(SesaConfig(rounds=1, questions=3, rollouts=2), tmp_path / "run")
    found = read_training(run)
    assert found.texts and read_training(run / "bank").digests >= found.digests
    rows = tmp_path / "rows.jsonl"
    rows.write_text("\n".join(json.dumps({"question": text, "answer": "x"}) for text in found.texts))
    corpus = tmp_path / "corpus.jsonl"
    corpus.write_text('{"id": "0", "contents": "\\"T\\"\\nA text."}\n')
    asked = prepare(Benchmark("qa", "SearchQA", {"test": str(rows), "searcher": f"fts5:{corpus}"}))
    assert len(contaminated(asked, [found])) == len(asked.tasks) > 0
