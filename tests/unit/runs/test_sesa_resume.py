"""Killed at any point, a resumed run of SESA ends with the records and the bank of an uninterrupted one (C9, S33)."""

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

from metagym.runs.folder import BANK, RECORDS
from tests.unit.runs.test_resume import calls, finish, replies

SEATS = [
    part
    for seat in ("challenger", "solver", "distiller", "verifier")
    for part in (f"--{seat}", f"python:tests.support.paid_sesa:{seat}")
]
RUN = [
    *("sesa", "run", *SEATS, "--rounds", "2", "--questions", "4", "--rollouts", "2", "--max-turns", "4"),
    *("--no-report", "--quiet"),
]


def command(out: Path, log: Path, *more: str, run: list[str] = RUN) -> subprocess.Popen[str]:
    root = Path(__file__).resolve().parents[3]
    environment = {**os.environ, "PAID_LOG": str(log), "PYTHONPATH": str(root)}
    code = "from metagym.cli import main; main()"
    return subprocess.Popen(
        [sys.executable, "-c", code, *run, "--out", str(out), *more],
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def stores(out: Path) -> tuple[bytes, bytes, dict[str, bytes]]:
    bank = out / BANK
    cards = {path.name: path.read_bytes() for path in (bank / "cards").glob("*.md")}
    return (out / RECORDS).read_bytes(), (bank / "journal.jsonl").read_bytes(), cards


def killed_runs(folder: Path, points: int) -> None:
    started = time.monotonic()
    finish(command(folder / "whole", folder / "whole.log"))
    seconds = time.monotonic() - started
    expected = stores(folder / "whole")
    assert expected[2] and calls(folder / "whole.log") == replies(folder / "whole") > 50
    rng = random.Random(0)
    for point in range(points):
        out, log = folder / f"run{point}", folder / f"run{point}.log"
        process = command(out, log, "--workers", "3")
        time.sleep(rng.uniform(0.3, 0.95) * seconds)
        process.send_signal(signal.SIGKILL)
        process.communicate()
        lost = calls(log) - replies(out)  # answered, but killed before the reply was on disk
        finish(command(out, log, *(["--resume"] if (out / "manifest.json").exists() else [])))
        assert stores(out) == expected
        # Every call was made once, but for those whose reply the kill had lost.
        assert calls(log) - lost == replies(out) == replies(folder / "whole")
        shutil.rmtree(out)


def test_c9_a_killed_run_resumes_to_equal_records_and_bank(tmp_path: Path) -> None:
    killed_runs(tmp_path, 1)


@pytest.mark.slow
def test_c9_twenty_random_kills_resume_to_equal_records_and_bank(tmp_path: Path) -> None:
    killed_runs(tmp_path, 20)


def test_s33_resuming_a_finished_run_changes_no_byte_and_replay_only_needs_no_model(tmp_path: Path) -> None:
    out, log = tmp_path / "run", tmp_path / "log"
    finish(command(out, log))
    before, asked = stores(out), calls(log)
    finish(command(out, log, "--resume", "--workers", "2"))
    assert stores(out) == before and calls(log) == asked
    (out / RECORDS).unlink()
    finish(command(out, log, "--resume", "--cache", "replay-only"))
    assert stores(out) == before and calls(log) == asked
    assert len(list((out / BANK / "set-aside").glob("*.jsonl"))) == 1
    other = command(out, log, "--resume", "--seed", "1")
    _, error = other.communicate(timeout=60)
    assert other.returncode == 2 and "config.seed" in error


@pytest.mark.slow
def test_a_budget_that_is_spent_leaves_a_resumable_run(tmp_path: Path) -> None:
    out, log = tmp_path / "run", tmp_path / "log"
    stopped = command(out, log, "--budget-calls", "40")
    _, error = stopped.communicate(timeout=120)
    assert stopped.returncode == 2 and "--resume" in error and calls(log) == 40
    finish(command(out, log, "--resume"))
    finish(command(tmp_path / "whole", tmp_path / "whole.log"))
    assert stores(out) == stores(tmp_path / "whole")
