"""``metagym eval``: what a person types and reads, and what a kill leaves."""

from __future__ import annotations

import os
import random
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from metagym.cli.evaluate import _named, _short
from metagym.runs.evals_results import load_evals
from metagym.runs.folder import RECORDS
from tests.unit.cli.conftest import Command
from tests.unit.runs.test_resume import calls, finish, replies

QA = ("eval", "qa", "--limit", "6", "--quiet")


def test_a_suite_is_played_reported_and_read_again(cli: Command, tmp_path: Path) -> None:
    done = cli(*QA, "-m", "rules", "-m", "wander=random", "--samples", "2")
    assert done.code == 0 and not done.err, done.err
    assert max(map(len, done.out.splitlines())) <= 80
    flat = " ".join(done.out.split())
    assert "preset sesa" in flat and "avg@k" in flat and "pass@k" in flat and "wander - rules" in flat
    assert "Left out: nq, triviaqa, popqa" in flat and "note: Scripted stand-ins" in flat
    folder = tmp_path / "runs/eval-qa-0"
    assert (folder / "report.html").exists()
    assert "avg@k" in cli("report", "runs/eval-qa-0").out
    told = load_evals(folder).score("wander", "invented").measures
    assert (told.tasks, told.samples, told.episodes) == (6, 2, 12)
    assert "| benchmark | model |" in cli(*QA, "-m", "rules", "--markdown", "--no-report", "--out", "md").out


def test_results_do_not_depend_on_batch_concurrency_or_workers(cli: Command, tmp_path: Path) -> None:
    made = set()
    for number, how in enumerate(
        (
            ("--batch", "1"),
            ("--batch", "8", "--concurrency", "8"),
            ("--concurrency", "1"),
            ("--hosts", "process:2"),
            ("--hosts", "inline"),
        )
    ):
        done = cli(*QA, "-m", "rules", "-m", "random", "--samples", "2", "--no-report", "--out", number, *how)
        assert done.code == 0, done.err
        made.add((tmp_path / str(number) / RECORDS).read_bytes())
    assert len(made) == 1


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("eval", "nothing", "-m", "rules"), "no suite 'nothing'"),
        (("eval", "qa"), "at least one model"),
        (("eval", "qa", "-m", "rules", "-m", "rules"), "two models are called 'rules'"),
        (("eval", "qa", "-m", "what:is"), "unknown kind of model"),
        (("eval", "qa", "-m", "rules", "--preset", "spade"), "preset spade is for reasoning"),
        (("eval", "qa", "-m", "rules", "--only", "nq"), "cannot play 'nq' here"),
        (("eval", "qa", "-m", "rules", "--option", "x=1"), "no option 'x'"),
        (("eval", "games", "-m", "rules", "--option", "games=5"), "games is a list of names"),
        (("eval", "qa", "-m", "rules", "--option", "sets=5"), "sets is a list of names"),
        (("eval", "qa", "-m", "rules", "--option", "folder=5"), "folder is a text, got 5"),
        (("eval", "bfcl", "-m", "rules", "--option", "categories=5"), "categories of BFCL is a list of names"),
        (("eval", "ict", "-m", "rules", "--option", "types=[5]"), "types is a list of names"),
        (("eval", "ict", "-m", "rules", "--option", "family=5"), "family is a text"),
        (("eval", "acebench", "-m", "rules", "--option", "path=5"), "path is a text"),
        (("eval", "reasoning", "-m", "rules", "--option", "folder=5"), "folder is a text"),
        (("eval", "qa", "-m", "rules", "--hosts", "moon"), "hosts is"),
        (("eval", "qa", "-m", "rules", "--train", "none.jsonl"), "cannot be read"),
        (("eval", "acebench", "-m", "rules"), "nothing to play here"),
        (
            ("eval", "reasoning", "-m", "rules", "--option", "folder=away", "--only", "gpqa"),
            "away/gpqa.jsonl is not there",
        ),
        (("eval", "no:m: x", "-m", "rules"), "no suite 'no:m: x'"),  # and no sign for :m:
        (("eval", "qa", "-m", "rules", "--resume"), "--resume needs --out"),
    ],
)
def test_bad_input_is_one_sentence_and_makes_no_folder(
    cli: Command, tmp_path: Path, arguments: tuple[str, ...], sentence: str
) -> None:
    assert sentence in cli(*arguments).sentence
    assert not (tmp_path / "runs").exists()


def test_prompts_that_ict_found_are_scored_on_held_out_tasks(cli: Command, tmp_path: Path) -> None:
    small = ("--batch-size", "4", "--meta-turns", "3", "--eval-tasks", "0", "--no-report", "--quiet")
    assert cli("ict", "run", "--family", "SearchQA", *small, "--out", "learnt").code == 0
    more = ("--option", "family=SearchQA", "--limit", "20", "--train", "learnt", "--prompt", "initial")
    done = cli("eval", "ict", "-m", "rules", *more, "--prompt", "ict=learnt", "--out", "e", "--quiet")
    assert done.code == 0, done.err
    results = load_evals(tmp_path / "e")
    before, after = (results.score(name, "searchqa").measures.avg.value for name in ("rules+prompt1", "rules+ict"))
    assert before is not None and after is not None and after > before
    flat = " ".join(done.out.split())
    assert "rules+ict (learnt, meta-turn 3)" in flat and "No test task stands in the training data" in flat


def test_the_suites_and_presets_are_listed(cli: Command) -> None:
    out = cli("eval", "list").out
    assert "rg-math" in out and "left out: its file is not named" in out and "spade: SPADE's" in out


def test_names_of_models_and_specs_with_parameters() -> None:
    assert _named("base=openai:m?temperature=0") == ("base", "openai:m?temperature=0")
    assert _named("openai:m?temperature=0") == ("", "openai:m?temperature=0")
    assert _short("openai:org/model-7b?temperature=0") == "openai:org-model-7b"


def command(out: Path, log: Path, *more: str) -> subprocess.Popen[str]:
    root = Path(__file__).resolve().parents[3]
    environment = {**os.environ, "PAID_LOG": str(log), "PYTHONPATH": str(root)}
    code = "from metagym.cli import main; main()"
    run = ("eval", "qa", "-m", "python:tests.support.quiz:paid", "--samples", "4", "--limit", "30", "--no-report", "-q")
    return subprocess.Popen(
        [sys.executable, "-c", code, *run, "--out", str(out), *more],
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def killed_runs(folder: Path, points: int) -> None:
    started = time.monotonic()
    finish(command(folder / "whole", folder / "whole.log", "--concurrency", "2"))
    seconds = time.monotonic() - started
    expected = (folder / "whole" / RECORDS).read_bytes()
    assert calls(folder / "whole.log") == replies(folder / "whole") == 120
    chance = random.Random(0)
    for point in range(points):
        out, log = folder / f"run{point}", folder / f"run{point}.log"
        process = command(out, log, "--concurrency", "2")
        time.sleep(chance.uniform(0.4, 0.95) * seconds)
        process.send_signal(signal.SIGKILL)
        process.communicate()
        lost = calls(log) - replies(out)  # answered, but killed before the reply was on disk
        finish(command(out, log, *(["--resume"] if (out / "manifest.json").exists() else [])))
        assert (out / RECORDS).read_bytes() == expected
        assert calls(log) - lost == replies(out) == 120
        shutil.rmtree(out)


def test_a_killed_evaluation_resumes_to_equal_records(tmp_path: Path) -> None:
    killed_runs(tmp_path, 1)


@pytest.mark.slow
def test_ten_random_kills_resume_to_equal_records(tmp_path: Path) -> None:
    killed_runs(tmp_path, 10)
