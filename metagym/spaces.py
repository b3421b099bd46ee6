"""FreeText: the Gymnasium space of any unicode text.

`gymnasium.spaces.Text` cannot hold model-written text: its default charset excludes the blank, and one wide enough
for quotes, dashes and emoji takes seconds to build and a million characters to print.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from gymnasium.spaces import Space

_PHRASES = ("", "look", "go north", "Search every place once; open what is closed.", "Écris « {oui} » — 鍵 🗝️ %s")


class FreeText(Space[str]):
    """Any `str` of at most `max_length` characters.

    Samples come from a short phrase list: `check_env` feeds samples to a model, where a million random characters
    would help nobody. The space is not flattenable. With `gymnasium.vector.AsyncVectorEnv` use
    ``shared_memory=False``.

    Args:
        max_length: Upper bound on ``len(text)``, in characters.
        seed: Seed of the sampler.
    """

    def __init__(self, max_length: int = 10_000_000, seed: int | np.random.Generator | None = None) -> None:
        self.max_length = int(max_length)
        super().__init__(shape=None, dtype=None, seed=seed)

    @property
    def is_np_flattenable(self) -> bool:
        """Text has no numpy form."""
        return False

    def sample(self, mask: Any | None = None, probability: Any | None = None) -> str:
        """One of a few phrases that fit; masks are ignored."""
        fitting = [phrase for phrase in _PHRASES if len(phrase) <= self.max_length]
        return fitting[int(self.np_random.integers(len(fitting)))]

    def contains(self, x: Any) -> bool:
        """Whether `x` is text within the bound."""
        return isinstance(x, str) and len(x) <= self.max_length

    def to_jsonable(self, sample_n: Iterable[str]) -> list[str]:
        """Text is JSON already."""
        return list(sample_n)

    def from_jsonable(self, sample_n: list[Any]) -> list[str]:
        """The inverse of `to_jsonable`."""
        return [str(sample) for sample in sample_n]

    def __repr__(self) -> str:
        """Constructor form."""
        return f"FreeText({self.max_length})"

    def __eq__(self, other: Any) -> bool:
        """Equal bounds make equal spaces."""
        return isinstance(other, FreeText) and other.max_length == self.max_length

    def __hash__(self) -> int:
        """Consistent with equality."""
        return hash(("FreeText", self.max_length))
