"""Plays conversations by hand, without an actor."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from metagym_envs.bfcl.calls import written
from metagym_envs.bfcl.data import Entry, entries
from metagym_envs.bfcl.env import ToolConversation

Policy = Callable[[ToolConversation], str]
END = "Done."


def entry(id_: str) -> Entry:
    return entries(id_.rpartition("_")[0])[id_]


def answer(env: ToolConversation) -> str:
    """The benchmark's calls of a turn in one reply, then the end of the turn."""
    truth = env.entry.truth[len(env.played) - 1]
    return written(truth) if truth and not env.played[-1] else END


def one_by_one(env: ToolConversation) -> str:
    """A reply for each of the benchmark's calls."""
    truth, done = env.entry.truth[len(env.played) - 1], len(env.played[-1])
    return written(truth[done : done + 1]) if done < len(truth) else END


def nothing(env: ToolConversation) -> str:
    return END


def without_last_turn(env: ToolConversation) -> str:
    return END if len(env.played) == len(env.entry.turns) else answer(env)


def play(one: Entry, policy: Policy) -> dict[str, Any]:
    """The last info."""
    env = ToolConversation(one)
    env.reset(seed=0)
    while True:
        _, reward, terminated, truncated, info = env.step(policy(env))
        if terminated or truncated:
            assert reward == float(info["success"]) == info["scores"]["official"]
            assert bool(info["verdict"]["valid"]) == info["success"] and env.world is None
            return info
