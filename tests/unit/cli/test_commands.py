"""What each command does and prints."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path

import pytest

from metagym import families
from metagym.runs.folder import RECORDS, RunFolder
from metagym.strictjson import strict_json
from tests.unit.cli.conftest import SMALL, Command

DOORS = ("--family", "Doors", *SMALL)
COMMANDS = [
    *((), ("ict",), ("ict", "run"), ("ict", "collect"), ("ict", "eval"), ("models",), ("models", "install")),
    *(("report",), ("compare",), ("envs",), ("doctor",)),
]


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_every_command_explains_itself(cli: Command, command: tuple[str, ...]) -> None:
    done = cli(*command, "--help")
    assert done.code == 0 and "Usage: metagym" in done.out and done.err == ""
    assert max(map(len, done.out.splitlines())) <= 80


def test_the_version_is_printed(cli: Command) -> None:
    assert re.fullmatch(r"metagym \d+\.\d+\.\d+\n", cli("--version").out)


def test_run_prints_the_curve_the_notes_and_the_report(cli: Command, tmp_path: Path, doors: None) -> None:
    done = cli("ict", "run", *DOORS, "--out", "run", "--batch-size", "8")
    assert done.code == 0 and done.err == ""
    rows = re.findall(
        r"^ +(\d) +(\d\.\d\d) \[\d\.\d\d, \d\.\d\d\] +6 +(\d\.\d\d) +(\d\.\d\d) *$", done.out, re.MULTILINE
    )
    assert [row[:2] for row in rows] == [("0", "0.00"), ("1", "0.50"), ("2", "1.00")]
    assert done.out.startswith("Doors (native engine)\n") or done.out.startswith("Doors\n")
    assert "Success on held-out tasks, 95% interval" in done.out and "oak" in done.out and "iron" in done.out
    assert "note: Scripted stand-ins" in done.out
    assert re.search(r"report \(\d+\.\d s\): run/report\.html", done.out)
    assert (tmp_path / "run" / "report.html").stat().st_size > 10_000


def test_a_run_without_out_takes_the_next_free_folder(cli: Command, tmp_path: Path, doors: None) -> None:
    for _ in range(2):
        assert cli("ict", "run", *DOORS, "--no-report").code == 0
    assert sorted(item.name for item in (tmp_path / "runs").iterdir()) == ["ict-doors-0", "ict-doors-0-2"]
    assert not list((tmp_path / "runs").rglob("report.html"))


def test_s05_zeros_on_the_command_line_stay_zeros(cli: Command, tmp_path: Path, doors: None) -> None:
    zeros = ("--seed", "0", "--temperature", "0", "--history", "0", "--eval-tasks", "0")
    assert cli("ict", "run", *DOORS, *zeros, "--no-report", "--out", "run").code == 0
    config = strict_json((tmp_path / "run" / "manifest.json").read_bytes())["config"]
    assert (config["seed"], config["eval_tasks"]) == (0, 0)
    assert (config["seat"]["temperature"], config["seat"]["history"]) == (0, 0)


def test_options_of_the_command_reach_the_settings(cli: Command, tmp_path: Path, doors: None) -> None:
    (tmp_path / "start.txt").write_text("oak opens to pull\n", encoding="utf-8")
    arguments = (
        *("--preset", "k3", "--split", "train", "--types", "oak, iron", "--eval-types", "iron", "--eval-tasks", "3"),
        *("--eval-every", "2", "--seed", "7", "--prompt", "@start.txt", "--accept", "not-worse", "--max-steps", "2"),
        *("--reflector-temperature", "0.5", "--no-admissible", "--choose", "--wrap", "--max-failures", "0.1"),
    )
    done = cli("ict", "run", "--family", "Doors", "-q", *arguments, "--no-report", "--out", "run")
    assert done.code == 0, done.err
    config = strict_json((tmp_path / "run" / "manifest.json").read_bytes())["config"]
    expected = {
        **{"batch_size": 3, "meta_turns": 4, "split": "train", "task_types": ["oak", "iron"], "eval_types": ["iron"]},
        **{"eval_tasks": 3, "eval_every": 2, "seed": 7, "system_prompt": "oak opens to pull\n", "max_steps": 2},
        **{"accept": "not-worse", "when_exhausted": "wrap", "max_failures": 0.1},
    }
    assert {name: config[name] for name in expected} == expected
    assert config["reflector_seat"]["temperature"] == 0.5
    assert config["seat"] == {**config["seat"], "choose": True, "show_admissible": False}


def test_the_k5_preset_can_be_changed_in_part(cli: Command, tmp_path: Path, doors: None) -> None:
    arguments = ("--preset", "k5", "--meta-turns", "0", "--no-report", "--out", "run", "-q", "--eval-tasks", "2")
    assert cli("ict", "run", "--family", "Doors", *arguments).code == 0
    config = strict_json((tmp_path / "run" / "manifest.json").read_bytes())["config"]
    assert (config["batch_size"], config["meta_turns"]) == (5, 0)


def test_a_used_folder_is_refused_resumed_or_overwritten(cli: Command, tmp_path: Path, doors: None) -> None:
    run = ("ict", "run", *DOORS, "--no-report", "--out", "run")
    first = cli(*run)
    records = (tmp_path / "run" / RECORDS).read_bytes()
    assert "already holds a run" in cli(*run).sentence
    assert "config.seed = 0 and cannot be resumed with 1" in cli(*run, "--resume", "--seed", "1").sentence
    assert (tmp_path / "run" / RECORDS).read_bytes() == records
    assert cli(*run, "--resume").out == first.out and (tmp_path / "run" / RECORDS).read_bytes() == records
    assert cli(*run, "--overwrite", "--seed", "1").code == 0
    assert (tmp_path / "run" / RECORDS).read_bytes() != records


def test_collect_writes_rows_a_card_and_a_run_beside_them(cli: Command, tmp_path: Path, doors: None) -> None:
    small = ("--family", "Doors", "--batch-size", "3", "--meta-turns", "2", "--meta-episodes", "3", "-q")
    done = cli("ict", "collect", "--rows", "data/rows.jsonl", *small)
    assert done.code == 0 and done.out == "6 rows: data/rows.jsonl\ndata card: data/rows.jsonl.md\n"
    rows = (tmp_path / "data" / "rows.jsonl").read_text("utf-8").splitlines()
    assert len(rows) == 6 and all(strict_json(row)["system_prompt"] is not None for row in rows)
    assert (tmp_path / "data" / "rows.jsonl.run" / RECORDS).exists()
    again = cli("ict", "collect", "--rows", "data/rows.jsonl", *small, "--resume")
    assert again.out == done.out and (tmp_path / "data" / "rows.jsonl").read_text("utf-8").splitlines() == rows
    report = cli("report", "data/rows.jsonl.run")
    assert report.code == 0 and "fresh tasks of each batch" in report.out


def test_eval_prints_one_row_per_arm_and_type(cli: Command, tmp_path: Path, doors: None) -> None:
    (tmp_path / "oak.txt").write_text("oak opens to pull", encoding="utf-8")
    arms = ("--prompt", "oak only=@oak.txt", "--untrained", "random", "--reflector", "rules=rules")
    done = cli("ict", "eval", *DOORS, "--out", "ev", "--seeds", "0,1", "--batch-size", "8", *arms, "--markdown")
    assert done.code == 0 and done.err == ""
    table = [line for line in done.out.splitlines() if line.startswith("|")]
    cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in table[2:]]
    assert [cell[1] for cell in cells[:4]] == ["initial prompt", "oak only", "untrained reflector", "rules"]
    assert [cell[2][:4] for cell in cells[:4]] == ["0.00", "0.50", "0.00", "1.00"]
    assert [cell[4][:5] for cell in cells[:4]] == ["-", "+0.50", "0.00 ", "+1.00"]
    assert "run folder: ev" in done.out
    shown = cli("report", "ev").out
    assert "initial prompt" in shown and "untrained reflector" in shown
    text = cli("ict", "eval", *DOORS, "--out", "ev", "--seeds", "0,1", "--batch-size", "8", *arms, "--resume").out
    assert "models: scripted" in text and "2 seeds" in text and max(map(len, text.splitlines())) <= 80


def test_eval_splits_types_and_transfers_between_families(cli: Command, doors: None) -> None:
    split = ("--train-types", "oak", "--test-types", "iron", "--eval-tasks", "4", "--markdown")
    done = cli("ict", "eval", *DOORS, "--out", "a", "--reflector", "rules=rules", *split)
    assert "| rules | 0.00" in done.out  # what it learned on oak says nothing of iron
    transfer = ("--family", "Gates", "--train-family", "Doors", "--batch-size", "8", "--reflector", "rules=rules")
    done = cli("ict", "eval", *SMALL, "--out", "b", "--markdown", *transfer)
    assert done.code == 0
    assert "| all | rules | 0.67" in done.out and "| glass | rules | 0.00" in done.out


def test_compare_pairs_by_task_and_refuses_unlike_runs(cli: Command, tmp_path: Path, doors: None) -> None:
    start = ("--prompt", "oak opens to pull\niron opens to knock", "--meta-turns", "0")
    for out, more in (
        ("a", ("--meta-turns", "0")),
        ("b", start),
        ("c", ("--max-steps", "2")),
        ("d", ("--eval-tasks", 4)),
    ):
        assert cli("ict", "run", *DOORS, *more, "--no-report", "--out", out).code == 0
    done = cli("compare", "a", "b")
    assert done.code == 0 and "+1.00 [+" in done.out and "McNemar's exact test: a only 0, b only 6" in done.out
    assert max(map(len, done.out.splitlines())) <= 80 and "…" not in done.out
    assert "| all | 0.00" in cli("compare", "a", "b", "--markdown").out
    assert "config.max_steps is null in the first and 2 in the second" in cli("compare", "a", "c").sentence
    assert "eval tasks differ" in cli("compare", "a", "d").sentence
    assert "last, best, first" in cli("compare", "a", "b", "--at", "median").sentence
    done = cli("compare", "a", "d", "--common-only")
    assert done.code == 0 and "Only the 4 common tasks are compared" in done.out


def test_compare_takes_the_arms_of_an_evaluation(cli: Command, doors: None) -> None:
    assert cli("ict", "eval", *DOORS, "--out", "ev", "--reflector", "rules=rules").code == 0
    assert "name one of 'initial prompt', 'rules'" in cli("compare", "ev", "ev").sentence
    done = cli("compare", "ev", "ev", "--arm-a", "initial prompt", "--arm-b", "rules")
    assert done.code == 0 and "a: initial prompt, turn 0" in done.out and "b: rules, turn 2" in done.out


def test_report_is_made_anew_and_prints_the_tables(cli: Command, tmp_path: Path, doors: None) -> None:
    printed = cli("ict", "run", *DOORS, "--no-report", "--out", "run").out
    done = cli("report", "run")
    assert done.out == printed + "report: run/report.html\n"
    first = (tmp_path / "run" / "report.html").read_bytes()
    (tmp_path / "run" / "report.html").write_text("stale")
    cli("report", "run")
    assert (tmp_path / "run" / "report.html").read_bytes() == first


def test_s08_a_run_whose_actions_are_rejected_ends_with_a_warning(cli: Command, tmp_path: Path, doors: None) -> None:
    (tmp_path / "old_actor.py").write_text("def answer(request):\n    return 'Action: put key in/on door'\n")
    done = cli("ict", "run", *DOORS, "--actor", "python:old_actor:answer", "--out", "run")
    sys.modules.pop("old_actor", None)
    assert done.code == 0
    flat = " ".join(done.out.split())
    assert re.search(r"note: (\d+) of \1 actions \(100%\) were rejected: prompt, engine and data seem to use", flat)
    assert "were rejected" in (tmp_path / "run" / "report.html").read_text("utf-8")
    with RunFolder.open(tmp_path / "run") as run:
        assert run.manifest["versions"]["family"] == {"engine": "doors 1"}


def test_envs_lists_families_and_ids(cli: Command, doors: None) -> None:
    done = cli("envs")
    assert done.code == 0
    for text in ("ALFWorld\n  splits: train", "MetaGym/ICT-ALFWorld-v0", "Doors\n  splits", "MetaGym/Gates-v0"):
        assert text in done.out


def test_envs_shows_what_is_wrong_with_a_family_and_lists_the_others(
    cli: Command, tmp_path: Path, doors: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken() -> None:
        raise RuntimeError("half a family")

    monkeypatch.setenv("ALFWORLD_DATA", str(tmp_path))
    families.add_factory("Broken", broken)  # type: ignore[arg-type]
    for command in ("envs", "doctor"):
        done = cli(command)
        assert done.code == 0 and f"ALFWORLD_DATA names {tmp_path}" in done.out and "Doors" in done.out
        assert "RuntimeError: half a family" in done.out


def fake_package(folder: Path, name: str, source: str) -> None:
    """An installed package whose import does as `source` says."""
    (folder / name).mkdir()
    (folder / name / "__init__.py").write_text(source)
    info = folder / f"{name}-9.9.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 9.9\n")


@pytest.mark.parametrize(
    ("source", "reason"),
    [
        ("import foo_that_is_missing", "No module named 'foo_that_is_missing'"),
        ("raise OSError('libgame.so.1: cannot open shared object file')", "libgame.so.1: cannot open"),
    ],
)
def test_s32_doctor_shows_why_an_installed_package_does_not_import(
    cli: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, source: str, reason: str
) -> None:
    fake_package(tmp_path, "xllamacpp", source)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    monkeypatch.setattr("metagym.cli.show._EXTRAS", {"llama": ("llama.cpp in process", ("xllamacpp",))})
    done = cli("doctor")
    assert done.code == 0
    line = next(line for line in done.out.splitlines() if line.startswith("  llama"))
    assert "installed, but cannot be imported" in line and reason in line and "pip install" not in line


def test_s32_doctor_names_the_extra_of_what_is_absent(cli: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("metagym.cli.show._EXTRAS", {"llama": ("llama.cpp in process", ("no-such-package",))})
    done = cli("doctor")
    assert done.code == 0 and "no: pip install 'metagym-agents[llama]'" in done.out
    assert "ALFWorld  ready, played by: native" in done.out and "ALFWORLD_DATA not set" in done.out


def test_doctor_names_the_python_that_the_real_engine_needs(cli: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("metagym.cli.show.sys.version_info", (3, 13, 0))
    monkeypatch.setattr("metagym.cli.show._EXTRAS", {"alfworld": ("the real engine", ("no-such-package",))})
    assert "use 3.11 or 3.12" in cli("doctor").out


def test_s34_every_file_of_a_run_is_strict_json(cli: Command, tmp_path: Path, doors: None) -> None:
    assert cli("ict", "run", *DOORS, "--out", "run").code == 0
    rows = ("--rows", "rows.jsonl", "--meta-episodes", "1")
    assert cli("ict", "collect", "--family", "Doors", "-q", *rows).code == 0
    files = [path for path in tmp_path.rglob("*") if path.suffix in (".json", ".jsonl")]
    assert {path.name for path in files} == {"manifest.json", "records.jsonl", "timing.jsonl", "rows.jsonl"}
    for path in files:
        text = path.read_text("utf-8")
        for part in [text] if path.suffix == ".json" else text.splitlines():
            assert json.loads(json.dumps(strict_json(part), allow_nan=False)) == strict_json(part)
