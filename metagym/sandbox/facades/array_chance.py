"""``numpy.random`` on the seed of the session: the real generators, without their ways to memory.

The real bit generators give out addresses (``ctypes``, ``cffi``, ``capsule``) and take states whose positions lie
outside of their tables. Programs hold `BitStream` instead, which knows its state and nothing else.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import numpy as np

from metagym.sandbox.facades.facade import Table
from metagym.sandbox.facades.session import Session

_REAL = np.random.Generator.bit_generator.__get__
_LARGEST_POSITION = {"MT19937": 624, "Philox": 4}
"""Words in the table of a generator; a larger position would read outside."""


def _check_state(state: Any) -> Any:
    if type(state) is not dict:
        raise TypeError("the state of a bit generator is a dict")
    inner = state.get("state")
    for name, largest in _LARGEST_POSITION.items():
        if state.get("bit_generator") == name:
            position = inner.get("pos") if type(inner) is dict and name == "MT19937" else state.get("buffer_pos")
            if type(position) is not int or not 0 <= position <= largest:
                raise ValueError(f"the position of {name} must be an integer from 0 to {largest}")
    return state


class BitStream:
    """A bit generator of numpy: its state can be read and set, and a `Generator` can be made of it."""

    __slots__ = ("__real",)

    def __init__(self, real: Any) -> None:
        self.__real = real

    @property
    def state(self) -> dict[str, Any]:
        """The state, a copy."""
        return copy.deepcopy(self.__real.state)

    @state.setter
    def state(self, value: dict[str, Any]) -> None:
        self.__real.state = _check_state(value)

    @staticmethod
    def _behind(stream: Any) -> Any:
        """The bit generator of numpy behind it, for our own code."""
        if isinstance(stream, BitStream):
            return stream.__real
        if isinstance(stream, np.random.BitGenerator):
            return stream
        raise TypeError(
            "Generator(...) takes PCG64(seed) or another bit generator; numpy.random.default_rng(seed) is shorter"
        )


class Generator(np.random.Generator):
    """``numpy.random.Generator`` that gives out no addresses."""

    def __init__(self, bit_generator: Any) -> None:
        super().__init__(BitStream._behind(bit_generator))

    @property
    def bit_generator(self) -> BitStream:  # type: ignore[override]
        """Its stream of bits, for its state."""
        return BitStream(_REAL(self))

    def __deepcopy__(self, memo: Any) -> Generator:
        """A generator that goes on in the same way."""
        return Generator(copy.deepcopy(_REAL(self)))

    def __copy__(self) -> Generator:
        """A generator on the same stream."""
        return Generator(_REAL(self))

    def __reduce__(self) -> Any:
        """Copies keep the class."""
        return Generator, (copy.deepcopy(_REAL(self)),)


def generator(seed: Any) -> Generator:
    """The generator that ``numpy.random.default_rng(seed)`` gives."""
    return Generator(np.random.PCG64(seed))


def default_rng(session: Session) -> Callable[..., Generator]:
    """``numpy.random.default_rng``; without a seed it takes one from the session."""

    def default_rng(seed: Any = None) -> Generator:
        if isinstance(seed, Generator):
            return seed
        if isinstance(seed, BitStream):
            return Generator(seed)
        return generator(session.entropy() if seed is None else seed)

    return default_rng


def _stream(kind: Any) -> Callable[[Session], Any]:
    def make(session: Session) -> Any:
        def stream(seed: Any = None) -> BitStream:
            return BitStream(kind(session.entropy() if seed is None else seed))

        return stream

    return make


def _seed_sequence(session: Session) -> Any:
    def seed_sequence(entropy: Any = None, **settings: Any) -> np.random.SeedSequence:
        return np.random.SeedSequence(session.entropy() if entropy is None else entropy, **settings)

    return seed_sequence


def _random_state(session: Session) -> Any:
    class RandomState(np.random.RandomState):
        """``numpy.random.RandomState``; without a seed it takes one from the session."""

        def __init__(self, seed: Any = None) -> None:
            if isinstance(seed, BitStream):
                seed = BitStream._behind(seed)
            super().__init__(session.entropy() & 0xFFFFFFFF if seed is None else seed)

        def seed(self, seed: Any = None) -> None:
            super().seed(session.entropy() & 0xFFFFFFFF if seed is None else seed)

        def set_state(self, state: Any) -> None:
            if isinstance(state, dict):
                super().set_state(_check_state(state))
            else:
                name, key, position, *rest = state
                if type(position) is not int or not 0 <= position <= _LARGEST_POSITION["MT19937"]:
                    raise ValueError("the position of MT19937 must be an integer from 0 to 624")
                super().set_state((name, key, position, *rest))

    RandomState.__module__ = "numpy.random"
    return RandomState


def _legacy(session: Session) -> Any:
    """The generator behind the functions of the module."""

    class Shared(session.once(_random_state)):  # type: ignore[misc]
        def __restart__(self) -> None:
            self.seed(session.derived("numpy") & 0xFFFFFFFF)

    shared = Shared(0)
    shared.__restart__()
    return shared


_LEGACY = (
    "beta binomial bytes chisquare choice dirichlet exponential f gamma geometric get_state gumbel "
    "hypergeometric laplace "
    "logistic lognormal logseries multinomial multivariate_normal negative_binomial noncentral_chisquare noncentral_f "
    "normal pareto permutation poisson power rand randint randn random random_sample rayleigh seed set_state shuffle "
    "standard_cauchy standard_exponential standard_gamma standard_normal standard_t triangular uniform vonmises wald "
    "weibull zipf"
)


def _method(name: str) -> Callable[[Session], Any]:
    return lambda session: getattr(session.once(_legacy), name)


NUMPY_RANDOM = (
    Table("numpy.random", numpy=True)
    .lazy("bound to a generator of the session", **{name: _method(name) for name in _LEGACY.split()})
    .lazy(
        "bound to a generator of the session",
        ranf=_method("random_sample"),
        sample=_method("random_sample"),
    )
    .lazy("without a seed they take one from the session", default_rng=default_rng, RandomState=_random_state)
    .lazy("without a seed it takes one from the session", SeedSequence=_seed_sequence)
    .lazy(
        "they give out their state and no addresses",
        **{name: _stream(getattr(np.random, name)) for name in "MT19937 PCG64 PCG64DXSM Philox SFC64".split()},
    )
    .ours("the real generators, without their addresses", Generator=Generator, BitGenerator=BitStream)
    .refuse("use numpy.random.randint(low, high + 1)", "random_integers")
    .refuse("use numpy.random.default_rng(seed)", "bit_generator mtrand get_bit_generator set_bit_generator test")
)

TABLES = (NUMPY_RANDOM,)
