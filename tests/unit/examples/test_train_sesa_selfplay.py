"""The script that trains SESA: its plan, what it refuses, and (slow) that the toy learns."""

from __future__ import annotations

import importlib.util
import json
import sys
import warnings
from dataclasses import replace
from pathlib import Path
from types import ModuleType

import pytest

SCRIPT = Path(__file__).parents[3] / "examples" / "train_sesa_selfplay.py"


@pytest.fixture(scope="module")
def script() -> ModuleType:
    spec = importlib.util.spec_from_file_location("train_sesa_selfplay", SCRIPT)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_a_dry_run_prints_geometry_memory_and_a_server_for_each_policy(
    script: ModuleType, capsys: pytest.CaptureFixture[str]
) -> None:
    assert script.main(["--preset", "sesa-4b", "--dry-run", "--generation", "server", "--lora"]) == 0
    said = capsys.readouterr().out
    assert "1,280 = 256 groups x 5" in said and "challenger's rows per generation" in said
    assert said.count("vllm serve") == 2 and "train_sesa_selfplay.py --preset sesa-4b --lora" in said


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ("--tiny --dry-run", "needs no plan"),
        ("--preset sesa-4b", "--distiller"),
        ("--preset ssp-4b --gpus 8 --per-device 1", "one process"),
        ("--tiny --card-dropout 1.5 --out {out}/run", "card_dropout"),
        ("--tiny --seed -1", "seed"),
    ],
)
def test_what_cannot_work_is_said_in_one_sentence(
    script: ModuleType,
    line: str,
    why: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(script, "require_trl", lambda: None)
    monkeypatch.setattr(script, "require_vllm", lambda: None)
    monkeypatch.chdir(tmp_path)
    assert script.main(line.format(out=tmp_path).split()) == 2
    error = capsys.readouterr().err
    assert error.startswith("error: ") and why in error and error.count("\n") == 1


def test_the_arms_are_told_by_help(script: ModuleType, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        script.main(["--help"])
    assert ended.value.code == 0
    said = " ".join(capsys.readouterr().out.split())
    assert "no-dropout: as sesa" in said and "SSP-like" in said


def test_the_manifest_holds_the_configuration_of_every_server(script: ModuleType, tmp_path: Path) -> None:
    from metagym.errors import BadInput
    from metagym_trainers import plan, presets
    from metagym_trainers.servers import Launch, Servers

    fake = Path(__file__).parents[2] / "support" / "fake_vllm.py"
    command = (sys.executable, "-S", str(fake), "--port", "{port}", "--model", "tiny")
    with Servers(tmp_path / "servers") as servers:
        servers.start(Launch("solver", command, model="tiny", training=True))
        judge = servers.start(Launch("judge", command, model="tiny"))
        given = script.arguments().parse_args(["--preset", "sesa-4b", "--judge", judge.spec(), "--out", str(tmp_path)])
        script.write_manifest(given, tmp_path, plan.make(presets.sesa("sesa-4b")), servers.describe())
        given.searcher = "http://somebody:s3cret@127.0.0.1:9"
        with pytest.raises(BadInput, match="looks like a secret"):
            script.write_manifest(given, tmp_path, plan.make(presets.sesa("sesa-4b")), [])
    manifest = json.loads((tmp_path / "manifest.json").read_text("utf-8"))
    told = manifest["environment"]
    assert [one["served"]["config"]["weight_transfer"] for one in told["servers"]] == [True, True]
    assert told["judge_server"]["models"] == ["tiny"] and told["distiller_server"] is None
    assert (manifest["kind"], manifest["model"]) == ("train-sesa", "Qwen/Qwen3-4B")


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_a_preset_plays_until_nobody_asks_on_a_tiny_model(
    script: ModuleType, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Everything but learning: a random model asks no question, and that ends the run in a sentence."""
    from metagym_trainers.tiny import models

    tokenizer = models.word_tokenizer(("a", "b"), drop_unknown=True)
    models.tiny_model(tokenizer, hidden=32, positions=512).save_pretrained(tmp_path / "model")
    tokenizer.save_pretrained(tmp_path / "model")
    whole = script.presets.sesa("ssp-4b")
    changes = {"generations": 2, "groups": 2, "updates": 1, "max_completion": 8, "max_context": 256, "beta": 0.0}
    recipe, challenger = (replace(one, **changes) for one in (whole.recipe, whole.challenger))
    small = replace(whole, recipe=recipe, challenger=challenger, rollouts=2, max_turns=2)
    monkeypatch.setattr(script.presets, "sesa", lambda name: small)
    settings = type(recipe).settings
    here = {"use_cpu": True, "bf16": False, "gradient_checkpointing": False, "dataloader_pin_memory": False}
    monkeypatch.setattr(type(recipe), "settings", lambda *given, **more: settings(*given, **more) | here)
    line = f"--preset ssp-4b --model {tmp_path / 'model'} --generation transformers --rounds 1 --challenger-steps 0"
    assert script.main([*line.split(), "--solver-steps", "1", "--questions", "4", "--out", str(tmp_path / "run")]) == 2
    said = capsys.readouterr()
    assert "error: none of the 4 challenges of round 0 counts" in said.err and "start/held-out: 0 of 60" in said.out
    assert json.loads((tmp_path / "run" / "manifest.json").read_text("utf-8"))["environment"]["servers"] == []


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_the_toy_learns_and_the_cards_help(script: ModuleType, tmp_path: Path) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert script.main(["--tiny", "--out", str(tmp_path / "run"), "--start", str(tmp_path / "start")]) == 0
    from metagym_trainers.sesa.report import FIGURE, TABLE, accuracy, read_records, rounds

    records = read_records(tmp_path / "run")
    start, last = accuracy(records["start/held-out"]), rounds(records)[-1]
    assert start is not None and last["on"] > last["off"] > start
    assert last["on"] > accuracy(records["placebo/held-out"]) + 0.1  # type: ignore[operator]
    text = (tmp_path / "run" / TABLE).read_text("utf-8")
    assert "toy world" in text and "on - placebo" in text and (tmp_path / "run" / FIGURE).stat().st_size > 5_000
    assert json.loads((tmp_path / "run" / "selfplay.json").read_text("utf-8"))["round"] == len(rounds(records))
