"""What it costs to play somewhere else: per episode and per step, over playing in this process.

A scripted model and an environment that does nearly nothing, so that all of the time is the carrying: inline, in worker
processes of this machine, on Ray with the model asked from here, and whole episodes on Ray. Ray is one of our own on
this machine (extra ``ray``); on a real cluster the network comes on top.
"""

from __future__ import annotations

import asyncio
import statistics
import time
from typing import Any

from benchmarks.common import Figure, Report, settled, told
from benchmarks.overhead import answer, corridors
from metagym.chat import scripted
from metagym.extras import require
from metagym.playing.hosts import HostPool, LocalPool
from metagym.playing.processes import ProcessPool
from metagym.playing.ray_cluster import ray_pool
from metagym.playing.remote import RemotePool
from metagym.playing.runner import play_async

SHORT, LONG = 2, 22


async def timed(pool: HostPool, length: int, episodes: int, at_once: int) -> tuple[float, float]:
    """Wall-clock and this process's CPU seconds for episodes of a length."""
    family = corridors(length, {}, episodes)
    tasks, model = list(family.tasks("train")), scripted(answer)
    with settled():
        began, cpu = time.perf_counter(), time.process_time()
        played = await play_async(tasks, model, family=family, hosts=pool, concurrency=at_once)
        seconds = time.perf_counter() - began, time.process_time() - cpu
    assert all(episode.steps == length and episode.terminated for episode in played)
    return seconds


async def _measure(workers: int, episodes: int, repeats: int, at_once: int) -> tuple[dict[str, Any], dict[str, float]]:
    raw: dict[str, Any] = {}
    starts: dict[str, float] = {}
    ray = ray_pool("local", workers=workers)
    arms: dict[str, HostPool] = {
        "inline": LocalPool("inline"),
        "worker processes": ProcessPool(workers),
        "Ray, environments": ray,
        "Ray, whole episodes": RemotePool(ray.crew, whole=True),
    }
    try:
        for name, pool in arms.items():
            began = time.perf_counter()
            await timed(pool, SHORT, 2 * workers, at_once)
            starts[name] = time.perf_counter() - began
        for _ in range(repeats):  # by turns
            for name, pool in arms.items():
                short, long = [await timed(pool, length, episodes, at_once) for length in (SHORT, LONG)]
                for kind, place in (("wall", 0), ("driver", 1)):
                    step = (long[place] - short[place]) / episodes / (LONG - SHORT)
                    raw.setdefault(name, {}).setdefault(f"{kind} per step", []).append(step * 1e3)
                    episode = short[place] / episodes - SHORT * step
                    raw[name].setdefault(f"{kind} per episode", []).append(episode * 1e3)
    finally:
        for pool in reversed(list(arms.values())):
            await pool.close()
    return raw, starts


def report(workers: int = 2, episodes: int = 100, repeats: int = 5, at_once: int = 16) -> Report:
    """Measures all of it.

    Args:
        workers: Worker processes of each arm.
        episodes: Episodes of a run.
        repeats: Runs of each arm, by turns.
        at_once: Concurrency.

    Raises:
        MissingExtra: Ray is not installed.
    """
    require("ray", "ray")
    raw, starts = asyncio.run(_measure(workers, episodes, repeats, at_once))
    figures: list[Figure] = []
    for name, found in raw.items():
        figures += [
            told(f"{name}: an episode without its steps, {at_once} at once", found["wall per episode"], "ms"),
            told(f"{name}: a step, {at_once} at once", found["wall per step"], "ms", "inverse: steps per second"),
            told(f"{name}: this process's CPU for a step", found["driver per step"], "ms"),
        ]
    figures += [
        told(f"{name}: the start, first episodes included", [seconds], "s")
        for name, seconds in starts.items()
        if name != "inline"
    ]
    share = statistics.median(raw["Ray, environments"]["wall per step"])
    figures.append(told("Ray, environments: share of a turn whose model call takes 1 s", [share / 10], "%"))
    title = f"Playing somewhere else, {workers} workers on this machine, scripted model, trivial environment"
    return Report("scale", title, figures, {"raw_ms": raw, "starts_s": starts})
