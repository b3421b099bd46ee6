"""Killed at any point, a resumed run ends with the records of an uninterrupted one and repeats no paid call."""

from __future__ import annotations

import os
import random
import shutil
import signal
import sqlite3
import subprocess
import sys
import time
from pathlib import Path

import pytest

from metagym.runs.folder import RECORDS, REPLIES, RunFolder

RUN = [
    *("ict", "run", "--actor", "python:tests.support.paid:actor", "--reflector", "python:tests.support.paid:reflector"),
    *("--batch-size", "3", "--meta-turns", "3", "--eval-tasks", "6", "--max-steps", "5", "--no-report", "--quiet"),
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


def finish(process: subprocess.Popen[str]) -> None:
    out, err = process.communicate(timeout=120)
    assert process.returncode == 0, err + out


def calls(log: Path) -> int:
    return len(log.read_text().splitlines()) if log.exists() else 0


def replies(out: Path) -> int:
    if not (out / REPLIES).exists():
        return 0
    connection = sqlite3.connect(out / REPLIES)
    try:
        return connection.execute("SELECT count(*) FROM replies").fetchone()[0]
    except sqlite3.OperationalError:  # killed before the table was made
        return 0
    finally:
        connection.close()


def killed_runs(folder: Path, points: int) -> None:
    started = time.monotonic()
    finish(command(folder / "whole", folder / "whole.log"))
    seconds = time.monotonic() - started
    expected = (folder / "whole" / RECORDS).read_bytes()
    assert calls(folder / "whole.log") == replies(folder / "whole") > 100
    rng = random.Random(0)
    for point in range(points):
        out, log, lost = folder / f"run{point}", folder / f"run{point}.log", 0
        process = command(out, log)
        time.sleep(rng.uniform(0.3, 0.95) * seconds)
        process.send_signal(signal.SIGKILL)
        process.communicate()
        lost += calls(log) - replies(out)  # answered, but killed before the reply was on disk
        finish(command(out, log, *(["--resume"] if (out / "manifest.json").exists() else [])))
        assert (out / RECORDS).read_bytes() == expected
        # Every call was made once, but for those whose reply the kill had lost.
        assert calls(log) - lost == replies(out) == replies(folder / "whole")
        assert 0 <= lost <= 6
        shutil.rmtree(out)


def test_a_killed_run_resumes_to_equal_records(tmp_path: Path) -> None:
    killed_runs(tmp_path, 2)


@pytest.mark.slow
def test_twenty_random_kills_resume_to_equal_records(tmp_path: Path) -> None:
    killed_runs(tmp_path, 20)


def test_s33_resuming_a_finished_run_changes_no_byte_and_asks_nothing(tmp_path: Path) -> None:
    out, log = tmp_path / "run", tmp_path / "log"
    finish(command(out, log))
    before, asked = (out / RECORDS).read_bytes(), calls(log)
    finish(command(out, log, "--resume"))
    assert (out / RECORDS).read_bytes() == before and calls(log) == asked
    with RunFolder.open(out) as folder:
        keys = folder.records.keys()
    assert len(set(keys)) == len(keys) == 3 * 4 + 6 * 4 + 3 + 2
    refused = command(out, log)
    _, error = refused.communicate(timeout=60)
    assert refused.returncode == 2 and "already holds a run" in error
    other = command(out, log, "--resume", "--seed", "1")
    _, error = other.communicate(timeout=60)
    assert other.returncode == 2 and "config.seed" in error


def test_replay_only_needs_no_model(tmp_path: Path) -> None:
    out, log = tmp_path / "run", tmp_path / "log"
    finish(command(out, log))
    expected, asked = (out / RECORDS).read_bytes(), calls(log)
    (out / RECORDS).unlink()
    finish(command(out, log, "--resume", "--cache", "replay-only"))
    assert (out / RECORDS).read_bytes() == expected and calls(log) == asked
    (out / RECORDS).unlink()
    (out / REPLIES).unlink()
    missing = command(out, log, "--resume", "--cache", "replay-only")
    _, error = missing.communicate(timeout=60)
    assert missing.returncode == 2 and "replies.sqlite" in error


def test_a_resumed_run_goes_on_with_the_budget_it_left(tmp_path: Path) -> None:
    out, log = tmp_path / "run", tmp_path / "log"
    stopped = command(out, log, "--budget-calls", "40")
    _, error = stopped.communicate(timeout=60)
    assert stopped.returncode == 2 and "40" in error and calls(log) == 40
    again = command(out, log, "--resume", "--budget-calls", "60")
    _, error = again.communicate(timeout=60)
    assert again.returncode == 2 and calls(log) == 60


def test_ctrl_c_leaves_a_resumable_run(tmp_path: Path) -> None:
    out, log = tmp_path / "run", tmp_path / "log"
    process = command(out, log)
    while calls(log) < 30:
        assert process.poll() is None
        time.sleep(0.02)
    process.send_signal(signal.SIGINT)
    _, error = process.communicate(timeout=30)
    assert process.returncode == 130 and "stopped" in error
    finish(command(out, log, "--resume"))
    finish(command(tmp_path / "whole", tmp_path / "whole.log"))
    assert (out / RECORDS).read_bytes() == (tmp_path / "whole" / RECORDS).read_bytes()
