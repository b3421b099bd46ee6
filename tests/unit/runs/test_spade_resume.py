"""Killed at any point, a resumed run of SPADE ends with the records of an uninterrupted one, and pays nothing twice."""

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

from metagym.runs.folder import MEMORY, RECORDS
from tests.unit.runs.test_resume import calls, finish, replies

RUN = [
    *("spade", "run", "--agent", "python:tests.support.paid_spade:agent"),
    *("--designer", "python:tests.support.paid_spade:designer", "--corpus", "frozen", "--max-steps", "8"),
    *("--rounds", "2", "--programs", "2", "--seeds", "2", "--repeats", "2", "--no-report", "--quiet"),
]


def command(out: Path, log: Path, *more: str) -> subprocess.Popen[str]:
    root = Path(__file__).resolve().parents[3]
    environment = {**os.environ, "PAID_LOG": str(log), "PYTHONPATH": str(root)}
    code = "from metagym.cli import main; main()"
    return subprocess.Popen(
        [sys.executable, "-c", code, *RUN, "--out", str(out), *more],
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def stores(out: Path) -> tuple[bytes, bytes]:
    return (out / RECORDS).read_bytes(), (out / MEMORY).read_bytes()


def killed_runs(folder: Path, points: int) -> None:
    started = time.monotonic()
    finish(command(folder / "whole", folder / "whole.log"))
    seconds = time.monotonic() - started
    expected = stores(folder / "whole")
    assert calls(folder / "whole.log") == replies(folder / "whole") > 30
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


def test_s33_a_killed_run_resumes_to_equal_records_and_a_second_resume_changes_nothing(tmp_path: Path) -> None:
    killed_runs(tmp_path, 1)
    out, log = tmp_path / "whole", tmp_path / "whole.log"
    before, asked = stores(out), calls(log)
    finish(command(out, log, "--resume", "--workers", "4"))
    assert stores(out) == before and calls(log) == asked


@pytest.mark.slow
def test_twelve_random_kills_resume_to_equal_records_and_memory(tmp_path: Path) -> None:
    killed_runs(tmp_path, 12)


@pytest.mark.slow
def test_replay_only_needs_no_model_and_other_settings_are_refused(tmp_path: Path) -> None:
    out, log = tmp_path / "run", tmp_path / "log"
    finish(command(out, log))
    before, asked = stores(out), calls(log)
    (out / RECORDS).unlink()
    (out / MEMORY).unlink()
    finish(command(out, log, "--resume", "--cache", "replay-only"))
    assert stores(out) == before and calls(log) == asked
    refused = command(out, log)
    _, error = refused.communicate(timeout=60)
    assert refused.returncode == 2 and "already holds a run" in error
    other = command(out, log, "--resume", "--seed", "1")
    _, error = other.communicate(timeout=60)
    assert other.returncode == 2 and "config.seed" in error


@pytest.mark.slow
def test_a_budget_that_is_spent_leaves_a_resumable_run(tmp_path: Path) -> None:
    out, log = tmp_path / "run", tmp_path / "log"
    stopped = command(out, log, "--budget-calls", "25")
    _, error = stopped.communicate(timeout=120)
    assert stopped.returncode == 2 and "--resume" in error and calls(log) == 25
    finish(command(out, log, "--resume"))
    finish(command(tmp_path / "whole", tmp_path / "whole.log"))
    assert stores(out) == stores(tmp_path / "whole")
