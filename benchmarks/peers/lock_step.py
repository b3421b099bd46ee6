"""A lock-step loop as in-context training's authors play a batch, beside `metagym.play`, with a model that takes time.

The lock-step loop is **ours**, written after a description of theirs; none of its code is used, and it is no
measurement of their program. What it has of it: in each step one call of the model for every active episode, in a
pool of threads made anew for the step; then the environments are stepped one after another; then the next step.

Episodes end at different steps (the model wins some games and wanders in others), and answers take log-normal times
(sigma 1) drawn for each repetition, game and step, so that both sides wait for the same answers equally long.
"""

from __future__ import annotations

import asyncio
import itertools
import math
import sys
import time
import zlib
from collections.abc import Awaitable, Callable, Sequence
from concurrent.futures import ThreadPoolExecutor

import metagym
from benchmarks.peers.pairs import Contest, Line, Result, contest
from benchmarks.peers.places import Peer, command
from metagym import Family, Task
from metagym.chat import Message, Request, scripted
from metagym.playing.actor import ActorSettings, Conversation
from metagym.seeding import rng
from metagym_envs.alfworld.family import ALFWorld
from metagym_envs.alfworld.generator import generate

PEER = Peer(
    label="a lock-step loop",
    unlike=(
        "The lock-step loop is ours, after a description of the one that the authors of in-context training published; "
        "it is no measurement of their program. It keeps conversations as ours does and nothing else: no records, no "
        "deadlines, and one failure ends the batch. Both sides play the native engine, whose steps cost nothing beside "
        "the waiting; with a slow engine the lock-step loop would lose more, since it steps the games one by one. With "
        "a model that always takes equally long there would be nothing to gain while all games last equally long."
    ),
)


class Slow:
    """The model: a way to win or a walk anywhere, told by the first message, after a time drawn for game and turn.

    Args:
        tasks: The games; in every third the model wanders.
        median: Median waiting time in seconds.
    """

    def __init__(self, family: Family, tasks: Sequence[Task], median: float) -> None:
        self.median = median
        self.games: dict[str, tuple[int, tuple[str, ...] | None]] = {}
        for number, task in enumerate(tasks):
            _, split, kind, index = task.id.split("/")
            way = None if number % 3 == 2 else generate(split, kind, int(index)).walkthrough
            self.games[family.open(task).reset()[0]] = number, way
        assert len(self.games) == len(tasks), "two games begin alike"

    def think(self, messages: Sequence[Message], repetition: int) -> tuple[float, str]:
        """Seconds that the answer takes in a repetition, and the answer."""
        text, turn = messages[0].content, len(messages) // 2
        number, way = next(found for first, found in self.games.items() if first in text)
        wait = self.median * math.exp(rng(repetition, "lock-step", number, turn).gauss(0.0, 1.0))
        if way is not None:
            return wait, f"Action: {way[turn]}"
        legal = sorted(line[2:] for line in messages[-1].content.splitlines() if line.startswith("- "))
        return wait, f"Action: {legal[zlib.crc32(f'{number} {turn}'.encode()) % len(legal)]}"

    def waiting(self, repetition: int) -> Callable[[Request], Awaitable[str]]:
        """For `metagym.play`."""

        async def answer(request: Request) -> str:
            wait, text = self.think(request.messages, repetition)
            await asyncio.sleep(wait)
            return text

        return answer

    def blocking(self, repetition: int) -> Callable[[Sequence[Message]], str]:
        """For threads."""

        def answer(messages: Sequence[Message]) -> str:
            wait, text = self.think(messages, repetition)
            time.sleep(wait)
            return text

        return answer


def lock_step(
    family: Family, tasks: Sequence[Task], model: Callable[[Sequence[Message]], str], steps: int
) -> list[Result]:
    """The batch in lock-step."""
    envs = [family.open(task) for task in tasks]
    talks = [Conversation("", family.instructions, ActorSettings()) for _ in tasks]
    returns, taken, won = [0.0] * len(tasks), [0] * len(tasks), [False] * len(tasks)
    legal: list[Sequence[str]] = []
    for env, talk, task in zip(envs, talks, tasks, strict=True):
        observation, info = env.reset(seed=task.seed)
        talk.observe(observation, info["admissible"])
        legal.append(info["admissible"])
    active = list(range(len(tasks)))
    for _ in range(steps):
        with ThreadPoolExecutor(len(active)) as pool:
            asked = [talks[i].request(0, legal[i]).messages for i in active]
            replies = list(pool.map(model, asked))
        still = []
        for i, reply in zip(active, replies, strict=True):
            talks[i].answer(reply)
            observation, reward, terminated, truncated, info = envs[i].step(reply.removeprefix("Action: "))
            talks[i].observe(observation, info["admissible"])
            returns[i] += reward
            taken[i] += 1
            won[i], legal[i] = info["success"], info["admissible"]
            if not (terminated or truncated):
                still.append(i)
        active = still
        if not active:
            break
    return list(zip(returns, won, taken, strict=True))


def play_ours(
    family: Family, tasks: Sequence[Task], model: Callable[[Request], Awaitable[str]], steps: int
) -> list[Result]:
    """`metagym.play`."""
    played = metagym.play(tasks, scripted(model, id="slow"), family=family, max_steps=steps)
    return [(episode.ret, bool(episode.success), episode.steps) for episode in played]


def measure(tiny: bool) -> list[Contest]:
    """Batches of the paper's size and of sixteen."""
    family = ALFWorld(engine="native", data="generated")
    steps, median, repeats = (3, 0.002, 2) if tiny else (25, 0.02, 7)
    return [_batch(family, size, steps, median, repeats) for size in ((2,) if tiny else (5, 16))]


def _batch(family: Family, size: int, steps: int, median: float, repeats: int) -> Contest:
    tasks = list(family.tasks("train"))[:size]
    model = Slow(family, tasks, median)
    ours, theirs = itertools.count(), itertools.count()  # each arm's repetitions; their waiting times are the same
    return contest(
        f"ALFWorld, a batch of {size} games, up to {steps} steps, answers of {median * 1e3:g} ms (median)",
        {
            "metagym.play": lambda: play_ours(family, tasks, model.waiting(next(ours)), steps),
            "lock-step loop": lambda: lock_step(family, tasks, model.blocking(next(theirs)), steps),
        },
        [
            Line(
                f"lock-step loop (ours, as ICT's): {size} games at once",
                "metagym.play",
                "lock-step loop",
                "log-normal waiting times",
                True,
            )
        ],
        repeats=repeats,
        count=len,
        unit="game",
        scale="ms",
        equal="return, success and number of steps of every game",
        warm=False,
    )


if __name__ == "__main__":
    sys.exit(command("lock_step"))
