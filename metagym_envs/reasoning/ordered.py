"""Data sets that draw from sets of texts, whose order hangs on the process's hash seed, made to draw in one order.

Without it the same seed poses other questions in every process: to each model its own, and others again after a resume.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Any


class Letters(tuple[str, ...]):
    """Letters in order, which can be subtracted from as a set can."""

    __slots__ = ()

    def __sub__(self, others: Collection[str]) -> Letters:
        """The letters without others, in order."""
        return Letters(letter for letter in self if letter not in others)


def ordered(name: str, dataset: Any) -> Any:
    """The data set itself, changed where it would draw from an unordered set.

    Args:
        name: Reasoning Gym's name of it.
        dataset: As the library made it.
    """
    if name in ("isomorphic_strings", "ransom_note"):
        dataset.letters = Letters(sorted(dataset.letters))
    elif name == "polynomial_multiplication":
        drawn = dataset._get_monomials

        def monomials(rng: Any) -> list[Any]:
            found: Iterable[Any] = drawn(rng)  # the list of a set
            return sorted(found, key=str)

        dataset._get_monomials = monomials
    return dataset
