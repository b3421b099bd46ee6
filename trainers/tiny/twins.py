"""Locks that were judged in the sandbox, played in this process: equal episodes at a tenth of the cost."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from random import Random
from typing import Any

from metagym.sandbox import SandboxPool
from metagym.spade.hosts import Stage, staged
from metagym.spade.program import EnvProgram
from metagym.spade.seats import family_for
from metagym_trainers.tiny.locks import COLOURS, KEYS, PINS, SIGNS, cipher, pins_in


class _Twin:
    """A lock in this process: what `metagym.sandbox.AsyncProgram` is to a program, at a tenth of the cost."""

    def __init__(self, family: str, pins: int) -> None:
        self._family, self._cipher = family, cipher(family)[:pins]
        self._keys: dict[int, list[str]] = {}
        self._hints: dict[int, list[str]] = {}
        self._over: set[int] = set()

    async def reset(self, seed: int, session: int = 0, fresh: bool = False) -> tuple[str, dict[str, Any]]:
        draw = Random(seed)
        signs = [draw.choice(SIGNS) for _ in self._cipher]
        while len(signs) > 1 and _is_kept(signs):
            signs = [draw.choice(SIGNS) for _ in self._cipher]
        self._keys[session] = [table[sign] for table, sign in zip(self._cipher, signs, strict=True)]
        colour = dict(zip(KEYS, COLOURS, strict=True))
        told = [draw.random() < 0.5 for _ in signs]
        self._hints[session] = [
            colour[key] if tell else sign for sign, key, tell in zip(signs, self._keys[session], told, strict=True)
        ]
        self._over.discard(session)
        return " ".join([self._family, *signs, *["blank"] * (PINS - len(signs))]), {}

    async def step(self, action: str, session: int = 0) -> tuple[str, float, bool, bool, dict[str, Any]]:
        if session in self._over:
            return "The lock is at rest.", 0.0, True, False, {}
        self._over.add(session)
        tried, keys = action.split(), self._keys[session]
        right = sum(one == key for one, key in zip(tried, keys, strict=False))
        if right == len(tried) == len(keys):
            return "It opens.", 1.0, True, False, {}
        return "It stays shut.", 0.5 * right / max(len(tried), len(keys)), True, False, {}

    async def ask(self, method: str, *args: Any, session: int = 0) -> Any:
        keys = self._keys[session]
        if method == "solution":
            return [" ".join(keys)]
        return " ".join([*self._hints[session], *["blank"] * (PINS - len(keys))])


def _is_kept(signs: Sequence[str]) -> bool:
    mixed = 0
    for sign in signs:
        mixed = (mixed * 31 + SIGNS.index(sign) + 1) % 9973
    return mixed % 5 == 0


@asynccontextmanager
async def twin_stage(
    program: EnvProgram, pool: SandboxPool | None = None, *, max_steps: int | None = None
) -> AsyncIterator[Stage]:
    """Stages a lock in this process instead of the sandbox: `metagym.spade.hosts.staged` for this world alone.

    The program was judged in the sandbox before; that its episodes and those of its twin are equal is tested. Programs
    of any other text are staged in the sandbox.

    Args:
        program: The program.
        pool: See `metagym.spade.hosts.staged`.
        max_steps: The agent's own cap on steps.
    """
    pins = pins_in(program.source)
    if pins is None:
        async with staged(program, pool, max_steps=max_steps) as stage:
            yield stage
        return
    twin: Any = _Twin(program.skill, pins)
    yield Stage(program, twin, family_for(program, max_steps))
