"""What a step costs us: CPU time of `metagym.play` over that of the bare loop, scripted model, trivial environment."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

import gymnasium

import metagym
from benchmarks.common import Figure, Report, at_most, ratios, settled, told
from metagym import ActorSettings, Family, Task, TaskSet
from metagym.chat import Request, scripted
from metagym.ict.env import ICTEnv
from metagym.spaces import FreeText

LENGTHS = (20, 50, 100, 200, 400)
REPLY = "Thought: onwards.\nAction: go on"
ACTIONS = ("go on", "go back", "look", "open the door", "close the door", "take the lamp", "drop the lamp", "wait")


class Corridor(gymnasium.Env[str, str]):
    """Says where one stands; ends after `length` steps. It does as little as an environment can."""

    def __init__(self, length: int, info: dict[str, Any]) -> None:
        self.observation_space = self.action_space = FreeText()
        self.length, self.info = length, info
        self.at = 0

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[str, dict[str, Any]]:
        """Back to the start."""
        self.at = 0
        return "You are in a corridor.", self.info

    def step(self, action: str) -> tuple[str, float, bool, bool, dict[str, Any]]:
        """One step on."""
        self.at += 1
        return "You are further on.", 0.0, self.at >= self.length, False, self.info


def corridors(length: int, info: dict[str, Any], count: int) -> Family:
    """A family of `count` corridors."""
    tasks = TaskSet([Task("Corridor", str(i), seed=i) for i in range(count)])
    return Family(
        "Corridor", lambda split: tasks, lambda task: Corridor(length, info), max_steps=length + 1, host="inline"
    )


def answer(request: Request | None) -> str:
    """The scripted model."""
    return REPLY


def bare_seconds(length: int, info: dict[str, Any], episodes: int) -> float:
    """CPU seconds of the bare loop: the model's callable, then ``env.step``."""
    with settled():
        start = time.process_time()
        for _ in range(episodes):
            env = Corridor(length, info)
            env.reset(seed=0)
            ended = False
            while not ended:
                _, _, terminated, truncated, _ = env.step(answer(None))
                ended = terminated or truncated
        return time.process_time() - start


def play_seconds(length: int, info: dict[str, Any], episodes: int, history: int | None) -> float:
    """CPU seconds of `metagym.play` over the same episodes."""
    family = corridors(length, info, episodes)
    tasks, model, seat = list(family.tasks("train")), scripted(answer), ActorSettings(history=history)
    with settled():
        start = time.process_time()
        played = metagym.play(tasks, model, family=family, seat=seat)
        seconds = time.process_time() - start
    assert all(episode.steps == length for episode in played)
    return seconds


def step_overhead(length: int, info: dict[str, Any], history: int | None, steps: int) -> float:
    """Microseconds per step over the bare loop, in one pair of runs of about `steps` steps."""
    episodes = max(1, steps // length)
    ours = play_seconds(length, info, episodes, history)
    return (ours - bare_seconds(length, info, episodes)) / (episodes * length) * 1e6


def meta_step(episodes: int, length: int) -> float:
    """Milliseconds of CPU for one step of the meta-environment over the bare loop."""
    family = corridors(length, {}, 2 * episodes)
    env = ICTEnv(family, actor=scripted(answer), batch_size=episodes, meta_turns=1)
    env.reset(seed=0)
    with settled():
        start = time.process_time()
        env.step("go on")
        seconds = time.process_time() - start
    env.close()
    return (seconds - bare_seconds(length, {}, episodes)) * 1e3


def report(repeats: int = 9, steps: int = 4000, lengths: Sequence[int] = LENGTHS) -> Report:
    """Measures all of it.

    Args:
        repeats: Pairs of runs for each line.
        steps: Inner steps of one run.
        lengths: Episode lengths, shortest first.
    """
    lines: dict[str, tuple[int, dict[str, Any], int | None]] = {
        f"{label}, {length} steps": (length, {}, history)
        for label, history in (("all history", None), ("history=10", 10))
        for length in lengths
    }
    listed = f"all history, {lengths[0]} steps, {len(ACTIONS)} legal actions listed at each"
    lines[listed] = (lengths[0], {"admissible": ACTIONS}, None)
    raw: dict[str, list[float]] = {name: [] for name in lines}
    meta = []
    for _ in range(repeats):  # line by line within a round: a busy spell of the machine meets all lines alike
        for name, (length, info, history) in lines.items():
            raw[name].append(step_overhead(length, info, history, steps))
        meta.append(meta_step(16, 25))
    figures: list[Figure] = [
        told(name, values, "us/step") if name == listed else at_most(15, name, values, "us/step")
        for name, values in raw.items()
    ]
    for label in ("all history", "history=10"):
        long, short = (raw[f"{label}, {length} steps"] for length in (lengths[-1], lengths[0]))
        name = f"{label}: a step of {lengths[-1]} against one of {lengths[0]}"
        figures.append(told(name, ratios(long, short), "x", "1 is flat; short episodes carry the fixed cost"))
    figures.append(told("one step of the meta-environment, 16 episodes x 25 steps", meta, "ms"))
    title = "CPU time of metagym.play over the bare loop (scripted model, trivial environment)"
    return Report("overhead", title, figures, {"steps": steps, "us_per_step": raw, "meta_ms": meta})
