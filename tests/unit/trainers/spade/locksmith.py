"""A scripted policy for the cipher locks: it writes lines and answers of known quality, and tells log-probabilities."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from functools import cache
from random import Random
from typing import Any

from metagym.errors import ServerUnavailable
from metagym.spade.validation import MemoryCache
from metagym_trainers.policies import Sample
from metagym_trainers.spade import SpadeCore, SpadeTraining
from metagym_trainers.tiny import locks, twins
from metagym_trainers.tiny.models import word_tokenizer

VERDICTS = MemoryCache()
"""Shared by all tests: a lock is judged once."""


@cache
def tokenizer() -> Any:
    return word_tokenizer(locks.WORDS, drop_unknown=True)


class Locksmith:
    """Answers by words.

    Args:
        write: From the family and the number of the design to a line of the designer.
        skill: Chance that the answer to a lock is right without a hint; with one it is right whenever it may be.
        fails: From the number of a request to whether the server is down.
    """

    temperature = 1.0

    def __init__(
        self,
        write: Callable[[str, int], str],
        skill: float = 0.5,
        fails: Callable[[int], bool] = lambda number: False,
        wait: float = 0.0,
    ) -> None:
        self.write, self.skill, self.fails, self.wait = write, skill, fails, wait
        self.asked: list[tuple[int, ...]] = []
        self.designs = 0

    async def sample(self, prompt_ids: Sequence[int], *, max_tokens: int, seed: int) -> Sample:
        self.asked.append(tuple(prompt_ids))
        number = len(self.asked)
        await asyncio.sleep(self.wait)
        if self.fails(number):
            raise ServerUnavailable("down")
        words = tokenizer().decode(list(prompt_ids)).split()
        text = self.design(words) if "design" in words else self.play(words, seed)
        ids = (*tokenizer()(text, add_special_tokens=False)["input_ids"], tokenizer().eos_token_id)[:max_tokens]
        return Sample(ids, tuple(-0.25 * (at + 1) for at in range(len(ids))), ids[-1] != tokenizer().eos_token_id)

    def design(self, words: list[str]) -> str:
        self.designs += 1
        return self.write(next(word for word in words if word in locks.FAMILIES), self.designs - 1)

    def play(self, words: list[str], seed: int) -> str:
        row = words[: words.index("HINT")] if "HINT" in words else words  # the hint shows the row a second time
        signs = [word for word in row if word in locks.SIGNS]
        family = next(word for word in words if word in locks.FAMILIES)
        keys = [table[sign] for table, sign in zip(locks.cipher(family), signs, strict=False)]
        right = "HINT" in words or Random(seed).random() < self.skill
        return " ".join(keys if right else ["iron"] * (len(keys) + 1))


def pins(count: int) -> Callable[[str, int], str]:
    """A designer that always asks for as many pins."""
    return lambda family, number: locks.line_of(count)


def mixed(family: str, number: int) -> str:
    """A designer whose lines are broken, easy, hard and impossible in turn."""
    count = number % 4
    return "lock ruby" if count == 0 else locks.line_of((1, 3, 7)[count - 1])


def training(pay: str = "regret", **fields: Any) -> SpadeTraining:
    """Small settings of the world."""
    return SpadeTraining(locks.lock_config(pay), **{"generations": 8, "slots": 3, "hinted_slots": 1, **fields})


def core(settings: SpadeTraining | None = None, **options: Any) -> SpadeCore:
    """A core that plays twins."""
    given = {"compiler": locks.compile_lock, "stage": twins.twin_stage, "cache": VERDICTS, **options}
    return SpadeCore(settings or training(), tokenizer(), **given)


def bound(policy: Any, settings: SpadeTraining | None = None, **options: Any) -> SpadeCore:
    """The core with a policy on its seats."""
    made = core(settings, **options)
    made.bind(policy)
    return made
