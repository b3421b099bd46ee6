"""How many episodes a second a set-up can play, and what holds it back: a model to plan with, not a measurement.

Episodes that are under way at once go round between a few stages: the model's servers, the environments' workers, this
driver, and waiting times that no queue makes longer. That is a closed queueing network with `concurrency` customers
(Denning and Buzen, "The Operational Analysis of Queueing Network Models", *ACM Computing Surveys* 10, 1978). Durations
follow from throughput by Little's law ("A Proof for the Queuing Formula L = lambda W", *Operations Research* 9, 1961);
the bounds of an idle and of a full system are the asymptotic ones (Muntz and Wong, 1974; Denning and Buzen, 1978).
Between them the throughput is computed exactly for stages that share their capacity among those who are there: Buzen's
convolution ("Computational Algorithms for Closed Queueing Networks with Exponential Servers", *Communications of the
ACM* 16, 1973) with load-dependent stations, which gives what exact mean value analysis gives (Reiser and Lavenberg,
*Journal of the ACM* 27, 1980). An LLM server with continuous batching is such a stage: one stream has a speed of its
own, all of them together have the server's.

``python -m benchmarks --only capacity`` holds it against simulations and real runs; docs/scale.md says how to measure
what goes in.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from metagym.checks import number, settle, whole
from metagym.errors import BadInput

MAX_CONCURRENCY = 5_000
"""Largest concurrency that is computed; the work grows with its square."""


@dataclass(frozen=True)
class Work:
    """What an episode takes, on the mean.

    Attributes:
        turns: Model calls, > 0.
        completion_tokens: Tokens written per call, > 0.
        prompt_tokens: Tokens read per call that no prefix cache holds.
        open_s: CPU seconds for opening and resetting the environment.
        step_s: CPU seconds per step of the environment.
        driver_s: CPU seconds of the driver per turn: `metagym.play`, the model's client, messages to workers.
        delay_s: Seconds per turn that nothing can queue for: networks, engines that wait.
    """

    turns: float
    completion_tokens: float
    prompt_tokens: float = 0.0
    open_s: float = 0.0
    step_s: float = 0.0
    driver_s: float = 0.0015
    delay_s: float = 0.0

    def __post_init__(self) -> None:
        """Checks the ranges."""
        for name in ("turns", "completion_tokens"):
            settle(self, name, number, 0, above=True)
        for name in ("prompt_tokens", "open_s", "step_s", "driver_s", "delay_s"):
            settle(self, name, number, 0)


@dataclass(frozen=True)
class Fleet:
    """What there is to play on.

    Attributes:
        servers: Model servers.
        tokens_per_s: Tokens that one server writes per second with all its streams together.
        stream_tokens_per_s: Tokens per second of a single stream on an idle server.
        prefill_tokens_per_s: Tokens that one server reads per second; None where reading costs nothing worth counting.
        workers: CPUs for environments.
        drivers: Processes that ask the model: 1, or the workers' number where whole episodes are played on them.
    """

    servers: int
    tokens_per_s: float
    stream_tokens_per_s: float
    prefill_tokens_per_s: float | None = None
    workers: int = 1
    drivers: int = 1

    def __post_init__(self) -> None:
        """Checks the ranges."""
        for name in ("servers", "workers", "drivers"):
            settle(self, name, whole, 1)
        for name in ("tokens_per_s", "stream_tokens_per_s"):
            settle(self, name, number, 0, above=True)
        settle(self, "prefill_tokens_per_s", number, 0, above=True, none=True)


@dataclass(frozen=True)
class Forecast:
    """What to expect.

    Attributes:
        episodes_per_s: Throughput.
        episode_s: Mean duration of an episode: concurrency / throughput (Little's law).
        alone_s: Duration of an episode that is alone.
        utilisation: Share of its capacity that each stage works, 0 to 1.
        bottleneck: The stage with the largest.
        limit_per_s: Throughput that no concurrency can pass: the slowest stage's.
        knee: Concurrency at which the bounds of an idle and of a full system meet; far above it episodes only wait.
    """

    episodes_per_s: float
    episode_s: float
    alone_s: float
    utilisation: Mapping[str, float]
    bottleneck: str
    limit_per_s: float
    knee: float


def forecast(work: Work, fleet: Fleet, concurrency: int) -> Forecast:
    """Throughput and durations of a steady run.

    Args:
        work: What an episode takes.
        fleet: What there is.
        concurrency: Episodes at once.

    Raises:
        BadInput: The concurrency is no whole number from 1 to `MAX_CONCURRENCY`.
    """
    at_once = whole("concurrency", concurrency, 1)
    if at_once > MAX_CONCURRENCY:
        raise BadInput(f"concurrency is at most {MAX_CONCURRENCY:,} here, got {at_once:,}")
    demands, width = stages(work, fleet)
    delay = work.turns * work.delay_s
    rate = _throughput(demands, width, delay, at_once)
    alone = delay + sum(demands.values())
    limit = min(width[name] / seconds for name, seconds in demands.items() if seconds > 0)
    used = {name: min(1.0, rate * seconds / width[name]) for name, seconds in demands.items()}
    return Forecast(
        episodes_per_s=rate,
        episode_s=at_once / rate,
        alone_s=alone,
        utilisation=used,
        bottleneck=max(used, key=used.__getitem__),
        limit_per_s=limit,
        knee=limit * alone,
    )


def stages(work: Work, fleet: Fleet) -> tuple[dict[str, float], dict[str, float]]:
    """Of each stage, the seconds that an episode needs of it with nobody else there, and its width.

    The width is how many are served at full speed at once; a stage finishes at most width / seconds episodes a second.
    """
    # Writing and reading share a server's time: a call holds it for both, as long as they take a full server.
    full = work.completion_tokens / fleet.tokens_per_s
    alone = work.completion_tokens / fleet.stream_tokens_per_s
    if fleet.prefill_tokens_per_s is not None:
        full += work.prompt_tokens / fleet.prefill_tokens_per_s
        alone += work.prompt_tokens / fleet.prefill_tokens_per_s
    alone = max(alone, full)
    demands = {
        "model": work.turns * alone,
        "environments": work.open_s + work.turns * work.step_s,
        "driver": work.turns * work.driver_s,
    }
    width = {
        "model": fleet.servers * alone / full,
        "environments": float(fleet.workers),
        "driver": float(fleet.drivers),
    }
    return demands, width


def _throughput(demands: Mapping[str, float], width: Mapping[str, float], delay: float, at_once: int) -> float:
    """Episodes per second by convolution, in logarithms: G(N-1) / G(N)."""
    number_of = np.arange(at_once + 1)
    logs = np.concatenate([[0.0], np.cumsum(np.log(number_of[1:]))])  # of factorials
    total = np.full(at_once + 1, -np.inf)
    total[0] = 0.0
    if delay > 0:
        total = number_of * np.log(delay) - logs
    for name, seconds in demands.items():
        if seconds > 0:
            speeds = np.log(np.minimum(number_of[1:], width[name]))
            station = number_of * np.log(seconds) - np.concatenate([[0.0], np.cumsum(speeds)])
            total = _convolved(total, station)
    return float(np.exp(total[-2] - total[-1]))


def _convolved(one: np.ndarray, two: np.ndarray) -> np.ndarray:
    out = np.empty_like(one)
    for n in range(len(one)):
        terms = one[: n + 1] + two[n::-1]
        most = terms.max()
        out[n] = most if np.isneginf(most) else most + np.log(np.exp(terms - most).sum())
    return out
