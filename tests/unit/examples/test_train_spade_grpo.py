"""The script that trains SPADE: what it refuses, what it writes, and (slowly) that a tiny model learns."""

from __future__ import annotations

import importlib.util
import json
import os
import re
import shutil
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

SCRIPT = Path(__file__).parents[3] / "examples" / "train_spade_grpo.py"


@pytest.fixture(scope="module")
def script() -> ModuleType:
    """The script as a module."""
    spec = importlib.util.spec_from_file_location("train_spade_grpo", SCRIPT)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def test_help_and_plan_load_no_model(script: ModuleType, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        script.main(["--help"])
    told = capsys.readouterr().out
    assert ended.value.code == 0
    assert all(word in told for word in ("--tiny", "--pay", "--preset", "--dry-run", "--resume", "--lora"))
    for preset in script.presets.SPADE_NAMES:
        assert script.main(["--preset", preset, "--dry-run", "--gpus", "8"]) == 0
        assert preset in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--tiny", "--dry-run"], "--dry-run plans a --preset"),
        (["--preset", "spade-4b-games", "--dry-run", "--per-device", "7"], "cannot be cut into"),
        (["--preset", "spade-4b-tools", "--model", str(SCRIPT.parent)], "--auditor"),
        (["--preset", "spade-4b-games", "--model", str(SCRIPT.parent)], "tokenizer of .*examples cannot be loaded"),
    ],
)
def test_what_cannot_work_is_one_sentence(
    arguments: list[str], words: str, script: ModuleType, capsys: pytest.CaptureFixture[str]
) -> None:
    assert script.main(arguments) == 2
    told = capsys.readouterr().err
    assert told.startswith("error: ") and len(told.splitlines()) == 1
    assert re.search(words, told)


def test_table_and_figure_tell_what_was_measured(script: ModuleType, tmp_path: Path) -> None:
    lines = [
        {
            "number": at,
            "metrics": {"spade/valid": at / 12, "spade/win_rate": 0.5} if at else {"spade/valid": 0.0},
            "designs": [{"digest": "a" if at else None}],
        }
        for at in range(12)
    ]
    (tmp_path / "generations.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    job: Any = SimpleNamespace(
        title="A run",
        columns=["easy", "hard"],
        notes=("A toy.",),
        difficulty=lambda line: {"a": 3.0}.get(line["designs"][0]["digest"]),
    )
    told = script.tell(job, {"start": {"unhinted": [0.0, None]}, "trained": {"unhinted": [1.0, 0.5]}}, tmp_path)
    assert "| start, unhinted | 0.00 | - |" in told
    assert "| trained, unhinted | 1.00 | 0.50 |" in told
    assert "| mean pins | 3.00 | 3.00 |" in told
    assert (tmp_path / "evaluation.md").read_text() in told
    assert "mean pins of a valid design" in (tmp_path / "curves.svg").read_text()
    assert "A toy." in told


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::FutureWarning", "ignore::UserWarning", "ignore::RuntimeWarning")  # of others
@pytest.mark.parametrize("more", [[], ["--lora"]])
def test_a_preset_runs_from_end_to_end_on_a_tiny_model(
    more: list[str], script: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from metagym_trainers.tiny import locks, models

    tokenizer = models.word_tokenizer(locks.WORDS, drop_unknown=True)
    models.tiny_model(tokenizer, hidden=32, positions=512).save_pretrained(tmp_path / "model")
    tokenizer.save_pretrained(tmp_path / "model")
    whole = script.presets.spade("spade-4b-games")
    recipe = replace(whole.recipe, generations=2, updates=1, max_completion=8, max_context=512, batches=2)
    small = replace(whole, recipe=recipe, games=1, designer_tokens=8, hint_tokens=8, max_turns=2)
    monkeypatch.setattr(script.presets, "spade", lambda name: small)
    settings = type(recipe).settings
    here = {"use_cpu": True, "bf16": False, "gradient_checkpointing": False, "dataloader_pin_memory": False}
    monkeypatch.setattr(type(recipe), "settings", lambda *given, **more: settings(*given, **more) | here)
    arguments = ["--preset", "spade-4b-games", "--model", str(tmp_path / "model"), "--generation", "transformers"]
    out = tmp_path / "run"
    assert script.main([*arguments, "--per-device", "4", "--save-steps", "1", "--out", str(out), *more]) == 0
    lines = (out / "generations.jsonl").read_text().splitlines()
    assert len(lines) == 2
    assert sum(json.loads(lines[0])["rejected"].values()) == 2, "random words are no program"
    table = (out / "evaluation.md").read_text()
    assert "Number lock 1" in table and "| trained, unhinted | 0.00 |" in table
    assert (out / "checkpoints" / "checkpoint-2" / "metagym" / "manifest.json").exists()


@pytest.mark.slow
def test_a_killed_run_is_resumed_and_ends_as_an_uninterrupted_one(tmp_path: Path) -> None:
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}

    def command(out: Path, *more: str) -> list[str]:
        steps = ["--max-steps", "6", "--save-steps", "2", "--play", "sandbox"]
        return [sys.executable, "-W", "ignore", str(SCRIPT), "--tiny", *steps, "--out", str(out), *more]

    whole, parts = tmp_path / "whole", tmp_path / "parts"
    subprocess.run(command(whole), env=environment, check=True, capture_output=True)
    with subprocess.Popen(command(parts), env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as run:
        records = parts / "generations.jsonl"
        while run.poll() is None and (not records.exists() or records.read_text().count("\n") < 4):
            time.sleep(0.05)
        run.kill()
    assert run.returncode == -9
    subprocess.run(command(parts, "--resume"), env=environment, check=True, capture_output=True)
    assert (parts / "generations.jsonl").read_text() == (whole / "generations.jsonl").read_text()
    tables = [re.sub("seconds of this process: .*", "", (out / "evaluation.md").read_text()) for out in (whole, parts)]
    assert tables[0] == tables[1]


@pytest.mark.slow
def test_two_processes_share_a_batch_and_go_on_from_a_checkpoint_as_if_nothing_had_happened(tmp_path: Path) -> None:
    launch = [str(Path(sys.executable).with_name("accelerate")), "launch", "--cpu", "--num_processes", "2"]
    launch += ["--num_machines", "1", "--mixed_precision", "no", "--dynamo_backend", "no", str(SCRIPT), "--tiny"]
    out, environment = tmp_path / "run", {**os.environ, "OMP_NUM_THREADS": "1"}
    steps = ["--max-steps", "4", "--save-steps", "2", "--out", str(out)]
    subprocess.run([*launch, *steps], env=environment, check=True, capture_output=True)
    whole = (out / "generations.jsonl").read_text()
    assert whole.count("\n") == 4
    shutil.rmtree(out / "checkpoints" / "checkpoint-4")  # as if it had been killed after step 3
    records = (out / "records.jsonl").read_text().splitlines(keepends=True)
    (out / "records.jsonl").write_text("".join(line for line in records if "eval/trained" not in line))
    subprocess.run([*launch, *steps, "--resume"], env=environment, check=True, capture_output=True)
    assert (out / "generations.jsonl").read_text() == whole
    assert (out / "records.jsonl").read_text() == "".join(records), "and the trained model is the same"


@pytest.mark.slow
def test_a_tiny_run_learns_the_form_and_the_keys(tmp_path: Path) -> None:
    command = [sys.executable, "-W", "ignore", str(SCRIPT), "--tiny", "--out", str(tmp_path / "run")]
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    found = subprocess.run(
        [*command, "--max-steps", "200"], env=environment, capture_output=True, text=True, check=False
    )
    assert found.returncode == 0, found.stderr[-3000:]
    records = [json.loads(line) for line in (tmp_path / "run" / "generations.jsonl").read_text().splitlines()]
    valid = [record["metrics"]["spade/valid"] for record in records]
    assert sum(valid[-20:]) / 20 > sum(valid[:20]) / 20 + 0.15
    table = (tmp_path / "run" / "evaluation.md").read_text()
    rows = {
        line.split("|")[1].strip(): [float(cell) for cell in line.split("|")[2:-1] if cell.strip() != "-"]
        for line in table.splitlines()
        if "hinted |" in line
    }
    assert sum(rows["trained, unhinted"]) > sum(rows["untrained start, unhinted"]) + 0.3
    assert (tmp_path / "run" / "curves.svg").exists()
