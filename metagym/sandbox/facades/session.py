"""What belongs to one session of a program: its seed, its generators and what was made for it."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from typing import Any

from metagym import seeding
from metagym.sandbox.facades.facade import Facade


class Session:
    """The random state of one session and its facades.

    Everything random in a program hangs on the seed: the generator behind the module ``random``, that behind
    ``numpy.random``, and the seed of each generator that a program makes without giving one.

    Attributes:
        modules: What the program may import, by name.
        random: The generator behind the module ``random``.
        print_to: Takes the text that ``pprint.pprint`` and the like print.
    """

    __slots__ = ("__cells", "__count", "__seed", "modules", "print_to", "random")

    def __init__(self, seed: int, print_to: Callable[[str], None] | None = None) -> None:
        self.modules: Mapping[str, Facade] = {}
        self.print_to = print_to
        self.random = random.Random(seeding.derive(seed, "program"))
        self.__cells: dict[Any, Any] = {}
        self.__seed, self.__count = seed, 0

    def reseed(self, seed: int) -> None:
        """Starts all generators of the session anew, so that what they draw depends on `seed` alone.

        Args:
            seed: Any non-negative integer. Generators that the program made for itself are not touched.
        """
        self.__seed, self.__count = seed, 0
        self.random.seed(seeding.derive(seed, "program"))
        for cell in self.__cells.values():
            restart = getattr(cell, "__restart__", None)
            if restart is not None:
                restart()

    def derived(self, name: str) -> int:
        """The seed, in [0, 2**63), of the session's one generator of that name."""
        return seeding.derive(self.__seed, "program", name)

    def entropy(self) -> int:
        """A fresh seed in [0, 2**63) for a generator that was made without one; in the order of the calls."""
        self.__count += 1
        return seeding.derive(self.__seed, "entropy", self.__count)

    def once(self, make: Callable[[Session], Any]) -> Any:
        """What ``make(session)`` gave in this session the first time."""
        try:
            return self.__cells[make]
        except KeyError:
            return self.__cells.setdefault(make, make(self))
