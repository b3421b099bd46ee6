"""Evaluations on a real Ray cluster whose node, or whose driver, is killed in the middle: the same bytes as at home."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.support.ray_nodes import children, kill_node, raylet_of

pytestmark = pytest.mark.slow
ROOT = Path(__file__).resolve().parents[3]

MODEL = '''
"""A scripted model that takes its time; it counts its calls in a file."""
import asyncio, os

WORDS = "look", "inventory", "go to countertop 1", "go to sofa 1", "open fridge 1", "go to desk 1", "help"

async def answer(request):
    if os.environ.get("PONDER"):
        await asyncio.sleep(float(os.environ["PONDER"]))
    return "Action: " + WORDS[(request.seed or 0) % len(WORDS)]
'''
EVAL = ("eval", "ict", "--model", "m=python:ponder:answer", "--samples", "2", "--limit", "16", "--concurrency", "8")


class Runs:
    """Runs of `metagym` as its own process."""

    def __init__(self, folder: Path) -> None:
        (folder / "ponder.py").write_text(MODEL, encoding="utf-8")
        self.folder = folder

    def start(self, name: str, *options: str, ponder: float = 0.0) -> subprocess.Popen[str]:
        """Begins one in the folder `name`."""
        path = os.pathsep.join((str(ROOT), str(self.folder)))
        environment = {**os.environ, "PYTHONPATH": path, "PONDER": str(ponder or "")}
        command = [sys.executable, "-m", "metagym", *options, "--out", name, "--no-report", "--quiet"]
        return subprocess.Popen(
            command, cwd=self.folder, env=environment, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
        )

    def end(self, name: str, process: subprocess.Popen[str]) -> bytes:
        """Waits for its end; its records."""
        said, _ = process.communicate(timeout=300)
        assert process.returncode == 0, said
        return (self.folder / name / "records.jsonl").read_bytes()

    def wait(self, name: str, process: subprocess.Popen[str], episodes: int) -> bytes:
        """Waits until some episodes are recorded; what is on disk then."""
        file = self.folder / name / "records.jsonl"
        until = time.monotonic() + 240
        while not file.exists() or file.read_bytes().count(b'"kind":"episode"') < episodes:
            assert process.poll() is None, process.communicate()[0]
            assert time.monotonic() < until, "no episode was recorded"
            time.sleep(0.1)
        return file.read_bytes()


@pytest.fixture
def runs(tmp_path: Path) -> Runs:
    return Runs(tmp_path)


def workers_of(node: Any) -> list[int]:
    """The actors on a node."""

    def title(pid: int) -> str:
        try:
            return Path(f"/proc/{pid}/cmdline").read_bytes().decode("utf-8", "replace")
        except OSError:
            return ""

    return [pid for pid in children(raylet_of(node)) if "Actor" in title(pid)]


def test_an_evaluation_whose_node_is_killed_has_the_records_of_one_at_home(runs: Runs, cluster: Any) -> None:
    at_home = runs.end("home", runs.start("home", *EVAL))
    there = ("--executor", "ray", "--address", cluster.address)
    process = runs.start("there", *EVAL, *there, ponder=0.1)
    before = runs.wait("there", process, 3)
    assert workers_of(cluster.second) and workers_of(cluster.head_node)  # both play
    kill_node(cluster.second)
    assert before and at_home.startswith(before)  # in the middle
    assert len(before) < len(at_home) / 2
    assert runs.end("there", process) == at_home


def test_an_evaluation_whose_driver_is_killed_is_resumed_on_the_cluster_and_at_home(
    runs: Runs,
    cluster: Any,
) -> None:
    at_home = runs.end("home", runs.start("home", *EVAL))
    there = ("--executor", "ray", "--address", cluster.address)
    process = runs.start("there", *EVAL, *there, ponder=0.1)
    before = runs.wait("there", process, 3)
    process.kill()
    process.communicate()
    kept = (runs.folder / "there" / "records.jsonl").read_bytes()
    assert kept.startswith(before) and len(kept) < len(at_home)
    (runs.folder / "copy").mkdir()
    for file in (runs.folder / "there").iterdir():
        (runs.folder / "copy" / file.name).write_bytes(file.read_bytes())
    until = time.monotonic() + 60
    gone: Callable[[], bool] = lambda: not workers_of(cluster.second) and not workers_of(cluster.head_node)  # noqa: E731
    while not gone() and time.monotonic() < until:
        time.sleep(0.2)
    assert gone()  # a killed driver leaves no worker behind on the cluster
    assert runs.end("there", runs.start("there", *EVAL, *there, "--resume")) == at_home
    assert runs.end("copy", runs.start("copy", *EVAL, "--resume")) == at_home
