"""MiniHack: what a text step costs beside the engine's own, what opening a level costs, and whether memory stays flat.

Needs the extra ``minihack``. Times are the process's CPU time; opening a level also runs NetHack's level compiler in
child processes, whose CPU time is told beside it.
"""

from __future__ import annotations

import json
import resource
import statistics
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

import gymnasium

from benchmarks.common import Report, at_most, settled, told
from metagym.extras import require
from metagym.seeding import rng
from metagym_envs.minihack.commands import parse
from metagym_envs.minihack.env import MiniHackGame
from metagym_envs.minihack.levels import POOL, level_of

WARM_UP = 300
"""Episodes before the first look at memory: the allocator settles over the first hundreds."""
_MEMORY = "import sys; from benchmarks.minihack import grow; grow(*map(int, sys.argv[1:]))"


def _pool(every: int) -> list[MiniHackGame]:
    """One environment for each `every`-th level of the pool."""
    return [MiniHackGame(level_of(kind, name)) for kind in POOL for name in kind.levels[::every]]


def walk(env: MiniHackGame, seed: int, steps: int) -> tuple[list[float], list[float]]:
    """A random walk over the listed commands.

    Returns:
        CPU seconds of each text step, and of each key alone that the same moves send to the engine in a second game.
    """
    text: list[float] = []
    alone: list[float] = []
    draw = rng(seed, "benchmark", env.level.id)
    _, info = env.reset(seed=seed)
    sent: list[str] = []
    for _ in range(steps):
        if info["end"]:
            break
        sent.append(draw.choice(info["admissible"]))
        started = time.process_time()
        *_, info = env.step(sent[-1])
        text.append(time.process_time() - started)
    env.reset(seed=seed)
    game = env._game
    assert game is not None
    for action in sent:
        command = parse(action)
        if command is None or command.word not in ("step", "run") or game.end:
            continue  # only moves take one key
        started = time.process_time()
        game.press(command.key)
        alone.append(time.process_time() - started)
    return text, alone


def opening(env: MiniHackGame, seed: int) -> tuple[float, float]:
    """CPU seconds of one reset: this process, and the level compiler's processes."""
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    started = time.process_time()
    env.reset(seed=seed)
    own = time.process_time() - started
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return own, after.ru_utime + after.ru_stime - children.ru_utime - children.ru_stime


def resident() -> int:
    """Bytes of this process in memory (Linux)."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize()


def grow(episodes: int, warm_up: int, bare: int = 0) -> None:
    """Plays episodes on the levels of the pool by turns and prints memory before and after (JSON, bytes).

    Args:
        episodes: How many are counted.
        warm_up: How many come before.
        bare: 1 plays the engine's own environments, without our text.
    """
    envs = _pool(3)
    at = []
    for number in range(warm_up + episodes):
        if number == warm_up:
            at.append(resident())
        play = _bare if bare else _told
        play(envs[number % len(envs)], number)
    print(json.dumps([*at, resident()]))


def _told(env: MiniHackGame, number: int) -> None:
    _, info = env.reset(seed=number)
    draw = rng(number, "benchmark", "memory")
    for _ in range(10):
        if info["end"]:
            break
        *_, info = env.step(draw.choice(info["admissible"]))
    env.close()


def _bare(env: MiniHackGame, number: int) -> None:
    require("minihack", "minihack")  # registers the ids
    game = gymnasium.make(env.level.id)
    game.unwrapped.seed(number, number, reseed=False)  # type: ignore[attr-defined]
    game.reset()
    draw = rng(number, "benchmark", "memory")
    for _ in range(10):
        _, _, terminated, truncated, _ = game.step(draw.randrange(8))
        if terminated or truncated:
            break
    game.close()


def memory(episodes: int, warm_up: int, bare: bool = False) -> float:
    """Megabytes by which a fresh interpreter grows over some episodes after the warm-up."""
    root = Path(__file__).resolve().parents[1]
    done = subprocess.run(
        [sys.executable, "-c", _MEMORY, str(episodes), str(warm_up), str(int(bare))],
        capture_output=True,
        text=True,
        check=True,
        cwd=root,
    )
    before, after = json.loads(done.stdout)
    return (after - before) / 2**20


def report(repeats: int = 9, steps: int = 40, episodes: int = 1000, every: int = 1, warm_up: int = WARM_UP) -> Report:
    """Measures it.

    Args:
        repeats: Walks on each level, with a seed each.
        steps: Longest walk.
        episodes: Episodes of the memory figure.
        every: Only each n-th level of a type.
        warm_up: Episodes before the first look at memory.

    Raises:
        MissingExtra: nle or minihack is not installed.
    """
    require("nle", "minihack")
    envs = _pool(every)
    text: list[float] = []
    alone: list[float] = []
    by_level: dict[str, list[float]] = {}
    opened: list[float] = []
    compiled: list[float] = []
    for env in envs:
        env.reset(seed=0)
    for seed in range(repeats):
        walks: list[tuple[list[float], list[float]]] = []
        with settled():
            for env in envs:
                own, children = opening(env, seed)
                opened.append(own * 1e3)
                compiled.append(children * 1e3)
                walks.append(walk(env, seed, steps))
                by_level.setdefault(env.level.id, []).append(statistics.mean(walks[-1][0]) * 1e3)
        text.append(_mean([steps for steps, _ in walks]))
        alone.append(_mean([keys for _, keys in walks]))
    for env in envs:
        env.close()
    slowest = max(by_level, key=lambda name: statistics.median(by_level[name]))
    ours, engine = memory(episodes, warm_up), memory(episodes, warm_up, bare=True)
    figures = [
        at_most(0.5, f"text step, mean over the {len(envs)} levels of the pool", text, "ms"),
        told("the engine's step alone, of the same moves", alone, "ms"),
        told(f"text step on the slowest level, {slowest}", by_level[slowest], "ms"),
        told("opening a level with a fresh engine", opened, "ms", "this process"),
        told("the same, NetHack's level compiler", compiled, "ms", "its own processes"),
        at_most(5, f"memory by which {episodes:,} episodes grow, after {warm_up}", [ours], "MB"),
        told("the same, the engine alone", [engine], "MB"),
        at_most(5, "what the text adds to it", [max(0.0, ours - engine)], "MB"),
    ]
    return Report("minihack", "MiniHack levels told in text, CPU time", figures, {"by_level_ms": by_level})


def _mean(walks: Sequence[Sequence[float]]) -> float:
    """Milliseconds per step, the levels weighing alike."""
    return statistics.mean(statistics.mean(walk) for walk in walks if walk) * 1e3
