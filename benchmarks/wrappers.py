"""What text around an environment costs: time per step over the bare environment, cost of history, memory."""

from __future__ import annotations

import gc
import time
import tracemalloc
from collections.abc import Callable
from typing import Any

import gymnasium

import metagym
from benchmarks.common import Figure, Report, at_most, ratios, settled, told
from metagym_wrappers import HistoryWindow, TextAction, TextObservation

NAMES = ("left", "down", "right", "up")


def bare(**kwargs: Any) -> gymnasium.Env[Any, Any]:
    """FrozenLake as Gymnasium makes it."""
    return gymnasium.make("FrozenLake-v1", disable_env_checker=True, **kwargs)


def wrapped() -> gymnasium.Env[Any, Any]:
    """Text in and text out."""
    return TextAction(TextObservation(bare()), NAMES)


def mapped() -> gymnasium.Env[Any, Any]:
    """The same with the map that FrozenLake renders."""
    return TextAction(TextObservation(bare(render_mode="ansi"), ansi="only"), NAMES)


def bundled() -> gymnasium.Env[Any, Any]:
    """As the bundled family opens it: own text, budget, success."""
    from metagym_envs.gym.frozen_lake import WORLD

    return WORLD.layers.around(bare())


def step_seconds(env: gymnasium.Env[Any, Any], actions: list[Any], steps: int) -> float:
    """CPU seconds for steps of random walks, resets not counted."""
    env.reset(seed=0)
    spent, count = 0.0, 0
    clock, number = time.process_time, len(actions)
    with settled():
        while count < steps:
            ended = False
            start = clock()
            while not ended:
                _, _, terminated, truncated, _ = env.step(actions[count % number])
                count += 1
                ended = terminated or truncated
            spent += clock() - start
            env.reset()
    return spent / count


def overhead(make: Callable[[], gymnasium.Env[Any, Any]], steps: int) -> float:
    """Microseconds per step over the bare environment, in one pair of runs of equal walks."""
    numbers = [(7 * n) % 4 for n in range(101)]
    ours = step_seconds(make(), [NAMES[n] for n in numbers], steps)
    return (ours - step_seconds(bare(), numbers, steps)) * 1e6


class Endless(gymnasium.Env[str, str]):
    """Says the same at every step and never ends."""

    observation_space = action_space = metagym.FreeText()

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[str, dict[str, Any]]:
        """Starts."""
        return "You are in a corridor that leads on and on.", {}

    def step(self, action: str) -> tuple[str, float, bool, bool, dict[str, Any]]:
        """Goes on."""
        return "You are in a corridor that leads on and on.", 0.0, False, False, {}


def history_seconds(length: int, turns: int) -> float:
    """CPU seconds of one episode with a history window."""
    env = HistoryWindow(Endless(), turns)
    env.reset()
    with settled():
        start = time.process_time()
        for _ in range(length):
            env.step("go on")
        return time.process_time() - start


def growth(episodes: int) -> list[float]:
    """KiB that are held more after `episodes` episodes of a family than after a fifth of them."""
    family = metagym.family_from_gymnasium("FrozenLake-v1", env_kwargs={"is_slippery": False}, seeds=f"0-{episodes}")
    tasks = list(family.task_set("train"))

    def play(part: list[Any]) -> None:
        for task in part:
            env = family.open(task)
            env.reset(seed=task.seed)
            for action in ("right", "jump", "down", "down"):
                env.step(action)
            env.close()

    first = episodes // 5
    play(tasks[:first])
    gc.collect()
    tracemalloc.start()
    play(tasks[:10])  # what tracing itself keeps
    gc.collect()
    before = tracemalloc.get_traced_memory()[0]
    play(tasks[first:episodes])
    gc.collect()
    after = tracemalloc.get_traced_memory()[0]
    tracemalloc.stop()
    return [(after - before) / 1024]


def report(repeats: int = 9, steps: int = 20_000, episodes: int = 1_000) -> Report:
    """Measures everything.

    Args:
        repeats: Pairs of runs for each figure.
        steps: Steps of a run.
        episodes: Of the measurement of memory.
    """
    overhead(wrapped, steps // 10 or 1)  # warm
    plain, family, drawn = ([overhead(make, steps) for _ in range(repeats)] for make in (wrapped, bundled, mapped))
    short = [history_seconds(steps // 10, 8) for _ in range(repeats)]
    long = [history_seconds(steps, 8) / 10 for _ in range(repeats)]
    figures: list[Figure] = [
        at_most(10, "text around FrozenLake, per step over the bare environment", plain, "us"),
        at_most(10, "the bundled family's layers: map, actions, budget, success", family, "us"),
        told("the map as FrozenLake renders it (ansi='only')", drawn, "us"),
        told("a step with a history of 8 turns", [value / (steps // 10) * 1e6 for value in short], "us"),
        at_most(1.3, f"a step in an episode of {steps:,} steps against one of a tenth", ratios(long, short), "x"),
        at_most(100, f"memory held after {episodes:,} episodes, over a fifth of them", growth(episodes), "KiB"),
    ]
    return Report("wrappers", "text around any environment: CPU time over the bare environment, and memory", figures)
