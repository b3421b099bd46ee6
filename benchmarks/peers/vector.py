"""Gymnasium's vector environments over our plain task environment, beside `metagym.play` on the same tasks.

A vector environment is given its best case: as many sub-environments as we play episodes at once, each of which goes
on to the next task of its own share when one ends (``AutoresetMode.SAME_STEP``), so that nobody waits for the longest
episode but at the very end.
"""

from __future__ import annotations

import functools
import sys
import warnings
import zlib
from collections.abc import Callable, Sequence
from typing import Any

import gymnasium
from gymnasium.vector import AsyncVectorEnv, AutoresetMode, SyncVectorEnv, VectorEnv

import metagym
from benchmarks.peers.pairs import Contest, Line, Result, contest
from benchmarks.peers.places import Peer, command
from metagym import Family, Task
from metagym.chat import Request, scripted
from metagym.playing.task_env import TaskEnv
from metagym.spaces import FreeText
from metagym_envs.gym.frozen_lake import ACTIONS, FrozenLake, advise

PEER = Peer(
    label="Gymnasium vector environments",
    packages={"gymnasium": ""},
    unlike=(
        "A vector environment steps environments and nothing else: it knows no conversation, sends no request, parses "
        "no reply, keeps no record of a turn, and what fails in one sub-environment fails the batch. Ours does all of "
        "that in the same time. On the other hand it copies observations and infos of the whole batch at every step, "
        "and its loop needs all actions of a step before it takes the next one; the model here answers at once, which "
        "hides that (see lock_step)."
    ),
)
WAYS = frozenset({"goal", "holes", "slip"})


def reply(text: str) -> str:
    """The model: it mostly walks well, and at a fifth of the places it walks anywhere. The text alone decides."""
    return _move(text[text.index("The ice is") :].partition("\n\n")[0])


@functools.cache  # thinking costs either arm the same, and would hide what differs
def _move(drawn: str) -> str:
    chance = zlib.crc32(drawn.encode())
    moves = advise(drawn, WAYS) if chance % 5 else ()
    return moves[0] if moves else ACTIONS[chance // 5 % 4]


def answer(request: Request) -> str:
    """The same for our seat."""
    return reply(request.messages[-1].content)


class Share(gymnasium.Env[str, str]):
    """A share of the tasks, one after another: their environments as `metagym.play` opens them, and nothing around."""

    def __init__(self, family: Family, tasks: Sequence[Task]) -> None:
        self.observation_space = self.action_space = FreeText()
        self._family, self._tasks, self._next = family, tasks, 0
        self._env: gymnasium.Env[str, str] | None = None
        self._steps, self._return = 0, 0.0

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[str, dict[str, Any]]:
        """Opens the next task; after the last one the first again, which counts no more."""
        self.close()
        task = self._tasks[self._next % len(self._tasks)]
        self._next += 1
        self._env, self._steps, self._return = self._family.open(task), 0, 0.0
        return self._env.reset(seed=task.seed)

    def step(self, action: str) -> tuple[str, float, bool, bool, dict[str, Any]]:
        """One step; with the last one, whether the task is done."""
        assert self._env is not None
        observation, reward, terminated, truncated, info = self._env.step(action)
        self._steps += 1
        self._return += reward
        truncated = not terminated and (truncated or self._steps >= self._family.max_steps)
        if terminated or truncated:
            info = {**info, "success": self._family.success(info, self._return, terminated)}
        return observation, reward, terminated, truncated, info

    def close(self) -> None:
        """Closes the open task's environment."""
        if self._env is not None:
            self._env.close()
            self._env = None


class PlainShare(gymnasium.Wrapper[str, str, str, str]):
    """The same with our plain task environment, which cleans actions and tells of each step what was done."""

    def __init__(self, family: Family, tasks: Sequence[Task]) -> None:
        super().__init__(TaskEnv(family, tasks[0].split))
        self._tasks, self._next = tasks, 0

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[str, dict[str, Any]]:
        """Opens the next task."""
        task = self._tasks[self._next % len(self._tasks)]
        self._next += 1
        return self.env.reset(seed=seed, options={"task": task})


def make_share(tasks: Sequence[Task], plain: bool = False) -> gymnasium.Env[str, str]:
    """A share, also in a process of its own."""
    return (PlainShare if plain else Share)(FrozenLake(), tasks)


Makers = Sequence[Callable[[], gymnasium.Env[str, str]]]


def play_vector(
    make: Callable[[Makers], VectorEnv[Any, Any, Any]], tasks: Sequence[Task], width: int, plain: bool = False
) -> list[Result]:
    """Plays the tasks with a vector environment."""
    shares = [tasks[number::width] for number in range(width)]
    envs = make([functools.partial(make_share, share, plain) for share in shares])
    results: list[list[Result]] = [[] for _ in shares]
    returns, steps = [0.0] * width, [0] * width
    try:
        observations, _ = envs.reset()
        while any(len(done) < len(share) for done, share in zip(results, shares, strict=True)):
            actions = [reply(text) for text in observations]
            observations, rewards, terminated, truncated, infos = envs.step(actions)
            for i in range(width):
                returns[i] += float(rewards[i])
                steps[i] += 1
                if terminated[i] or truncated[i]:
                    won = bool(infos["final_info"]["success"][i])
                    results[i].append((returns[i], won, steps[i]))
                    returns[i], steps[i] = 0.0, 0
    finally:
        envs.close()
    return [results[number % width][number // width] for number in range(len(tasks))]


def play_ours(tasks: Sequence[Task], width: int, hosts: str | None) -> list[Result]:
    """Plays them with `metagym.play`."""
    played = metagym.play(tasks, scripted(answer), family=FrozenLake(), concurrency=width, hosts=hosts)
    return [(episode.ret, bool(episode.success), episode.steps) for episode in played]


def sync_env(makers: Makers) -> SyncVectorEnv:
    """All in this process."""
    return SyncVectorEnv(makers, autoreset_mode=AutoresetMode.SAME_STEP)


def async_env(makers: Makers) -> AsyncVectorEnv:
    """A process each. Shared memory knows none but Gymnasium's own spaces, so texts go through pipes."""
    return AsyncVectorEnv(makers, shared_memory=False, context="spawn", autoreset_mode=AutoresetMode.SAME_STEP)


def measure(tiny: bool) -> list[Contest]:
    """Both vector environments."""
    warnings.simplefilter("ignore")  # of Gymnasium, on spaces that it does not know
    tasks = list(FrozenLake().tasks("train"))
    quick, slow, width = (8, 4, 2) if tiny else (96, 96, 16)
    equal = "return, success and number of steps of every task"
    return [
        contest(
            f"FrozenLake, {quick} tasks, {width} at a time, in one process",
            {
                "metagym.play": lambda: play_ours(tasks[:quick], width, "inline"),
                "SyncVectorEnv": lambda: play_vector(sync_env, tasks[:quick], width),
                "SyncVectorEnv over MetaGym's plain task environment": lambda: play_vector(
                    sync_env, tasks[:quick], width, plain=True
                ),
            },
            [
                Line(
                    "Gymnasium: SyncVectorEnv",
                    "metagym.play",
                    "SyncVectorEnv",
                    "no conversation, no records",
                    True,
                ),
                Line(
                    "Gymnasium: SyncVectorEnv over our plain task environment",
                    "metagym.play",
                    "SyncVectorEnv over MetaGym's plain task environment",
                ),
            ],
            repeats=2 if tiny else 11,
            count=steps_of,
            unit="step",
            scale="us",
            equal=equal,
        ),
        contest(
            f"FrozenLake, {slow} tasks, in 2 processes",
            {
                "metagym.play": lambda: play_ours(tasks[:slow], width, "process:2"),
                "AsyncVectorEnv": lambda: play_vector(async_env, tasks[:slow], 2),
            },
            [
                Line(
                    "Gymnasium: AsyncVectorEnv",
                    "metagym.play",
                    "AsyncVectorEnv",
                    "2 processes each, started anew in each repetition",
                    True,
                )
            ],
            repeats=1 if tiny else 6,
            warm=not tiny,
            count=steps_of,
            unit="step",
            scale="us",
            equal=equal,
        ),
    ]


def steps_of(results: Sequence[Result]) -> int:
    """How many steps were played."""
    return sum(result[2] for result in results)


if __name__ == "__main__":
    sys.exit(command("vector"))
