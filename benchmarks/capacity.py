"""Is the capacity model (`metagym.playing.capacity`) right? It is held against simulations and against real runs.

The simulation knows nothing of the formula: events one by one; every server shares its tokens among its streams (none
faster than one alone), conversations belong to servers by the balancer's own rule, environments' workers and the driver
serve in the order of arrival; tokens, turns and CPU times are drawn from log-normal laws. The real runs are
`metagym.play` against a model that shares tokens by the clock, with environments that wait.
"""

from __future__ import annotations

import asyncio
import heapq
import itertools
import math
import random
import statistics
import time
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import gymnasium

from benchmarks.common import Figure, Report, at_most, told
from metagym import Family, Task, TaskSet
from metagym.chat import Message, Request, scripted
from metagym.chat.balance import HEADROOM, rendezvous
from metagym.playing.capacity import Fleet, Work, forecast
from metagym.playing.runner import play_async
from metagym.seeding import rng
from metagym.spaces import FreeText

SPREAD = 0.7
"""Sigma of the log-normal laws: the 90th percentile is 2.5 times the median."""

CASES: dict[str, tuple[Work, Fleet]] = {
    "model-bound": (Work(12, 150, 300, 0.02, 0.002), Fleet(2, 2500, 60, 40_000, workers=8)),
    "environment-bound": (Work(20, 40, 50, 0.5, 0.08), Fleet(2, 3000, 80, 40_000, workers=4)),
    "driver-bound": (Work(30, 8, 20, 0.01, 0.0005, driver_s=0.004), Fleet(4, 4000, 100, 80_000, workers=16)),
    "balanced": (Work(10, 60, 200, 0.1, 0.03, driver_s=0.003, delay_s=0.1), Fleet(1, 1500, 60, 20_000, workers=4)),
    "four servers, long answers": (Work(4, 800, 1500, 0.2, 0.01), Fleet(4, 3000, 50, 30_000, workers=4)),
}
CROWDS = (1, 4, 16, 64, 256)


def _drawn(dice: random.Random, mean: float, sigma: float = SPREAD) -> float:
    """A log-normal number of this mean."""
    return mean * math.exp(dice.gauss(0.0, sigma) - sigma * sigma / 2) if mean > 0 else 0.0


@dataclass
class _Shared:
    """A server whose streams share its capacity; no stream is faster than one alone (processor sharing by events).

    Work is in seconds of a stream alone. `clock` is the work that a stream that was always there has had.
    """

    width: float
    clock: float = 0.0
    at: float = 0.0
    streams: list[tuple[float, int, int]] = field(default_factory=list)
    version: int = 0

    def speed(self) -> float:
        return min(1.0, self.width / len(self.streams)) if self.streams else 1.0

    def to(self, now: float) -> None:
        self.clock += (now - self.at) * self.speed()
        self.at = now

    def ends(self) -> float:
        return self.at + (self.streams[0][0] - self.clock) / self.speed() if self.streams else math.inf


@dataclass
class _Queue:
    """Servers that take customers in the order of arrival."""

    free: int
    waiting: deque[tuple[int, float]] = field(default_factory=deque)


def simulated(work: Work, fleet: Fleet, concurrency: int, episodes: int, seed: int) -> float:
    """Episodes per second of a run with `concurrency` episodes at once, between the first and the last fifth of it."""
    dice = rng(seed, "capacity", concurrency)
    numbers = itertools.count()
    events: list[tuple[float, int, str, int, int]] = []
    demands = work.completion_tokens / fleet.stream_tokens_per_s
    reads = work.prompt_tokens / fleet.prefill_tokens_per_s if fleet.prefill_tokens_per_s else 0.0
    full = work.completion_tokens / fleet.tokens_per_s + reads
    servers = [_Shared((demands + reads) / full) for _ in range(fleet.servers)]
    names = [f"server {place}" for place in range(fleet.servers)]
    environments, driver = _Queue(fleet.workers), _Queue(fleet.drivers)
    turns_left: dict[int, int] = {}
    ended: list[float] = []
    started = 0

    def at(when: float, what: str, who: int, version: int = 0) -> None:
        heapq.heappush(events, (when, next(numbers), what, who, version))

    def serve(queue: _Queue, what: str, who: int, seconds: float, now: float) -> None:
        if queue.free:
            queue.free -= 1
            at(now + seconds, what, who)
        else:
            queue.waiting.append((who, seconds))

    def freed(queue: _Queue, what: str, now: float) -> None:
        if queue.waiting:
            who, seconds = queue.waiting.popleft()
            at(now + seconds, what, who)
        else:
            queue.free += 1

    def begin(now: float) -> None:
        nonlocal started
        if started < episodes:
            turns_left[started] = max(1, round(_drawn(dice, work.turns, 0.3)))
            serve(environments, "opened", started, _drawn(dice, work.open_s), now)
            started += 1

    def ask(who: int, now: float) -> None:
        share = math.ceil(HEADROOM * (1 + sum(len(server.streams) for server in servers)) / len(servers))
        order = rendezvous(Request((Message("user", f"episode {who}"),)), names)
        place = next((place for place in order if len(servers[place].streams) < share), order[0])
        server = servers[place]
        server.to(now)
        seconds = _drawn(dice, demands) + _drawn(dice, reads)
        heapq.heappush(server.streams, (server.clock + seconds, next(numbers), who))
        replan(place)

    def replan(place: int) -> None:
        servers[place].version += 1
        if servers[place].streams:
            at(servers[place].ends(), "answered", place, servers[place].version)

    for _ in range(min(concurrency, episodes)):
        begin(0.0)
    while events:
        now, _, what, who, version = heapq.heappop(events)
        if what == "answered":
            server = servers[who]
            if version != server.version:
                continue
            server.to(now)
            _, _, asked = heapq.heappop(server.streams)
            replan(who)
            at(now + work.delay_s, "arrived", asked)
        elif what == "arrived":
            serve(environments, "stepped", who, _drawn(dice, work.step_s), now)
        elif what == "driven":
            freed(driver, "driven", now)
            ask(who, now)
        else:
            freed(environments, "stepped", now)
            if what == "stepped":
                turns_left[who] -= 1
            if turns_left[who]:
                serve(driver, "driven", who, _drawn(dice, work.driver_s), now)
            else:
                ended.append(now)
                begin(now)
    low, high = len(ended) // 5, 4 * len(ended) // 5
    return (high - low) / (ended[high] - ended[low])


# --- real runs


class Waiting(gymnasium.Env[str, str]):
    """An environment that takes its time for a step, without a processor."""

    def __init__(self, number: int, turns: int) -> None:
        self.observation_space = self.action_space = FreeText()
        self.number, self.turns, self.at = number, turns, 0

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[str, dict[str, Any]]:
        """Back to the start."""
        self.at = 0
        return f"Episode {self.number}.", {}

    def step(self, action: str) -> tuple[str, float, bool, bool, dict[str, Any]]:
        """One step on."""
        self.at += 1
        return "Go on.", 0.0, self.at >= self.turns, False, {}


class SharedModel:
    """A model that shares its tokens among those who ask, by the clock: a stand-in for a server, no language model."""

    def __init__(self, tokens_per_s: float, stream_tokens_per_s: float, tokens: Callable[[Request], float]) -> None:
        self._server = _Shared(tokens_per_s / stream_tokens_per_s)
        self._stream, self._tokens = stream_tokens_per_s, tokens
        self._numbers = itertools.count()
        self._waiting: dict[int, asyncio.Future[None]] = {}
        self._timer: asyncio.TimerHandle | None = None

    async def __call__(self, request: Request) -> str:
        """Answers when its tokens are written."""
        loop = asyncio.get_running_loop()
        server, number = self._server, next(self._numbers)
        server.to(loop.time())
        heapq.heappush(server.streams, (server.clock + self._tokens(request) / self._stream, number, number))
        done = self._waiting[number] = loop.create_future()
        self._plan(loop)
        await done
        return "Action: go on"

    def _plan(self, loop: asyncio.AbstractEventLoop) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._timer = loop.call_at(self._server.ends(), self._due, loop) if self._server.streams else None

    def _due(self, loop: asyncio.AbstractEventLoop) -> None:
        server = self._server
        server.to(loop.time())
        while server.streams and server.streams[0][0] <= server.clock + 1e-9:
            _, _, number = heapq.heappop(server.streams)
            self._waiting.pop(number).set_result(None)
        self._plan(loop)


def played(work: Work, fleet: Fleet, concurrency: int, episodes: int, seed: int) -> float:
    """Episodes per second of `metagym.play` itself, between the first and the last fifth of the episodes."""
    turns = round(work.turns)
    tasks = TaskSet([Task("Waiting", str(number), seed=number) for number in range(episodes)])
    family = Family(
        "Waiting", lambda split: tasks, lambda task: Waiting(task.seed, turns), max_steps=turns, host="inline"
    )

    def tokens(request: Request) -> float:
        place = rng(seed, "tokens", request.messages[0].content, len(request.messages))
        return _drawn(place, work.completion_tokens)

    ended: list[float] = []

    async def go() -> None:
        model = SharedModel(fleet.tokens_per_s, fleet.stream_tokens_per_s, tokens)
        await play_async(
            list(tasks),
            scripted(model, id="shared"),
            family=family,
            concurrency=concurrency,
            on_episode=lambda episode: ended.append(time.perf_counter()),
        )

    asyncio.run(go())
    low, high = len(ended) // 5, 4 * len(ended) // 5
    return (high - low) / (ended[high] - ended[low])


REAL: Sequence[tuple[int, Work, Fleet]] = (
    (2, Work(8, 20, driver_s=0.0002), Fleet(1, 2000, 400)),
    (8, Work(8, 20, driver_s=0.0002), Fleet(1, 2000, 400)),
    (32, Work(8, 20, driver_s=0.0002), Fleet(1, 2000, 400)),
)


def report(
    seeds: Sequence[int] = (1, 2, 3), episodes: int = 600, crowds: Sequence[int] = CROWDS, real_episodes: int = 80
) -> Report:
    """Measures all of it.

    Args:
        seeds: Of the simulations.
        episodes: Of each simulation, at least; eight times the concurrency where that is more.
        crowds: Episodes at once.
        real_episodes: Of each real run, more for larger crowds.
    """
    errors: dict[str, list[float]] = {}
    rows = []
    for name, (work, fleet) in CASES.items():
        for crowd in crowds:
            expected = forecast(work, fleet, crowd)
            found = [simulated(work, fleet, crowd, max(episodes, 8 * crowd), seed) for seed in seeds]
            mean = statistics.fmean(found)
            errors.setdefault(name, []).append(abs(expected.episodes_per_s / mean - 1) * 100)
            rows.append(
                {
                    "case": name,
                    "concurrency": crowd,
                    "forecast": expected.episodes_per_s,
                    "bottleneck": expected.bottleneck,
                    "simulated": found,
                }
            )
    every = [error for found in errors.values() for error in found]
    figures: list[Figure] = [
        at_most(5, "forecast against simulation, median error", [statistics.median(every)], "%"),
        at_most(20, "the same, largest error", [max(every)], "%"),
    ]
    figures += [told(f"error, {name}", found, "%", f"{len(crowds)} concurrencies") for name, found in errors.items()]
    for crowd, work, fleet in REAL:
        expected = forecast(work, fleet, crowd)
        mean = statistics.median(played(work, fleet, crowd, real_episodes * (1 + crowd // 16), seed) for seed in seeds)
        error = abs(expected.episodes_per_s / mean - 1) * 100
        name = f"forecast against metagym.play, {crowd} at once"
        note = f"{expected.episodes_per_s:.3g} foretold, {mean:.3g} played per second"
        figures.append(at_most(15, name, [error], "%", note))
    title = (
        f"Error of the capacity model's episodes per second: {len(CASES)} set-ups x {len(crowds)} concurrencies "
        f"simulated, {len(REAL)} played"
    )
    return Report("capacity", title, figures, {"rows": rows})
