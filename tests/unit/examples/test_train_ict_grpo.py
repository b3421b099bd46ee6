"""The script that trains the reflector: what it refuses, that it learns, and that a kill changes nothing."""

from __future__ import annotations

import asyncio
import importlib.util
import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

SCRIPT = Path(__file__).parents[3] / "examples" / "train_ict_grpo.py"


@pytest.fixture(scope="module")
def script() -> ModuleType:
    """The script as a module."""
    spec = importlib.util.spec_from_file_location("train_ict_grpo", SCRIPT)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def test_help_and_plan_load_no_model(script: ModuleType, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        script.main(["--help"])
    assert ended.value.code == 0 and "--tiny" in capsys.readouterr().out
    for name in script.NAMES:
        assert script.main(["--preset", name, "--dry-run", "--gpus", "8", "--lora"]) == 0
        told = capsys.readouterr().out
        assert name in told and "--lora" in told and "vllm serve Qwen/Qwen2.5-7B-Instruct" in told


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--tiny", "--dry-run"], "--dry-run plans a --preset"),
        (["--preset", "ict-7b-k5"], "--rows.*metagym ict collect"),
        (
            ["--preset", "ict-7b-k5", "--rows", "absent.jsonl", "--eval-rows", "x"],
            "absent.jsonl cannot be read as rows",
        ),
        (["--preset", "ict-7b-k5", "--dry-run", "--gpus", "7"], "cannot be cut into"),
    ],
)
def test_what_cannot_work_is_one_sentence(
    arguments: list[str], words: str, script: ModuleType, capsys: pytest.CaptureFixture[str]
) -> None:
    assert script.main(arguments) == 2
    told = capsys.readouterr().err
    assert told.startswith("error: ") and len(told.splitlines()) == 1
    assert re.search(words, told)


def run(out: Path, *arguments: str, kill_after: int | None = None) -> float:
    """CPU seconds of a tiny training in a process of its own, killed once so many log lines are there."""
    command = [sys.executable, str(SCRIPT), "--tiny", "--out", str(out), *arguments]
    with (out.parent / f"{out.name}.log").open("ab") as log:
        process = subprocess.Popen(command, stdout=log, stderr=log, env={**os.environ, "OMP_NUM_THREADS": "1"})
        if kill_after is not None:
            while process.poll() is None and len(lines(out)) < kill_after:
                time.sleep(0.2)
            process.send_signal(signal.SIGKILL)
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    expected = 0 if kill_after is None else -signal.SIGKILL
    assert process.returncode == expected, (out.parent / f"{out.name}.log").read_text()[-3000:]
    return used.ru_utime + used.ru_stime


def lines(out: Path) -> list[dict[str, Any]]:
    """The log lines so far."""
    from metagym_trainers.ict.runlog import read_metrics

    return read_metrics(out)


def evaluation(out: Path) -> dict[str, float]:
    """The recorded estimates."""
    from metagym.runs.folder import RunFolder

    with RunFolder.open(out) as folder:
        return {key: folder.records.get(key)["value"] for key in folder.records.keys()}


@pytest.mark.slow
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_the_tiny_run_learns_what_transfers_to_held_out_types(seed: int, tmp_path: Path) -> None:
    out = tmp_path / "run"
    used = run(out, "--seed", str(seed))
    table = (out / "table.md").read_text()
    print(f"seed {seed}: {used:.0f} CPU s\n{table}")
    found = evaluation(out)
    assert "| random weights (greedy) | 0.0" in table and "scripted actor" in table
    assert found["eval/trained/held-out task types"] >= 0.9
    assert found["eval/warm start on form (greedy)/held-out task types"] <= 0.3
    assert "The best constant answer earns 0.25" in table
    assert (out / "curve.svg").read_text().startswith("<?xml") and (out / "final" / "model.safetensors").is_file()
    assert json.loads((out / "manifest.json").read_text())["kind"] == "train-ict"
    assert list((out / "episodes").glob("step-*.jsonl"))


@pytest.mark.slow
def test_s33_a_killed_and_resumed_run_equals_an_uninterrupted_one_reward_for_reward(tmp_path: Path) -> None:
    settings = ("--max-steps", "12", "--save-steps", "4", "--rounds", "6", "--meta-episodes", "8")
    run(tmp_path / "whole", *settings)
    run(tmp_path / "parts", *settings, kill_after=6)
    run(tmp_path / "parts", *settings, "--resume")
    whole, parts = lines(tmp_path / "whole"), lines(tmp_path / "parts")
    assert [line["step"] for line in whole] == list(range(1, 13))
    names = ("step", "rewards", "reward", "loss", "entropy")
    assert [[line[name] for name in names] for line in parts] == [[line[name] for name in names] for line in whole]
    assert evaluation(tmp_path / "parts") == evaluation(tmp_path / "whole")
    assert len(list((tmp_path / "parts").glob("records.jsonl"))) == 1


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::FutureWarning", "ignore::UserWarning")  # of other libraries
def test_a_used_folder_and_other_settings_are_refused(
    script: ModuleType, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = str(tmp_path / "run")
    short = ["--tiny", "--out", out, "--max-steps", "1"]
    assert script.main(short) == 0
    assert script.main(short) == 2 and "already holds a run" in capsys.readouterr().err
    assert script.main([*short, "--seed", "1", "--resume"]) == 2
    assert "settings.seed" in capsys.readouterr().err


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::FutureWarning", "ignore::UserWarning")  # of other libraries
@pytest.mark.parametrize("lora", [False, True])
def test_a_preset_trains_on_collected_rows_and_ends_with_its_table(
    lora: bool, script: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The path of the GPU presets, on a tiny model from a folder and with a tiny recipe."""
    from dataclasses import replace

    from metagym.ict.collect import collect
    from metagym.ict.loop import Seats, memory_records
    from metagym_trainers import presets
    from metagym_trainers.recipes import Recipe
    from metagym_trainers.tiny import ict_world as world
    from metagym_trainers.tiny.models import tiny_model, word_tokenizer

    world.register()
    tokenizer = word_tokenizer(world.VOCABULARY, drop_unknown=True)
    tiny_model(tokenizer).save_pretrained(tmp_path / "model")
    tokenizer.save_pretrained(tmp_path / "model")
    files = {}
    for split in world.SPLITS:
        config = world.settings(split, 0)
        rows = asyncio.run(collect(config, 2, Seats.of(config, world.family()), memory_records()))
        files[split] = tmp_path / f"{split}.jsonl"
        files[split].write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    recipe = Recipe(generations=2, groups=2, batches=2, save_every=1, max_completion=4)
    small = replace(presets.named("ict-7b-k3"), recipe=recipe)
    monkeypatch.setattr(presets, "named", lambda name: small)
    settings = type(small).grpo
    monkeypatch.setattr(
        type(small),
        "grpo",
        lambda self, *given, **more: settings(self, *given, **more, bf16=False, use_cpu=True),
    )
    arguments = ["--preset", "ict-7b-k3", "--model", str(tmp_path / "model"), "--generation", "transformers"]
    arguments += ["--rows", str(files["train"]), "--eval-rows", str(files["held_out"]), "--out", str(tmp_path / "run")]
    assert script.main([*arguments, *(["--lora"] if lora else [])]) == 0, capsys.readouterr().err
    told = capsys.readouterr().out
    assert "| untrained | " in told and "| trained | " in told and "held-out rows" in told
    assert [line["step"] for line in lines(tmp_path / "run")] == [1, 2]
    assert script.main([*arguments[:-3], str(files["train"]), *arguments[-2:]]) == 2
    assert "evaluate on rows of other tasks" in capsys.readouterr().err
