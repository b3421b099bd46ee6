"""Permutations of 0 .. size-1 that are computed place by place and never written down.

A Feistel network permutes the smallest even-bit domain that holds `size`; places that fall outside are sent through it
again until they fall inside (cycle walking), at most four times on average.

Sources: Luby & Rackoff (1988), *SIAM J. Comput.* 17, 373-386 (Feistel networks as permutations); Black & Rogaway
(2002), *Ciphers with Arbitrary Finite Domains*, CT-RSA (cycle walking); Steele, Lea & Flood (2014), *Fast Splittable
Pseudorandom Number Generators*, OOPSLA (the mixing function and its constants).
"""

from __future__ import annotations

from metagym.checks import whole
from metagym.seeding import derive

_ROUNDS = 6  # four make the network a strong pseudorandom permutation; two more help very small domains
_MASK = (1 << 64) - 1


class Permutation:
    """A bijection of range(`size`).

    Args:
        size: Number of places, >= 1.
        seed: Which permutation, >= 0.
        names: Further parts of the seed's path, see `metagym.seeding.derive`.

    Raises:
        BadInput: `size` is smaller than 1 or the seed is none.
    """

    def __init__(self, size: int, seed: int, *names: str | int) -> None:
        self.size = whole("the size of a permutation", size, 1)
        self._half = max(1, ((self.size - 1).bit_length() + 1) // 2)
        self._low = (1 << self._half) - 1
        self._keys = tuple(derive(seed, *names, "feistel", number) for number in range(_ROUNDS))

    def __len__(self) -> int:
        """Number of places."""
        return self.size

    def __getitem__(self, place: int) -> int:
        """What stands at a place.

        Raises:
            IndexError: `place` is outside range(size).
        """
        if not 0 <= place < self.size:
            raise IndexError(f"place {place} of a permutation of {self.size}")
        while True:
            place = self._once(place)
            if place < self.size:
                return place

    def _once(self, value: int) -> int:
        left, right = value >> self._half, value & self._low
        for key in self._keys:
            left, right = right, left ^ (_mixed(right + key) & self._low)
        return left << self._half | right


def _mixed(value: int) -> int:
    """SplitMix64's finaliser: every bit of the input reaches every bit of the output."""
    value = (value + 0x9E3779B97F4A7C15) & _MASK
    value = ((value ^ value >> 30) * 0xBF58476D1CE4E5B9) & _MASK
    value = ((value ^ value >> 27) * 0x94D049BB133111EB) & _MASK
    return value ^ value >> 31
