"""Programs that nobody has read, run without risk: the reset()/step() compiler.

    from metagym.sandbox import Limits, SandboxPool, load

    with load(source, seed=0) as program:
        observation, info = program.reset(seed=0)
        observation, reward, terminated, truncated, info = program.step("go")

The process is the boundary: each program has a worker that confined itself (rlimits, seccomp, Landlock) before it
read the program. The language layer before it (`metagym.sandbox.language`) is a filter and a usability layer.
"""

from __future__ import annotations

from metagym.sandbox.limits import Limits
from metagym.sandbox.operations import Ask, Drop, Play, Reset, Step
from metagym.sandbox.pool import SandboxPool, default_pool, load, load_async
from metagym.sandbox.program import AsyncProgram, Program, ProgramInfo

__all__ = [
    "Ask",
    "AsyncProgram",
    "Drop",
    "Limits",
    "Play",
    "Program",
    "ProgramInfo",
    "Reset",
    "SandboxPool",
    "Step",
    "default_pool",
    "load",
    "load_async",
]
