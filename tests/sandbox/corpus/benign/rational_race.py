# seed: 8
# actions: ["1/3", "add 1/3", "add 5/8", "mul 2/3", "sub 0.25", "bogus", "div 7", "add 1/7", "done"]
# expect_total: 0.61393333 after 9 steps
"""Reach the target fraction exactly. Uses Fraction and Decimal arithmetic."""
import operator
import random
from decimal import ROUND_HALF_UP, Decimal, localcontext
from fractions import Fraction


class Mixed:
    """A mixed number with operator overloading."""

    __slots__ = ("value",)

    def __init__(self, value):
        self.value = Fraction(value)

    def __add__(self, other):
        return Mixed(self.value + Mixed.of(other).value)

    __radd__ = __add__

    def __sub__(self, other):
        return Mixed(self.value - Mixed.of(other).value)

    def __mul__(self, other):
        return Mixed(self.value * Mixed.of(other).value)

    def __truediv__(self, other):
        divisor = Mixed.of(other).value
        if divisor == 0:
            raise ZeroDivisionError("cannot divide by zero")
        return Mixed(self.value / divisor)

    def __eq__(self, other):
        if not isinstance(other, Mixed):
            return NotImplemented
        return self.value == other.value

    def __hash__(self):
        return hash((Mixed, self.value))

    def __lt__(self, other):
        return self.value < other.value

    def __abs__(self):
        return Mixed(abs(self.value))

    def __neg__(self):
        return Mixed(-self.value)

    def __bool__(self):
        return self.value != 0

    def __float__(self):
        return self.value.numerator / self.value.denominator

    def __str__(self):
        whole, rest = divmod(self.value.numerator, self.value.denominator)
        if rest == 0:
            return str(whole)
        return f"{whole} {rest}/{self.value.denominator}" if whole else f"{rest}/{self.value.denominator}"

    def __format__(self, spec):
        return format(str(self), spec)

    @classmethod
    def of(cls, thing):
        return thing if isinstance(thing, cls) else cls(thing)

    @staticmethod
    def parse(text):
        try:
            return Mixed(Fraction(text))
        except ValueError as e:
            raise ValueError(f"not a number: {text!r}") from e


OPS = {"add": operator.add, "sub": operator.sub, "mul": operator.mul, "div": operator.truediv}


class Env:
    def reset(self, seed=None):
        rng = random.Random(seed)
        self.target = Mixed(Fraction(rng.randint(1, 20), rng.randint(2, 9)))
        self.value = Mixed(0)
        self.best_gap = abs(self.target - self.value)
        return f"target={self.target:>8}|value={self.value:^6}|"

    def decimal_gap(self):
        gap = abs(self.target - self.value).value
        with localcontext() as ctx:
            ctx.prec = 12
            d = Decimal(gap.numerator) / Decimal(gap.denominator)
            return d.quantize(Decimal("0.001"), rounding=ROUND_HALF_UP)

    def step(self, action):
        if action == "done":
            return str(self.value), 1.0 if self.value == self.target else -float(self.decimal_gap()) / 10, True, {}
        try:
            verb, _, operand = action.partition(" ")
            self.value = OPS[verb](self.value, Mixed.parse(operand))
        except KeyError:
            return "unknown op", -0.125, False, {"ops": list(OPS)}
        except (ValueError, ZeroDivisionError) as e:
            return str(e), -0.25, False, {"cause": type(e.__cause__).__name__}
        gap = abs(self.target - self.value)
        reward = float(self.best_gap - gap) if gap < self.best_gap else 0.0
        self.best_gap = min(self.best_gap, gap)
        return f"value={self.value} gap={self.decimal_gap()}", reward, False, {}
