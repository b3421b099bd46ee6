"""The script that trains SESA: its plan, what it refuses, and (slow) that the toy learns."""

from __future__ import annotations

import importlib.util
import json
import warnings
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
