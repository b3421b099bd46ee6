"""Evaluations on a real Ray cluster whose node, or whose driver, is killed in the middle: the same bytes as at home."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from metagym.families import load_family
from metagym.playing.runner import play
from tests.support.ray_nodes import children, kill_node, raylet_of

ROOT = Path(__file__).resolve().parents[3]

MODEL = '''
"""A scripted model that takes its time."""
import asyncio, os

WORDS = "look", "inventory", "go to countertop 1", "go to sofa 1", "open fridge 1", "go to desk 1", "help"

async def answer(request):
    if os.environ.get("PONDER"):
        await asyncio.sleep(float(os.environ["PONDER"]))
    return "Action: " + WORDS[(request.seed or 0) % len(WORDS)]
'''
EVAL = (
    "eval",
    "ict",
    "--model",
    "m=python:ponder:answer",
    "--samples",
    "2",
    "--limit",
    "16",
    "--concurrency",
    "8",
    "--no-report",
)

ICT = (
    *("ict", "eval", "--actor", "python:ponder:answer", "--prompt", "a=Look.", "--prompt", "b=Go."),
    *("--eval-tasks", "24", "--max-steps", "20", "--concurrency", "8"),
)


class Runs:
    """Runs of `metagym` as its own process."""

    def __init__(self, folder: Path) -> None:
        (folder / "ponder.py").write_text(MODEL, encoding="utf-8")
        self.folder = folder

    def start(self, name: str, *options: str, ponder: float = 0.0) -> subprocess.Popen[str]:
        """Begins one in the folder `name`."""
        path = os.pathsep.join((str(ROOT), str(self.folder)))
        environment = {**os.environ, "PYTHONPATH": path, "PONDER": str(ponder or "")}
        command = [sys.executable, "-m", "metagym", *options, "--out", name, "--quiet"]
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


OWN = """
import asyncio, json, os, stat, tempfile
from pathlib import Path
from metagym.families import load_family
from metagym.playing.ray_cluster import ray_pool
from metagym.playing.runner import play_async
from tests.support.ray_nodes import children, listening

async def go():
    family = load_family("ALFWorld")
    tasks = list(family.task_set(family.splits[0]))[:4]
    pool = ray_pool("local", workers=1)
    try:
        played = await play_async(tasks, "rules", family=family, hosts=pool, max_steps=8)
        pids = [os.getpid(), *children(os.getpid())]
        [folder] = Path(tempfile.gettempdir()).glob("metagym-ray-*")
        told = {
            "episodes": [episode.to_json() for episode in played],
            "pids": pids,
            "hosts": sorted({address for pid in pids for address in listening(pid)}),
            "mode": stat.S_IMODE(folder.stat().st_mode),
            "sockets": len(list(folder.rglob("sockets/*"))),
        }
    finally:
        await pool.close()
    print(json.dumps(told))

asyncio.run(go())
"""


def test_a_ray_of_our_own_is_on_loopback_in_a_folder_of_ours_and_leaves_nothing(tmp_path: Path) -> None:
    pytest.importorskip("ray", reason="the extra `ray` is not installed")
    with tempfile.TemporaryDirectory(prefix="mg") as room:  # short: the names of sockets are
        environment = {**os.environ, "PYTHONPATH": str(ROOT), "TMPDIR": room}
        command = [sys.executable, "-c", OWN]
        done = subprocess.run(command, cwd=tmp_path, env=environment, text=True, capture_output=True, timeout=240)
        assert done.returncode == 0, done.stderr
        told = json.loads(done.stdout.splitlines()[-1])
        assert not list(Path(room).glob("metagym-ray-*"))
    family = load_family("ALFWorld")
    at_home = play(list(family.task_set(family.splits[0]))[:4], "rules", family=family, hosts="inline", max_steps=8)
    assert told["episodes"] == [episode.to_json() for episode in at_home]
    assert told["hosts"] == ["127.0.0.1"] and told["mode"] == 0o700 and told["sockets"] >= 2
    until = time.monotonic() + 60
    while (left := [pid for pid in told["pids"] if Path(f"/proc/{pid}/exe").exists()]) and time.monotonic() < until:
        time.sleep(0.2)
    assert len(told["pids"]) > 3 and not left


def workers_of(node: Any) -> list[int]:
    """The actors on a node."""

    def title(pid: int) -> str:
        try:
            return Path(f"/proc/{pid}/cmdline").read_bytes().decode("utf-8", "replace")
        except OSError:
            return ""

    return [pid for pid in children(raylet_of(node)) if "Actor" in title(pid)]


@pytest.mark.slow
@pytest.mark.parametrize("options", [EVAL, ICT], ids=["eval", "ict eval"])
def test_an_evaluation_whose_node_is_killed_has_the_records_of_one_at_home(
    options: tuple[str, ...], runs: Runs, cluster: Any
) -> None:
    at_home = runs.end("home", runs.start("home", *options))
    there = ("--executor", "ray", "--address", cluster.address)
    process = runs.start("there", *options, *there, ponder=0.1)
    before = runs.wait("there", process, 3)
    assert workers_of(cluster.second) and workers_of(cluster.head_node)  # both play
    kill_node(cluster.second)
    assert before and at_home.startswith(before)  # in the middle
    assert len(before) < len(at_home) / 2
    assert runs.end("there", process) == at_home


@pytest.mark.slow
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
