# seed: 48
# actions: ["0-1", "2-3", "test", "0-2", "1-3", "4-4", "test", "1-2", "undo", "1-2", "test", "done"]
# expect_total: -0.2 after 12 steps
"""Design a sorting network by adding comparators; verified with the zero-one principle."""
from __future__ import annotations

import random
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import product
from typing import Generic, Protocol, TypeVar

T = TypeVar("T", bound="Comparable")


class Comparable(Protocol):
    def __lt__(self, other: object) -> bool: ...


@dataclass(frozen=True, order=True)
class Comparator:
    low: int
    high: int

    def __post_init__(self) -> None:
        if not 0 <= self.low < self.high:
            raise ValueError(f"comparator needs low < high, got {self.low}-{self.high}")

    def __str__(self) -> str:
        return f"{self.low}-{self.high}"


@dataclass
class SortingNetwork(Generic[T]):
    width: int
    comparators: list[Comparator] = field(default_factory=list)

    def __len__(self) -> int:
        return len(self.comparators)

    def __iter__(self) -> Iterator[Comparator]:
        return iter(self.comparators)

    def __call__(self, values: Iterable[T]) -> list[T]:
        out = list(values)
        for c in self:
            if out[c.high] < out[c.low]:
                out[c.low], out[c.high] = out[c.high], out[c.low]
        return out

    @property
    def depth(self) -> int:
        level = [0] * self.width
        for c in self.comparators:
            level[c.low] = level[c.high] = max(level[c.low], level[c.high]) + 1
        return max(level, default=0)

    def sorted_fraction(self) -> float:
        inputs = list(product((0, 1), repeat=self.width))
        good = sum(self(bits) == sorted(bits) for bits in inputs)
        return good / len(inputs)


class SortingNetworkEnv:
    OPTIMAL_SIZE = {3: 3, 4: 5, 5: 9}

    def __init__(self, widths: tuple[int, ...] = (4, 5)) -> None:
        self.widths = widths

    def reset(self, seed: int | None = None) -> str:
        self._random = random.Random(seed)
        self.network: SortingNetwork[int] = SortingNetwork(self._random.choice(self.widths))
        self.max_size = 2 * self.OPTIMAL_SIZE[self.network.width]
        self.turn = 0
        return self._diagram("Add comparators as 'i-j'. Other commands: undo, test, done.")

    def _diagram(self, note: str) -> str:
        rows = [[f"{i} "] for i in range(self.network.width)]
        for comparator in self.network:
            for i, row in enumerate(rows):
                if i in (comparator.low, comparator.high):
                    row.append("-o-")
                elif comparator.low < i < comparator.high:
                    row.append("-|-")
                else:
                    row.append("---")
        return "\n".join([note, *("".join(row) for row in rows), f"size {len(self.network)}, depth {self.network.depth}"])

    def step(self, action: str) -> tuple[str, float, bool, dict[str, float]]:
        self.turn += 1
        net = self.network
        before = net.sorted_fraction()
        note, reward, done = "", -0.01, self.turn >= 30
        match action.strip().lower():
            case "test":
                sample = self._random.sample(range(10, 100), net.width)
                note = f"{sample} -> {net(sample)}"
            case "undo":
                note = f"Removed {net.comparators.pop()}." if net.comparators else "Nothing to undo."
            case "done":
                complete = before == 1.0
                reward = self.OPTIMAL_SIZE[net.width] / len(net) if complete else before - 1.0
                note, done = ("A sorting network!" if complete else "It does not sort everything."), True
            case text:
                try:
                    low, high = map(int, text.split("-"))
                    comparator = Comparator(low, high)
                    if high >= net.width or len(net) >= self.max_size:
                        raise ValueError("out of bounds")
                except ValueError as e:
                    return self._diagram(f"Rejected: {e}"), -0.1, done, {"sorted": before}
                net.comparators.append(comparator)
                reward += net.sorted_fraction() - before
                note = f"Added {comparator}."
        return self._diagram(note), reward, done, {"sorted": net.sorted_fraction()}
