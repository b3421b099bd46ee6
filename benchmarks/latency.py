"""How much of a model server's waiting time a batch hides: `metagym.play` against a lock-step batch.

The server is a process of its own on loopback and answers after a time drawn from a log-normal law (median 100 ms,
sigma 1) for each episode and step, so that all arms wait for the same answers equally long. The arms are

* the whole batch through `metagym.play`,
* its slowest episode alone through `metagym.play`: no batch can be faster than that,
* a lock-step batch: all calls of a step, then all environment steps, with the same client and the same requests.
"""

from __future__ import annotations

import asyncio
import math
import multiprocessing
import re
import statistics
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from multiprocessing.connection import Connection
from typing import Any

import gymnasium

import metagym
from benchmarks.common import Figure, Report, at_least, at_most, ratios, settled, told
from metagym import ActorSettings, Family, Task, TaskSet, chat
from metagym.chat import ChatModel
from metagym.playing import sync
from metagym.playing.actor import Conversation, command_of
from metagym.seeding import branch, derive, rng
from metagym.spaces import FreeText

_PLACE = re.compile(r"Run (\d+), episode (\d+), step (\d+)\.")


def waiting_time(run: int, episode: int, step: int, median: float) -> float:
    """Seconds that the server waits before this answer."""
    return median * math.exp(rng(run, "latency", episode, step).gauss(0.0, 1.0))


def _serve(median: float, pipe: Connection) -> None:
    """The server's process: tells its address and ends when the other side does."""
    from tests.support.fake_server import FakeServer

    def wait(body: Mapping[str, Any]) -> float:
        run, episode, step = map(int, _PLACE.findall(body["messages"][-1]["content"])[-1])
        return waiting_time(run, episode, step, median)

    with FakeServer(lambda request: "Thought: onwards.\nAction: go on", latency=wait) as server:
        pipe.send(server.spec())
        pipe.poll(None)


@contextmanager
def served(median: float) -> Iterator[str]:
    """Runs the server; gives the spec of its model."""
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe()
    process = context.Process(target=_serve, args=(median, theirs), daemon=True)
    process.start()
    theirs.close()
    try:
        yield ours.recv()
    finally:
        ours.close()
        process.join()


class Place(gymnasium.Env[str, str]):
    """Says which run, episode and step it is, for the server to read; ends after `length` steps."""

    def __init__(self, run: int, episode: int, length: int) -> None:
        self.observation_space = self.action_space = FreeText()
        self.run, self.episode, self.length = run, episode, length
        self.at = 0

    def _place(self) -> str:
        return f"Run {self.run}, episode {self.episode}, step {self.at}."

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[str, dict[str, Any]]:
        """Back to the start."""
        self.at = 0
        return self._place(), {}

    def step(self, action: str) -> tuple[str, float, bool, bool, dict[str, Any]]:
        """One step on."""
        self.at += 1
        return self._place(), 0.0, self.at >= self.length, False, {}


def places(run: int, episodes: int, length: int) -> Family:
    """The family of one run's episodes."""
    tasks = TaskSet([Task("Place", str(episode), seed=episode) for episode in range(episodes)])
    return Family(
        "Place", lambda split: tasks, lambda task: Place(run, task.seed, length), max_steps=length, host="inline"
    )


async def lock_step(tasks: Sequence[Task], model: ChatModel, family: Family, seed: int = 0) -> int:
    """The batch in lock-step, by the same requests; returns how many steps were played."""
    envs = [family.open(task) for task in tasks]
    talks = [Conversation("", family.instructions, ActorSettings()) for _ in tasks]
    seeds = [branch(derive(seed, "episode", task.key), "actor") for task in tasks]
    for env, talk, task in zip(envs, talks, tasks, strict=True):
        talk.observe(env.reset(seed=task.seed)[0], None)
    going = list(range(len(tasks)))
    steps = number = 0
    while going:
        replies = await asyncio.gather(*(model.chat(talks[i].request(seeds[i](number), None)) for i in going))
        still = []
        for i, reply in zip(going, replies, strict=True):
            talks[i].answer(reply.text)
            observation, _, terminated, truncated, _ = envs[i].step(command_of(reply, None))
            talks[i].observe(observation, None)
            steps += 1
            if not (terminated or truncated):
                still.append(i)
        going, number = still, number + 1
    return steps


class Arms:
    """The three arms of one run, timed.

    Attributes:
        seconds: Wall-clock time by arm: ``batch``, ``slowest`` (alone) and ``lock-step``.
        drawn: What the waiting times alone make, in seconds: the slowest episode's sum under ``slowest``, the sum of
            each step's longest under ``lock-step``.
    """

    def __init__(self, run: int, model: ChatModel, episodes: int, length: int, median: float) -> None:
        self.family = places(run, episodes, length)
        self.model = model
        self.tasks = list(self.family.tasks("train"))
        waits = [[waiting_time(run, episode, step, median) for step in range(length)] for episode in range(episodes)]
        sums = [sum(row) for row in waits]
        self.drawn = {"slowest": max(sums), "lock-step": sum(max(column) for column in zip(*waits, strict=True))}
        self._slowest = self.tasks[sums.index(max(sums))]
        arms = {"batch": self._batch, "slowest": self._alone, "lock-step": self._lock_step}
        names = list(arms)
        rng(run, "order").shuffle(names)
        self.seconds: dict[str, float] = {}
        for name in names:
            with settled():
                started = time.perf_counter()
                steps = arms[name]()
                self.seconds[name] = time.perf_counter() - started
            assert steps == (length if name == "slowest" else episodes * length), (name, steps)

    def _play(self, tasks: Sequence[Task]) -> int:
        episodes = metagym.play(tasks, self.model, family=self.family)
        return sum(episode.steps for episode in episodes if episode.terminated)

    def _batch(self) -> int:
        return self._play(self.tasks)

    def _alone(self) -> int:
        return self._play([self._slowest])

    def _lock_step(self) -> int:
        return sync.run(lock_step(self.tasks, self.model, self.family))


def report(runs: Sequence[int] = (1, 2, 3), episodes: int = 16, length: int = 25, median: float = 0.1) -> Report:
    """Measures all of it.

    Args:
        runs: Seeds of the repeats; each has waiting times of its own.
        episodes: Episodes in a batch.
        length: Steps of each.
        median: Median waiting time of the server, in seconds.
    """
    with served(0.0) as spec:
        model = chat.load(spec)
        idle = Arms(0, model, episodes, length, 0.0).seconds
        sync.run(chat.aclose(model))
    with served(median) as spec:
        model = chat.load(spec)
        played = [Arms(run, model, episodes, length, median) for run in runs]
        sync.run(chat.aclose(model))
    batch, slowest, lock = ([arms.seconds[name] for arms in played] for name in ("batch", "slowest", "lock-step"))
    drawn, drawn_lock = ([arms.drawn[name] for arms in played] for name in ("slowest", "lock-step"))
    figures: list[Figure] = [
        at_most(1.05, "batch against its slowest episode alone", ratios(batch, slowest), "x"),
        at_least(1.8, "lock-step batch against ours", ratios(lock, batch), "x"),
        told("batch against the slowest episode's waiting times", ratios(batch, drawn), "x"),
        told(
            "lock-step batch against its own waiting times", ratios(lock, drawn_lock), "x", "the client costs it little"
        ),
        told("batch", batch, "s"),
        told("slowest episode alone", slowest, "s"),
        told("lock-step batch", lock, "s"),
        told("a call with no waiting time, one at a time", [idle["slowest"] / length * 1e3], "ms", "client and server"),
        told(f"the same, {episodes} at a time", [idle["batch"] / (episodes * length) * 1e3], "ms", "server's limit"),
    ]
    title = f"{episodes} episodes x {length} steps, server with log-normal latency (median {median:g} s, sigma 1)"
    details = {
        "drawn_s": [arms.drawn for arms in played],
        "seconds": [arms.seconds for arms in played],
        "idle_seconds": idle,
        "mean_wait_s": statistics.fmean(
            waiting_time(run, e, s, median) for run in runs for e in range(episodes) for s in range(length)
        ),
    }
    return Report("latency", title, figures, details)
