"""The ladder: held-out locks of 1 to `MOVES` pins, and the share of them that answers open."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass
from typing import Any

from metagym.sandbox import SandboxPool, load
from metagym.seeding import derive
from metagym.spade.hints import inject
from metagym.spade.program import EnvProgram
from metagym_trainers.tiny.locks import FAMILIES, MOVES, lock_source, play_prompt


@dataclass(frozen=True)
class Rung:
    """One lock of the ladder.

    Attributes:
        family: Of the lock.
        pins: Of the lock.
        seed: Of the episode.
        prompt: The agent's conversation.
    """

    family: str
    pins: int
    seed: int
    prompt: list[dict[str, str]]


def rungs(count: int = 32, *, hinted: bool = False, seed: int = 99, pool: SandboxPool | None = None) -> list[Rung]:
    """Locks of 1 to `MOVES` pins whose rows of signs never occur in training (those of one pin do: there are four).

    Args:
        count: Locks per family and number of pins.
        hinted: Show the hints.
        seed: Decides the rows.
        pool: The sandbox; None for the shared one.
    """
    made: list[Rung] = []
    for family in FAMILIES:
        for pins in range(1, MOVES + 1):
            with closing(load(lock_source(family, pins, kept=True), pool=pool)) as lock:
                for number in range(count):
                    own = derive(seed, "rung", family, pins, number) >> 32
                    observation, _ = lock.reset(own)
                    hint = str(lock.ask("hint")) if hinted else None
                    made.append(Rung(family, pins, own, play_prompt(family, pins, inject(str(observation), hint))))
    return made


def climb(ladder: Sequence[Rung], answers: Sequence[str], pool: SandboxPool | None = None) -> list[float]:
    """The share of locks that the answers open, for 1 to `MOVES` pins.

    Args:
        ladder: Of `rungs`.
        answers: One for each.
        pool: The sandbox; None for the shared one.
    """
    won: dict[int, list[bool]] = {pins: [] for pins in range(1, MOVES + 1)}
    by_lock: dict[tuple[str, int], list[tuple[Rung, str]]] = {}
    for rung, answer in zip(ladder, answers, strict=True):
        by_lock.setdefault((rung.family, rung.pins), []).append((rung, answer))
    for (family, pins), tried in by_lock.items():
        program = EnvProgram.parse(lock_source(family, pins, kept=True))
        with closing(load(program.source, pool=pool)) as lock:
            for rung, answer in tried:
                lock.reset(rung.seed)
                found: Any = lock.step(answer)
                won[pins].append(program.solved(found[1], found[2]))
    return [sum(wins) / len(wins) for wins in won.values() if wins]
