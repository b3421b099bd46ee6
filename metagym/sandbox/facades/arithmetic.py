"""Numbers: the modules that compute and nothing else."""

from __future__ import annotations

import statistics
from collections.abc import Callable
from typing import Any

from metagym.sandbox.facades.facade import Table
from metagym.sandbox.facades.names import public_name, read

_NUMBERS = "numbers in, numbers out; a huge result is stopped by the limits on time and memory"
_TYPES = "an immutable value type without hooks"


def _path(dotted: Any) -> tuple[str, ...]:
    if type(dotted) is not str:
        raise TypeError("attribute name must be a string")
    return tuple(public_name(part) and part for part in dotted.split("."))


def attrgetter(attr: str, *attrs: str) -> Callable[[Any], Any]:
    """``operator.attrgetter`` for public names: a getter of one attribute path, or of a tuple of several."""
    paths = [_path(name) for name in (attr, *attrs)]

    def one(obj: Any, path: tuple[str, ...]) -> Any:
        for name in path:
            obj = read(obj, name)
        return obj

    if len(paths) == 1:
        return lambda obj: one(obj, paths[0])
    return lambda obj: tuple(one(obj, path) for path in paths)


def methodcaller(name: str, /, *args: Any, **kwargs: Any) -> Callable[[Any], Any]:
    """``operator.methodcaller`` for public names."""
    public_name(name)
    return lambda obj: read(obj, name)(*args, **kwargs)


class NormalDist(statistics.NormalDist):
    """``statistics.NormalDist``; `samples` needs a seed, as there is no hidden source of chance."""

    __slots__ = ()

    def samples(self, n: Any, *, seed: Any = None) -> list[float]:
        """As in `statistics`, for a given seed.

        Raises:
            TypeError: No seed is given.
        """
        if seed is None:
            raise TypeError("NormalDist.samples needs seed=...; or draw with random.gauss(mean, stdev)")
        return super().samples(n, seed=seed)

    def _ours(self, made: Any) -> Any:
        return NormalDist(made.mean, made.stdev) if isinstance(made, statistics.NormalDist) else made

    def __add__(self, other: Any) -> Any:
        """As in the library, with our class."""
        return self._ours(statistics.NormalDist.__add__(self, other))

    def __sub__(self, other: Any) -> Any:
        """As in the library, with our class."""
        return self._ours(statistics.NormalDist.__sub__(self, other))

    def __mul__(self, other: Any) -> Any:
        """As in the library, with our class."""
        return self._ours(statistics.NormalDist.__mul__(self, other))

    def __truediv__(self, other: Any) -> Any:
        """As in the library, with our class."""
        return self._ours(statistics.NormalDist.__truediv__(self, other))

    def __rsub__(self, other: Any) -> Any:
        """As in the library, with our class."""
        return self._ours(statistics.NormalDist.__rsub__(self, other))

    def __pos__(self) -> Any:
        """As in the library, with our class."""
        return self._ours(statistics.NormalDist.__pos__(self))

    def __neg__(self) -> Any:
        """As in the library, with our class."""
        return self._ours(statistics.NormalDist.__neg__(self))

    __radd__ = __add__
    __rmul__ = __mul__


MATH = (
    Table("math")
    .real(
        _NUMBERS,
        "acos acosh asin asinh atan atan2 atanh cbrt ceil comb copysign cos cosh degrees dist erf erfc exp exp2 expm1 "
        "fabs factorial floor fmod frexp fsum gamma gcd hypot isclose isfinite isinf isnan isqrt lcm ldexp lgamma log "
        "log10 log1p log2 modf nextafter perm pow prod radians remainder sin sinh sqrt tan tanh trunc ulp",
    )
    .real(_NUMBERS, "sumprod fma", newer=True)
    .real("constants", "e inf nan pi tau")
)

CMATH = (
    Table("cmath")
    .real(
        _NUMBERS,
        "acos acosh asin asinh atan atanh cos cosh exp isclose isfinite isinf isnan log log10 phase polar rect sin "
        "sinh sqrt tan tanh",
    )
    .real("constants", "e inf infj nan nanj pi tau")
)

STATISTICS = (
    Table("statistics")
    .real(
        "numbers in, numbers out; written in Python over the given data",
        "correlation covariance fmean geometric_mean harmonic_mean linear_regression mean median median_grouped "
        "median_high median_low mode multimode pstdev pvariance quantiles stdev variance",
    )
    .real("numbers in, a function of numbers out", "kde", newer=True)
    .real("an exception class", "StatisticsError")
    .ours("samples need a seed", NormalDist=NormalDist)
    .refuse("it draws from a generator that no seed reaches; use random.gauss", "kde_random")
)

FRACTIONS = Table("fractions").real(_TYPES, "Fraction")

DECIMAL = (
    Table("decimal")
    .real(_TYPES, "Decimal DecimalTuple")
    .real("settings of the arithmetic, numbers and flags only", "Context getcontext localcontext setcontext")
    .real(
        "exception classes",
        "Clamped ConversionSyntax DecimalException DivisionByZero DivisionImpossible DivisionUndefined FloatOperation "
        "Inexact InvalidContext InvalidOperation Overflow Rounded Subnormal Underflow",
    )
    .real(
        "constants",
        "MAX_EMAX MAX_PREC MIN_EMIN MIN_ETINY HAVE_CONTEXTVAR HAVE_THREADS ROUND_05UP ROUND_CEILING ROUND_DOWN "
        "ROUND_FLOOR ROUND_HALF_DOWN ROUND_HALF_EVEN ROUND_HALF_UP ROUND_UP",
    )
    .refuse("a template that all programs would share; make Context(prec=...)", "BasicContext DefaultContext")
    .refuse("a template that all programs would share; make Context(prec=...)", "ExtendedContext")
)

NUMBERS = Table("numbers").real("abstract classes for isinstance", "Complex Integral Number Rational Real")

_HOOKS = "does what the operator does: it runs no other method of its operands than the operator would"

OPERATOR = (
    Table("operator")
    .real(
        _HOOKS,
        "abs add and_ call concat contains countOf delitem eq floordiv ge getitem gt iadd iand iconcat ifloordiv "
        "ilshift imatmul imod imul index indexOf inv invert ior ipow irshift is_ is_not isub itruediv ixor le "
        "length_hint lshift lt matmul mod mul ne neg not_ or_ pos pow rshift setitem sub truediv truth xor",
    )
    .real(_HOOKS, "is_none is_not_none", newer=True)
    .real("items by key, as the operator reads them", "itemgetter")
    .ours("only names that the source could read as well", attrgetter=attrgetter, methodcaller=methodcaller)
)

COLORSYS = Table("colorsys").real(_NUMBERS, "hls_to_rgb hsv_to_rgb rgb_to_hls rgb_to_hsv rgb_to_yiq yiq_to_rgb")

TABLES = (MATH, CMATH, STATISTICS, FRACTIONS, DECIMAL, NUMBERS, OPERATOR, COLORSYS)
