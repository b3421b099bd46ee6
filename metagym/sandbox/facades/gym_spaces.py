"""``gymnasium.spaces`` for programs: the real classes, whose chance hangs on the session.

A space without a seed takes one from the session, and its generator gives out no addresses; with a seed it samples
what the real space samples. Where numpy is not offered, `plain_tables` has spaces of plain data.
"""

from __future__ import annotations

import random
import string
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import gymnasium

from metagym.sandbox.facades.facade import Table
from metagym.sandbox.facades.forms import Form
from metagym.sandbox.facades.session import Session

_NAMES = "Box Discrete MultiBinary MultiDiscrete Text Dict Tuple Sequence OneOf"
_SEEDED = "the real space; its generator hangs on the session and gives out no addresses"


def _mixin(session: Session) -> type:
    from metagym.sandbox.facades.array_chance import Generator

    class Seeded:
        """What all spaces of a session share."""

        def seed(self, seed: Any = None) -> Any:
            """Seeds the space and those within; without a value, from the session."""
            return super().seed(session.entropy() if seed is None else seed)  # type: ignore[misc]

        @property
        def np_random(self) -> Any:
            """The generator of the space."""
            real = super().np_random  # type: ignore[misc]
            if not isinstance(real, Generator):
                real = self._np_random = Generator(real.bit_generator)
            return real

    return Seeded


def _space(name: str) -> Callable[[Session], Any]:
    def make(session: Session) -> Any:
        bases = (session.once(_mixin), getattr(gymnasium.spaces, name))
        return type(name, bases, {"__module__": "gymnasium.spaces"})

    return make


def _base(session: Session) -> Form:
    real = gymnasium.spaces.Space
    return Form("Space", real, base=type("Space", (session.once(_mixin), real), {}))


def flatdim(space: Any) -> int:
    """``gymnasium.spaces.flatdim``: how many numbers a value of the space has as one array."""
    return gymnasium.spaces.flatdim(space)


def flatten(space: Any, x: Any) -> Any:
    """``gymnasium.spaces.flatten``: a value of the space as one array."""
    return gymnasium.spaces.flatten(space, x)


def unflatten(space: Any, x: Any) -> Any:
    """``gymnasium.spaces.unflatten``: the value of the space that an array stands for."""
    return gymnasium.spaces.unflatten(space, x)


def real_spaces() -> Table:
    """The table of ``gymnasium.spaces`` where numpy is offered."""
    return (
        Table("gymnasium.spaces", numpy=True)
        .lazy(_SEEDED, **{name: _space(name) for name in _NAMES.split()}, Space=_base)
        .ours("from a space and a value to an array, or back", flatdim=flatdim, flatten=flatten, unflatten=unflatten)
        .refuse("use Dict, Tuple or Text", "Graph GraphInstance")
        .refuse("flatten the values: spaces.flatten(space, value)", "flatten_space")
    )


# --- without numpy


class PlainSpace:
    """A space of plain data: it keeps its settings, samples and tells what it contains."""

    dtype: Any = None
    shape: Any = None

    def __init__(self, *args: Any, seed: Any = None, **settings: Any) -> None:
        self.settings: dict[Any, Any] = dict(enumerate(args)) | settings
        self.chance = random.Random(0 if seed is None else seed)

    def seed(self, seed: Any = None) -> Any:
        """Seeds what it samples."""
        self.chance.seed(0 if seed is None else seed)
        return seed

    def sample(self) -> Any:
        """One value."""
        raise NotImplementedError(f"{type(self).__name__} does not sample where numpy is not offered; use random")

    def contains(self, x: Any) -> bool:
        """Whether a value is in the space."""
        return True

    def __contains__(self, x: Any) -> bool:
        """Whether a value is in the space."""
        return self.contains(x)

    def __repr__(self) -> str:
        """The class and its settings."""
        return f"{type(self).__name__}({', '.join(map(str, self.settings.values()))})"


class Discrete(PlainSpace):
    """The integers from `start` on, `n` of them."""

    def __init__(self, n: int, seed: Any = None, start: int = 0, **_: Any) -> None:
        super().__init__(n, seed=seed)
        self.n, self.start, self.shape = int(n), int(start), ()

    def sample(self, *_: Any, **__: Any) -> int:
        """One of them."""
        return self.start + self.chance.randrange(self.n)

    def contains(self, x: Any) -> bool:
        """Whether it is one of them."""
        return isinstance(x, int) and self.start <= x < self.start + self.n


class Box(PlainSpace):
    """Numbers between bounds, as nested lists."""

    def __init__(self, low: Any, high: Any, shape: Any = None, dtype: Any = float, seed: Any = None) -> None:
        super().__init__(low, high, seed=seed)
        self.low, self.high, self.dtype = low, high, dtype
        self.shape = (1,) if shape is None else tuple(shape)


class MultiBinary(PlainSpace):
    """Lists of `n` bits."""

    def __init__(self, n: int, seed: Any = None) -> None:
        super().__init__(n, seed=seed)
        self.n, self.shape = n, (n,)

    def sample(self, *_: Any, **__: Any) -> list[int]:
        """One list."""
        return [self.chance.randrange(2) for _ in range(self.n)]

    def contains(self, x: Any) -> bool:
        """Whether it is such a list."""
        return isinstance(x, (list, tuple)) and len(x) == self.n and all(bit in (0, 1) for bit in x)


class MultiDiscrete(PlainSpace):
    """Lists of integers, each below its bound."""

    def __init__(self, nvec: Any, dtype: Any = int, seed: Any = None, start: Any = None) -> None:
        super().__init__(nvec, seed=seed)
        self.nvec, self.shape = list(nvec), (len(nvec),)

    def sample(self, *_: Any, **__: Any) -> list[int]:
        """One list."""
        return [self.chance.randrange(bound) for bound in self.nvec]

    def contains(self, x: Any) -> bool:
        """Whether it is such a list."""
        return len(x) == len(self.nvec) and all(0 <= part < bound for part, bound in zip(x, self.nvec, strict=True))


class Text(PlainSpace):
    """Texts of bounded length over an alphabet."""

    def __init__(
        self,
        max_length: int,
        *,
        min_length: int = 1,
        charset: Any = string.ascii_letters + string.digits,
        seed: Any = None,
    ) -> None:
        super().__init__(max_length, seed=seed)
        self.min_length, self.max_length, self.dtype = min_length, max_length, str
        self.characters = "".join(sorted(charset))

    def sample(self, *_: Any, **__: Any) -> str:
        """One text."""
        length = self.chance.randint(self.min_length, self.max_length)
        return "".join(self.chance.choice(self.characters) for _ in range(length))

    def contains(self, x: Any) -> bool:
        """Whether it is such a text."""
        return (
            isinstance(x, str)
            and self.min_length <= len(x) <= self.max_length
            and all(char in self.characters for char in x)
        )


class Tuple(PlainSpace):
    """Tuples of values of other spaces."""

    def __init__(self, spaces: Iterable[Any], seed: Any = None) -> None:
        super().__init__(seed=seed)
        self.spaces = tuple(spaces)

    def sample(self, *_: Any, **__: Any) -> tuple[Any, ...]:
        """One tuple."""
        return tuple(space.sample() for space in self.spaces)

    def contains(self, x: Any) -> bool:
        """Whether it is such a tuple."""
        parts = tuple(x)
        return len(parts) == len(self.spaces) and all(
            part in space for part, space in zip(parts, self.spaces, strict=True)
        )


class Dict(PlainSpace):
    """Dicts of values of other spaces."""

    def __init__(self, spaces: Any = None, seed: Any = None, **named: Any) -> None:
        super().__init__(seed=seed)
        self.spaces = {**dict(spaces or {}), **named}

    def __getitem__(self, key: Any) -> Any:
        """The space of a key."""
        return self.spaces[key]

    def sample(self, *_: Any, **__: Any) -> dict[Any, Any]:
        """One dict."""
        return {key: space.sample() for key, space in self.spaces.items()}

    def contains(self, x: Any) -> bool:
        """Whether it is such a dict."""
        return isinstance(x, Mapping) and set(x) == set(self.spaces) and all(x[key] in self.spaces[key] for key in x)


def plain_spaces() -> Table:
    """The table of ``gymnasium.spaces`` where numpy is not offered."""
    return Table("gymnasium.spaces", real="").ours(
        "plain data only",
        Space=PlainSpace,
        Discrete=Discrete,
        Box=Box,
        MultiBinary=MultiBinary,
        MultiDiscrete=MultiDiscrete,
        Text=Text,
        Tuple=Tuple,
        Dict=Dict,
        Sequence=PlainSpace,
        OneOf=PlainSpace,
    )
