"""Real Ray: two nodes on loopback, made here, one of which is killed."""

from __future__ import annotations

import asyncio
import json
import os
import socket
import subprocess
import sys
import threading
import time
import types
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from metagym import Episode
from metagym.chat import Request, load, scripted
from metagym.episodes import Status
from metagym.errors import BadInput, ClusterError, MissingExtra
from metagym.families import load_family
from metagym.playing import ray_cluster
from metagym.playing.ray_cluster import _loopback, check_facts, ray_pool
from metagym.playing.runner import PlaySettings, play_async
from metagym.playing.station import facts
from tests.support.ray_nodes import children, kill_node, raylet_of
from tests.support.worlds import GuessEnv, family_of

slow = pytest.mark.slow
ROOT = Path(__file__).resolve().parents[3]


def texts(episodes: Sequence[Episode]) -> list[str]:
    return [json.dumps(episode.to_json(), sort_keys=True) for episode in episodes]


# --- refusals, without any Ray running


def test_a_cluster_that_does_not_answer_is_named_at_once() -> None:
    pytest.importorskip("ray", reason="the extra `ray` is not installed")
    with pytest.raises(ClusterError, match=r"no cluster answers at 127\.0\.0\.1:1 .*ray start --head"):
        ray_pool("127.0.0.1:1")


@pytest.mark.parametrize("says", [b"HTTP/1.1 400 Bad Request\r\n\r\n", b"", b"ab"])
def test_what_answers_and_is_no_ray_is_named_at_once(says: bytes) -> None:
    pytest.importorskip("ray", reason="the extra `ray` is not installed")
    with socket.create_server(("127.0.0.1", 0)) as server:

        def answer() -> None:
            line, _ = server.accept()
            with line:
                line.recv(100)
                line.sendall(says)

        thread = threading.Thread(target=answer)
        thread.start()
        with pytest.raises(ClusterError, match=r"what answers at 127\.0\.0\.1:\d+ is no Ray"):
            ray_pool(f"127.0.0.1:{server.getsockname()[1]}")
        thread.join()


@pytest.mark.parametrize("address", ["here", "ray://127.0.0.1:1", "127.0.0.1:0", ":6379", "host:port"])
def test_an_address_that_is_none_is_refused(address: str) -> None:
    pytest.importorskip("ray", reason="the extra `ray` is not installed")
    with pytest.raises(BadInput, match="host:port"):
        ray_pool(address)


def test_without_ray_the_command_that_brings_it_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(MissingExtra, match=r"pip install 'metagym-agents\[ray\]'"):
        ray_pool()


@pytest.mark.parametrize(
    ("name", "words"), [("python", "Python 0"), ("metagym", "MetaGym 0"), ("code", "code of MetaGym")]
)
def test_a_node_of_another_version_is_named(name: str, words: str) -> None:
    told = {**facts(), "host": "node-7", name: "0"}
    with pytest.raises(ClusterError, match=f"node node-7 has .*{words}.*the driver {facts()[name]}"):
        check_facts(told)
    check_facts({**facts(), "host": "node-7"})


def test_another_version_of_ray_is_told_in_rays_words(monkeypatch: pytest.MonkeyPatch) -> None:
    ray = pytest.importorskip("ray", reason="the extra `ray` is not installed")

    def init(**_: Any) -> None:  # stands in for a cluster of another version
        raise RuntimeError("Version mismatch: The cluster was started with:\n    Ray: 2.9.0\n    Python: 3.12.1")

    monkeypatch.setattr(ray, "init", init)
    monkeypatch.setattr(ray, "is_initialized", lambda: False)
    with pytest.raises(ClusterError, match=r"the cluster at auto cannot be used: Version mismatch.* Ray: 2\.9\.0"):
        asyncio.run(ray_pool("auto").crew.lease())


class Crashing(GuessEnv):
    """Takes its process with it."""

    def step(self, action: str) -> Any:
        os._exit(3)


# --- a cluster of two nodes


@slow
def test_a_killed_node_loses_no_finished_episode_and_the_batch_goes_on(cluster: Any) -> None:
    family = load_family("ALFWorld")
    tasks = list(family.task_set(family.splits[0]))[:16]
    actor: Any = load("rules", family=family)

    async def think(request: Request) -> Any:
        await asyncio.sleep(0.02)
        return await actor.chat(request)

    at_home = asyncio.run(play_async(tasks, actor, family=family, hosts="inline", max_steps=20))
    ended: list[str] = []
    homes: dict[int, str] = {}

    async def go() -> list[Episode]:
        pool = ray_pool(cluster.address)

        def told(episode: Episode) -> None:
            ended.append(episode.task.key)
            if len(ended) == 3:
                for worker in pool.crew.workers:
                    homes[worker.pid] = "second" if worker.pid in children(raylet_of(cluster.second)) else "first"
                kill_node(cluster.second)

        try:
            found = await play_async(
                tasks, scripted(think), family=family, hosts=pool, max_steps=20, concurrency=8, on_episode=told
            )
            assert pool.crew.lost == 1 and len(pool.crew.workers) == 1
            return found
        finally:
            await pool.close()

    found = asyncio.run(go())
    assert sorted(homes.values()) == ["first", "second"]  # both nodes played
    strip = [{**episode.to_json(), "backend": ""} for episode in found]
    assert strip == [{**episode.to_json(), "backend": ""} for episode in at_home]
    assert len(ended) == len(set(ended)) == len(tasks)  # what had come back was not played again


@slow
def test_whole_episodes_are_equal_and_a_node_that_joins_later_gets_work(cluster: Any) -> None:
    family = load_family("ALFWorld")
    tasks = list(family.task_set(family.splits[0]))[:12]
    at_home = asyncio.run(play_async(tasks, "rules", family=family, hosts="inline", max_steps=20))

    async def go() -> list[Episode]:
        kill_node(cluster.second)
        pool = ray_pool(cluster.address, whole=True, workers=2)
        try:
            first = await play_async(tasks, "rules", family=family, hosts=pool, max_steps=20)
            before = len(pool.crew.workers)
            with _loopback(True):
                node = cluster.add_node(num_cpus=1, object_store_memory=80 * 2**20, node_ip_address="127.0.0.1")
            until = time.monotonic() + 60
            while len(pool.crew.workers) < 2 and time.monotonic() < until:
                await asyncio.sleep(0.2)
            pids = {worker.pid for worker in pool.crew.workers}
            assert (before, len(pids)) == (1, 2) and pids & set(children(raylet_of(node)))
            second = await play_async(tasks, "rules", family=family, hosts=pool, max_steps=20)
            assert texts(second) == texts(first)
            return first
        finally:
            await pool.close()

    assert texts(asyncio.run(go())) == texts(at_home)


@slow
def test_a_program_runs_confined_on_the_node_that_plays(cluster: Any) -> None:
    from metagym.sandbox import load as load_here
    from metagym.spade.program import EnvProgram
    from metagym.spade.remote import RemoteProgram
    from tests.unit.spade.programs import LOCK

    program = EnvProgram.parse(LOCK)

    async def go() -> None:
        pool = ray_pool(cluster.address)
        try:
            async with RemoteProgram(pool, program.source) as there:
                with load_here(program.source) as here:
                    assert await there.reset(3, 1, fresh=True) == here.reset(3, 1, fresh=True)
                    assert await there.step("look", 1) == here.step("look", 1)
                pid = there._worker.pid  # type: ignore[union-attr]
                nodes = [raylet_of(cluster.head_node), raylet_of(cluster.second)]
                assert any(pid in children(node) for node in nodes)
                lines = [Path(f"/proc/{child}/cmdline").read_bytes() for child in children(pid)]
                assert any(b"zygote" in line for line in lines), lines
            assert pid not in children(os.getpid()) or pid in children(raylet_of(cluster.head_node)) + children(
                raylet_of(cluster.second)
            )
        finally:
            await pool.close()

    asyncio.run(go())


@slow
def test_runs_on_a_cluster_have_the_records_of_runs_at_home(cluster: Any, tmp_path: Path) -> None:
    def run(folder: str, *options: str) -> bytes:
        command = [sys.executable, "-m", "metagym", *options, "--out", str(tmp_path / folder), "--no-report", "--quiet"]
        environment = {**os.environ, "PYTHONPATH": str(ROOT)}
        done = subprocess.run(command, capture_output=True, text=True, timeout=300, cwd=tmp_path, env=environment)
        assert done.returncode == 0, done.stderr
        return (tmp_path / folder / "records.jsonl").read_bytes()

    ict = ("ict", "run", "--meta-turns", "2", "--eval-tasks", "6", "--batch-size", "3", "--max-steps", "12")
    spade = ("spade", "run", "--rounds", "1", "--programs", "2", "--seeds", "3", "--repeats", "1", "--max-steps", "6")
    there = ("--executor", "ray", "--address", cluster.address)
    assert run("a", *ict) == run("b", *ict, *there)
    assert run("c", *spade) == run("d", *spade, *there)


@slow
def test_what_a_cluster_cannot_do_is_told(cluster: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    crashing, settings = family_of(lambda task: Crashing()), PlaySettings(max_failures=1.0)
    stray = types.ModuleType("only_on_this_machine")
    exec(
        "class Actor:\n    def __init__(self, processes): ...\n    async def answer(self, message): ...", stray.__dict__
    )

    async def crash() -> Episode:
        pool = ray_pool(cluster.address)
        try:
            [episode] = await play_async(
                [crashing.tasks("train")[0]], scripted(lambda request: "Action: x"), family=crashing, hosts=pool,
                settings=settings,
            )  # fmt: skip
            return episode
        finally:
            await pool.close()

    async def begin() -> None:
        pool = ray_pool(cluster.address)
        try:
            await pool.crew.lease()
        finally:
            await pool.close()

    episode = asyncio.run(crash())
    assert episode.status is Status.ERROR and episode.cause.startswith("NodeLost: worker "), episode.cause
    with monkeypatch.context() as patch:
        patch.setitem(sys.modules, "only_on_this_machine", stray)
        patch.setattr(ray_cluster, "Actor", stray.Actor)
        with pytest.raises(ClusterError, match="cannot import MetaGym .*No module named 'only_on_this_machine'"):
            asyncio.run(begin())
    with monkeypatch.context() as patch:
        patch.setattr(ray_cluster, "facts", lambda: {**facts(), "metagym": "0.0.1"})
        with pytest.raises(ClusterError, match=r"node .* has MetaGym .*, the driver 0\.0\.1"):
            asyncio.run(begin())
