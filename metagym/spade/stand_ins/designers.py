"""Scripted designers. They are stand-ins: they show that the loop works, not what a model can write.

A designer is asked with a `Brief`; beside what a model's prompt holds it names the slot. What was paid for its programs
comes back to it after each round (`learn`), as a gradient would come to a model.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

from metagym.checks import number, whole
from metagym.errors import BadInput
from metagym.seeding import rng
from metagym.spade.program import digest_of
from metagym.spade.records import EnvView
from metagym.spade.stand_ins.programs import RULES, adversaries, noisy_door, number_lock

_LOCK = re.compile(r"^title: Number lock (\d+)(?: \(([^)]*)\))?$", re.MULTILINE)


@dataclass(frozen=True)
class Brief:
    """What a designer is asked for.

    Attributes:
        round: The round, >= 0.
        slot: Place in the round.
        index: Place among all designs of the run.
        attempt: 0 for the first try, then 1, 2, ... after refusals.
        skill: What the program is to train.
        seed: Decides the designer's draws.
        positives: Programs of the memory to learn from.
        negatives: Programs of the memory to avoid.
        refusal: Why the last attempt was refused; "" at the first.
    """

    round: int
    slot: int
    index: int
    attempt: int
    skill: str
    seed: int
    positives: tuple[EnvView, ...] = ()
    negatives: tuple[EnvView, ...] = ()
    refusal: str = ""


@runtime_checkable
class ScriptedDesigner(Protocol):
    """A designer that is a script.

    Attributes:
        id: Its name and settings.
        backend: Always ``scripted``.
    """

    @property
    def id(self) -> str:
        """Name and settings."""
        ...

    def design(self, brief: Brief) -> str:
        """The reply of a designer: text with a program in it."""
        ...


def fenced(source: str) -> str:
    """A program as a reply holds it."""
    return f"```python\n{source}```\n"


class _Scripted:
    backend = "scripted"

    def __init__(self, told: str = "") -> None:
        self.id = f"scripted:{type(self).__name__.lower()}" + (f"?{told}" if told else "")


class FixedList(_Scripted):
    """Writes the programs of a list one after the other, over and over.

    Args:
        sources: The programs; by default locks of 2 to 5 pins and a noisy door.
    """

    def __init__(self, sources: Sequence[str] | None = None) -> None:
        self.sources = list(sources or [*(number_lock(pins) for pins in (2, 3, 4, 5)), noisy_door(0.5)])
        super().__init__(digest_of("\0".join(self.sources))[:12])

    def design(self, brief: Brief) -> str:
        """The program of the slot's place in the list."""
        return fenced(self.sources[(brief.index + brief.attempt) % len(self.sources)])


class Bandit(_Scripted):
    """A bandit over `number_lock(k)` and noisy doors: the smallest designer that learns from what it is paid.

    The value of an arm is a moving average of its rewards. The slots of a round write the lock of the best value, the
    one with a pin more and the one with a pin less, in turn, or (with chance `noise`) a noisy door. Of equal values it
    keeps to the lock that it has.

    Args:
        least: Smallest number of pins, >= 2.
        most: Largest.
        start: Where it begins.
        rate: Weight of a new reward, in (0, 1].
        memory: What is left of the value of an arm after a round in which it was not played, in [0, 1].
        noise: Chance of a noisy door, in [0, 1].
    """

    def __init__(
        self,
        least: int = 2,
        most: int = 12,
        start: int = 2,
        rate: float = 0.5,
        memory: float = 0.8,
        noise: float = 0.0,
    ) -> None:
        self.least, self.most = whole("least", least, 2), whole("most", most, 2)
        self.best = whole("start", start, self.least)
        self.rate, self.memory = number("rate", rate, 0, 1, above=True), number("memory", memory, 0, 1)
        self.noise = number("noise", noise, 0, 1)
        if not self.best <= self.most:
            raise BadInput(f"start lies between least and most, got {start} of {least} to {most}")
        self.values: dict[int, float] = {}
        super().__init__(f"least={least},most={most},start={start},rate={rate:g},memory={memory:g},noise={noise:g}")

    def design(self, brief: Brief) -> str:
        """A lock near the best one so far."""
        draws = rng(brief.seed, "bandit")
        if draws.random() < self.noise:
            return fenced(noisy_door(draws.choice((0.25, 0.5, 0.75)), brief.skill))
        pins = self.best + (0, 1, -1)[brief.slot % 3]
        return fenced(number_lock(min(self.most, max(self.least, pins)), skill=brief.skill))

    def learn(self, lessons: Sequence[tuple[str, float]]) -> None:
        """Takes in what the programs of a round were paid.

        Args:
            lessons: Sources and rewards, in the order of the slots; masked ones are left out by the caller.
        """
        paid: dict[int, list[float]] = {}
        for source, reward in lessons:
            if lock := _LOCK.search(source):
                paid.setdefault(int(lock[1]), []).append(reward)
        for pins in self.values.keys() - paid.keys():
            self.values[pins] *= self.memory  # what was worth much to a weaker agent is not for ever
        for pins, rewards in paid.items():
            mean = sum(rewards) / len(rewards)
            old = self.values.get(pins, mean)
            self.values[pins] = old + self.rate * (mean - old)
        near = [pins for pins in self.values if abs(pins - self.best) <= 1]
        if near:
            self.best = max(near, key=lambda pins: (self.values[pins], pins == self.best, -pins))


class Mutator(_Scripted):
    """Edits a program of the memory: two rules are added or taken away, and every second time a pin as well.

    Args:
        start: Pins of the programs that it begins with.
        most: It never writes more pins.
    """

    def __init__(self, start: int = 3, most: int = 12) -> None:
        self.start, self.most = whole("start", start, 2), whole("most", most, 2)
        super().__init__(f"start={start},most={most}")

    def design(self, brief: Brief) -> str:
        """A child of a good example; where the memory shows none, a program with some rules of its own choice."""
        draws, names = rng(brief.seed, "mutator"), sorted(RULES)
        parents = [view for view in brief.positives if _LOCK.search(view.record.source)]
        if not parents:
            rules = draws.sample(names, draws.choice((0, 1, 2, 3, 4)))
            return fenced(number_lock(self.start, rules, brief.skill))
        parent = draws.choice(parents)
        lock = _LOCK.search(parent.record.source)
        assert lock is not None
        pins, kept = int(lock[1]), set(filter(None, (lock[2] or "").split(", ")))
        kept ^= set(draws.sample(names, 2))
        if draws.random() < 0.5:
            pins = min(self.most, max(2, pins + draws.choice((-1, 1, 1, 1))))
        return fenced(number_lock(pins, kept, brief.skill, (parent.digest,)))


class Adversary(_Scripted):
    """Writes one bad program after the other: see `metagym.spade.stand_ins.programs.adversaries`.

    Args:
        only: Names of those that it writes, separated by commas; all of them by default.
    """

    def __init__(self, only: str = "") -> None:
        known = adversaries()
        names = [name.strip() for name in only.split(",") if name.strip()] or list(known)
        for name in names:
            if name not in known:
                raise BadInput(f"there is no adversary {name!r:.40}; there are {', '.join(known)}")
        self.replies = [known[name] if name in ("prose", "no class") else fenced(known[name]) for name in names]
        super().__init__(",".join(names))

    def design(self, brief: Brief) -> str:
        """The reply of the slot's place in the list."""
        return self.replies[(brief.index + brief.attempt) % len(self.replies)]


DESIGNERS: dict[str, Callable[..., Any]] = {
    "fixed": FixedList,
    "bandit": Bandit,
    "mutator": Mutator,
    "adversary": Adversary,
}
"""Scripted designers by name; ``scripted:bandit?most=9`` in a setting."""
