"""Corpora of programs for the sandbox: their headers, and how one is played."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from metagym.errors import BadOutput, ProgramError, ProgramKilled, ProgramRejected
from metagym.sandbox import Limits, SandboxPool

OWN_CORPUS = Path(__file__).resolve().parents[1] / "sandbox" / "corpus"

CORPUS_LIMITS = Limits(call_s=2.0, load_s=5.0, cpu_s=4.0)
"""Under which the verdicts of the corpora were recorded."""

SHORT_LIMITS = Limits(call_s=0.4, load_s=1.5, cpu_s=4.0)
"""For the fast lane: an endless loop costs its limit."""


def env(step: str, head: str = "", reset: str = "return 'start'") -> str:
    """A program whose `step(action)` and `reset(seed)` have these bodies."""

    def body(text: str) -> str:
        return "".join(f"        {line}\n" for line in text.splitlines())

    return (
        f"{head}\nclass Env:\n    def reset(self, seed=None):\n{body(reset)}\n"
        f"    def step(self, action):\n{body(step)}        return 'obs', 0.0, False, {{}}\n"
    )


@dataclass(frozen=True)
class Header:
    """What the first lines of a corpus file say."""

    seed: int = 0
    actions: tuple[Any, ...] = ("go", "go")
    total: float | None = None
    steps: int | None = None
    expect: str = ""
    resource: bool = False


def header(source: str) -> Header:
    """Reads the header of a corpus program."""
    found: dict[str, Any] = {}
    for line in source.splitlines():
        if not line.startswith("#"):
            break
        name, _, value = line[1:].strip().partition(":")
        value = value.strip()
        if name == "seed":
            found["seed"] = int(value)
        elif name == "actions":
            found["actions"] = tuple(json.loads(value))
        elif name == "expect_total":
            total, _, rest = value.partition(" after ")
            found["total"], found["steps"] = float(total), int(rest.split()[0])
        elif name == "expect":
            found["expect"] = value.split()[0]
        elif name == "kind":
            found["resource"] = value.startswith("resource")
    return Header(**found)


def verdict(pool: SandboxPool, source: str, limits: Limits) -> tuple[str, list[Any]]:
    """How an attack ends (`rejected`, `contained`, `killed`) and the observations that it gave on the way."""
    seen: list[Any] = []
    found = header(source)
    try:
        with pool.load(source, limits=limits) as program:
            calls: list[Callable[[], Any]] = [lambda: program.reset(seed=0)]
            calls += [lambda action=action: program.step(action) for action in found.actions]
            for call in calls:
                try:
                    seen.append(call()[0])
                except (ProgramError, BadOutput):
                    break
    except ProgramRejected:
        return "rejected", seen
    except (ProgramError, BadOutput):
        return "contained", seen
    except ProgramKilled:
        return "killed", seen
    return "contained", seen


def allowed(expect: str, resource: bool) -> set[str]:
    """The verdicts that pass: the one expected, a stricter one, either of the two where a limit is at play."""
    if resource:
        return {"rejected", "contained", "killed"}
    return {"rejected": {"rejected"}, "contained": {"contained", "rejected"}, "killed": {"killed"}}[expect]


def transcript(pool: SandboxPool, source: str) -> list[Any]:
    """Everything that a benign program says under the actions of its header, until its episode ends."""
    found = header(source)
    with pool.load(source) as program:
        said: list[Any] = [program.reset(seed=found.seed)]
        for action in found.actions:
            said.append(program.step(action))
            if said[-1][2] or said[-1][3]:
                break
        return said


def children(pid: int | None = None) -> list[int]:
    """Process ids of the children of a process (zombies included), by /proc."""
    parent, found = pid or os.getpid(), []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                stat = (entry / "stat").read_text(errors="replace")
            except OSError:
                continue
            if int(stat.rpartition(")")[2].split()[1]) == parent:
                found.append(int(entry.name))
    return found


def alive(pid: int) -> bool:
    """Whether a process exists and is no zombie."""
    try:
        return Path(f"/proc/{pid}/stat").read_text(errors="replace").rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def gone(pid: int, seconds: float = 5.0) -> bool:
    """Whether a process ends within some seconds."""
    until = time.monotonic() + seconds
    while alive(pid):
        if time.monotonic() > until:
            return False
        time.sleep(0.005)
    return True


def descriptors() -> int:
    """Number of open file descriptors."""
    return len(os.listdir("/proc/self/fd"))
