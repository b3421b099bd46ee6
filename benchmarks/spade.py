"""What safety costs SPADE: programs validated per minute, and paired plays per second next to `exec` in the process.

The unsafe way runs in a throw-away process of its own: the program's text is given to `exec` as SPADE's public code
does, and the very same player, seat and scripted agent play it. What differs is where the program runs, no more.
"""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from benchmarks.common import Report, at_least, ratios, told
from metagym.chat import Request, scripted
from metagym.sandbox import SandboxPool
from metagym.sandbox.bases import SyntheticEnv, ToolEnv
from metagym.spade.hosts import PlayerSettings, ProgramPlayer, Stage, staged
from metagym.spade.outcomes import pair_seeds
from metagym.spade.program import EnvProgram
from metagym.spade.regret import estimate_regret
from metagym.spade.seats import family_for
from metagym.spade.stand_ins.programs import RULES, number_lock
from metagym.spade.validation import ValidationSettings, validate

SEEDS = 16
"""Seeds in each arm, as in SPADE: 32 plays of a program."""
WORKERS = 2
HINT = "Keep the range that is left in mind and turn to its middle."


def programs(count: int) -> list[EnvProgram]:
    """Locks of three to six pins with every rule in turn; all different."""
    names = sorted(RULES)
    chosen = [(3 + place % 4, [names[place % 7], names[(place // 7 + place + 1) % 7]]) for place in range(count)]
    return [EnvProgram.parse(number_lock(pins, rules)) for pins, rules in chosen]


def answer(request: Request) -> str:
    """An agent that costs nothing and plays every episode to its cap or to a lucky end."""
    return f"Thought: onwards.\nAction: turn {3 + len(request.messages) * 7 % 56}"


async def _paired(stage: Stage, program: EnvProgram) -> int:
    found = await estimate_regret(
        stage,
        scripted(answer, id="benchmark"),
        pair_seeds(program.digest, 0, SEEDS),
        HINT,
        player=ProgramPlayer(PlayerSettings(max_steps=25)),
    )
    assert found.plain.scored == found.hinted.scored == SEEDS, found
    return found.plain.plays + found.hinted.plays


async def safe_plays(chosen: Sequence[EnvProgram], pool: SandboxPool) -> float:
    """Paired plays per second in the sandbox, loading included, `WORKERS` programs at a time."""
    gate = asyncio.Semaphore(WORKERS)

    async def one(program: EnvProgram) -> int:
        async with gate, staged(program, pool, max_steps=25) as stage:
            return await _paired(stage, program)

    started = time.perf_counter()
    plays = sum(await asyncio.gather(*map(one, chosen)))
    return plays / (time.perf_counter() - started)


class Unsafe:
    """A program given to `exec` in this very process, behind the methods that a `Stage` calls."""

    def __init__(self, program: EnvProgram) -> None:
        self.code = compile(program.source, "<program>", "exec")
        self.name = program.class_name
        self.envs: dict[int, Any] = {}

    async def reset(self, seed: int = 0, session: int = 0, *, fresh: bool = False) -> Any:
        """A new namespace and instance, as a session of the sandbox has."""
        space: dict[str, Any] = {"SyntheticEnv": SyntheticEnv, "ToolEnv": ToolEnv, "__name__": "program"}
        exec(self.code, space)  # noqa: S102 - the unsafe way is what is measured
        self.envs[session] = space[self.name]()
        return self.envs[session].reset(seed)

    async def step(self, action: str, session: int = 0) -> Any:
        """One step."""
        return self.envs[session].step(action)


async def unsafe_plays(chosen: Sequence[EnvProgram]) -> float:
    """Paired plays per second by `exec`, compiling included."""
    started = time.perf_counter()
    plays = 0
    for program in chosen:
        stage = Stage(program, Unsafe(program), family_for(program, 25))  # type: ignore[arg-type]
        plays += await _paired(stage, program)
    return plays / (time.perf_counter() - started)


def thrown_away(count: int) -> float:
    """`unsafe_plays` in a process of its own."""
    root = Path(__file__).resolve().parents[1]
    code = f"from benchmarks.spade import main; main({count})"
    done = subprocess.run([sys.executable, "-c", code], cwd=root, capture_output=True, text=True, check=True)
    return float(json.loads(done.stdout.splitlines()[-1]))


def main(count: int) -> None:
    """What `thrown_away` runs."""
    asyncio.run(unsafe_plays(programs(2)))  # imports and first calls
    print(json.dumps(asyncio.run(unsafe_plays(programs(count)))))


def validated(chosen: Sequence[EnvProgram], pools: Sequence[SandboxPool]) -> float:
    """Programs validated per minute, all twelve stages without an auditor, `WORKERS` at a time."""
    settings = ValidationSettings()

    def one(program: EnvProgram) -> bool:
        return validate(program.source, settings=settings, pools=pools).ok

    started = time.perf_counter()
    with ThreadPoolExecutor(WORKERS) as threads:
        accepted = list(threads.map(one, chosen))
    assert all(accepted)
    return 60 * len(chosen) / (time.perf_counter() - started)


def report(repeats: int = 5, count: int = 16) -> Report:
    """Runs the benchmark.

    Args:
        repeats: Pairs of measurements.
        count: Programs in each.
    """
    chosen = programs(count)
    safe, unsafe, rates = [], [], []
    with SandboxPool() as pool, SandboxPool(hash_seed=1) as other:
        asyncio.run(safe_plays(chosen[:2], pool))
        for _ in range(repeats):
            safe.append(asyncio.run(safe_plays(chosen, pool)))
            unsafe.append(thrown_away(count))
            rates.append(validated(chosen, (pool, other)))
    figures = [
        at_least(0.5, "paired plays per second, sandbox over `exec`", ratios(safe, unsafe), "x"),
        told(
            "paired plays in the sandbox", safe, "/s", f"{SEEDS} seeds in both arms, up to 25 steps, loading included"
        ),
        told("paired plays by `exec` in the process", unsafe, "/s", "the unsafe way, in a throw-away process"),
        told("programs validated", rates, "/min", "twelve stages, no auditor, no cache"),
    ]
    title = f"designed programs: validation and paired plays, {WORKERS} at a time, with a scripted agent"
    return Report("spade", title, figures, {"safe": safe, "unsafe": unsafe, "validated_per_minute": rates})
