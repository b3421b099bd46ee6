"""What the sandbox can do on this machine: every layer tried, and what a worker costs here."""

from __future__ import annotations

import contextlib
import platform
import statistics
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from importlib.metadata import version
from pathlib import Path

from metagym.errors import SandboxUnavailable
from metagym.sandbox.confine import LAYERS, LayerMissing, landlock
from metagym.sandbox.confine.libc import MACHINE
from metagym.sandbox.pool import SandboxPool

TRIED = "class Env:\n    def reset(self, seed=None):\n        return 'start'\n\n    def step(self, action):\n"
TRIED += "        return 'on', 0.0, False, {}\n"


@dataclass(frozen=True)
class Finding:
    """One line of an examination.

    Attributes:
        name: A layer, or what was measured.
        held: Whether it held; None for a measurement.
        words: What was found.
    """

    name: str
    held: bool | None
    words: str


def examine(repeats: int = 30) -> list[Finding]:
    """Starts a pool and tells what held, and what workers cost.

    Args:
        repeats: Programs that are created for the measurements.
    """
    found = [Finding("system", None, f"{platform.system()} {platform.release()}, {MACHINE}")]
    started = time.perf_counter()
    try:
        pool = SandboxPool().start()
    except SandboxUnavailable as error:
        return [*found, Finding(error.layer, False, error.message)]
    with pool:
        seconds = time.perf_counter() - started
        found.append(Finding("policy", True, f"RestrictedPython {version('RestrictedPython')} with facades and guards"))
        found += [Finding(name, not pool.layers[name], pool.layers[name] or _held(name)) for name in LAYERS]
        found.append(
            Finding("self-test", True, "a confined worker could open no file, make no socket, start no process")
        )
        found.append(_user(pool))
        return found + _measured(pool, seconds, repeats)


def one_line() -> str:
    """The sandbox in one line, for a summary of the whole installation; starts a pool."""
    if not sys.platform.startswith("linux"):
        return f"no: it needs Linux, and this is {sys.platform}"
    try:
        with SandboxPool(numpy=False) as pool:
            return f"ready: {', '.join(name for name, why in pool.layers.items() if not why)} hold"
    except SandboxUnavailable as error:
        return f"no: {error}"


def _held(name: str) -> str:
    if name == "landlock":
        with contextlib.suppress(LayerMissing):
            return f"held (ABI {landlock.abi()})"
    return "held"


def _user(pool: SandboxPool) -> Finding:
    status = Path(f"/proc/{pool.zygote_pid}/status").read_text("utf-8", "replace")
    uid = status.partition("\nUid:\t")[2].split()[0]
    return Finding("user", uid != "0", f"workers run as uid {uid}" + (" (root)" if uid == "0" else ""))


def _measured(pool: SandboxPool, start_s: float, repeats: int) -> list[Finding]:
    def median(call: Callable[[], object]) -> float:
        times = []
        for _ in range(repeats):
            started = time.perf_counter()
            call()
            times.append(time.perf_counter() - started)
        return statistics.median(times)

    created = median(lambda: pool.load(TRIED).close())
    with pool.load(TRIED, limits=replace(pool.limits, steps=10**6)) as program:
        program.reset()
        step = statistics.median(median(lambda: program.step("go")) for _ in range(10))
    return [
        Finding("start of a pool", None, f"{start_s:.2f} s, once"),
        Finding("create a program", None, f"{created * 1e3:.1f} ms (worker, confinement, loading)"),
        Finding("step", None, f"{step * 1e6:.0f} us for the round trip"),
    ]
