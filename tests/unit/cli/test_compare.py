"""``metagym compare`` on evaluations: the papers' tables from the command line."""

import csv
import io
from pathlib import Path

import pytest

from metagym.evaluation import Benchmark, Suite
from metagym.evaluation.run import Entrant
from metagym.runs.evals import EvalConfig, run_eval_sync
from tests.unit.cli.conftest import Command


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    folder = tmp_path_factory.mktemp("runs")
    suite = Suite("toy", "Toy text", (Benchmark("lake", "FrozenLake", limit=4, max_steps=6),))
    for name, model in (("base", "random"), ("trained", "rules")):
        run_eval_sync(EvalConfig(suite, (Entrant(name, model),)), folder / name)
    return [str(folder / "base"), str(folder / "trained")]


def test_evaluations_make_a_table(cli: Command, runs: list[str], tmp_path: Path) -> None:
    shown = cli("compare", *runs)
    assert shown.code == 0 and "lake (4 x 1)" in shown.out and "trained" in shown.out
    assert max(map(len, shown.out.splitlines())) <= 80
    assert cli("compare", *runs, "--format", "latex").out.startswith("\\begin{table}")
    assert cli("compare", runs[0]).code == 0
    out = tmp_path / "table.csv"
    assert cli("compare", *runs, "--format", "csv", "--out", out).code == 0
    assert [row["system"] for row in csv.DictReader(io.StringIO(out.read_text(encoding="utf-8")))] == [
        "base",
        "trained",
    ]
    page = tmp_path / "table.html"
    assert cli("compare", *runs, "--format", "html", "--out", page).code == 0
    assert "<svg" in page.read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--format", "pdf"], "--format is one of text, markdown, latex, csv, html, got 'pdf'"),
        (["--format", "html"], "--format html needs --out"),
        (["--measure", "acc"], "a measure is avg, pass@K, maj, return or score:NAME, got 'acc'"),
        (["--baseline", "nobody"], "no system 'nobody' in these runs; there are base, trained"),
    ],
)
def test_unusable_settings_are_one_sentence(cli: Command, runs: list[str], arguments: list[str], message: str) -> None:
    assert message in cli("compare", *runs, *arguments).sentence


def test_settings_of_a_pair_do_not_fit_a_table(cli: Command, runs: list[str]) -> None:
    found = cli("compare", *runs, runs[0], "--at", "best").sentence
    assert "--at belongs to the comparison of two runs, and a table is made of 3" in found
    found = cli("compare", *runs, "--at", "best").sentence
    assert "base is an evaluation of models, which has no turns and no arms: leave --at out" in found


def test_an_evaluation_and_a_run_of_training_are_told_apart(cli: Command, runs: list[str], tmp_path: Path) -> None:
    small = ("--batch-size", "2", "--meta-turns", "1", "--eval-tasks", "2", "--no-report", "--quiet")
    assert cli("ict", "run", "--family", "SearchQA", *small, "--out", tmp_path / "learnt").code == 0
    for pair in ((runs[0], tmp_path / "learnt"), (tmp_path / "learnt", runs[0])):
        found = cli("compare", *pair).sentence
        assert "base is an evaluation of models and" in found and "learnt a run of 'ict run'" in found
