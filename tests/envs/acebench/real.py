"""A real checkout of the benchmark, where METAGYM_ACEBENCH names one, and conversations on its tasks."""

from __future__ import annotations

import hashlib
import json
import os
from typing import Any

import pytest

from metagym_envs.acebench.entries import KINDS, Entry, entries, identity
from metagym_envs.acebench.env import AgentTask
from metagym_envs.acebench.judging import SAVED
from metagym_envs.acebench.users import FINISH

VARIABLE = "METAGYM_ACEBENCH"
DATA = "f4319b579b78414e3d38fb39e120f9a559be2a41e6e831ae7f500272c685feee"
"""Digest of the 50 tasks and their milestones that the figures of the tests are of."""


def checkout() -> str:
    """The checkout; skips the test where there is none."""
    found = os.environ.get(VARIABLE)
    if not found:
        pytest.skip(f"{VARIABLE} names no checkout of the ACEBench repository")
    return found


def tasks() -> list[Entry]:
    """All tasks; skips the test where they are others than those that the figures are of."""
    found = [one for kind in KINDS for one in entries(checkout(), kind)]
    digest = hashlib.sha256(json.dumps([[identity(one), one.milestones] for one in found]).encode()).hexdigest()
    if digest != DATA:
        pytest.skip(f"the agent tasks of {checkout()} are others than those that the figures are of ({digest})")
    return found


def ended(entry: Entry, sent: list[str]) -> dict[str, Any]:
    """The last `info` of a conversation."""
    return played(entry, sent)[2]


def played(entry: Entry, sent: list[str]) -> tuple[list[str], list[dict[str, Any]], dict[str, Any]]:
    """Answers, the attributes that are compared, and the last `info` of a conversation with a user who only listens."""
    env = AgentTask(checkout(), entry, turns=10_000)
    env.reset(seed=0)
    if entry.kind == "multi_turn":
        env._user = _Listener()
    answers = [env.step(text)[0] for text in sent]
    assert env._world is not None
    state = env._world.state()
    kept = [{name: {k: v for k, v in state[name].items() if k in SAVED[name]}} for name in entry.classes]
    return answers, kept, env.step(FINISH)[4]


class _Listener:
    def say(self, heard: str) -> str:
        return "Hm."
