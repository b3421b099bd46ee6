"""Every number that MetaGym prints goes through here: intervals, means, paired differences and tests.

What could not be measured (None, NaN) enters no figure; it is counted in `Estimate.unscored` instead.

Sources: Wilson (1927), *J. Am. Stat. Assoc.* 22, 209-212; Efron (1987), *Better bootstrap confidence intervals*,
*J. Am. Stat. Assoc.* 82, 171-185; Efron & Tibshirani (1993), *An Introduction to the Bootstrap*, chapter 14;
McNemar (1947), *Psychometrika* 12, 153-157, in its exact (binomial) form; Newcombe (1998), *Stat. Med.* 17, 2635-2650;
David & Nagaraja (2003), *Order Statistics*, section 7.1.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from statistics import NormalDist
from typing import Any

import numpy as np

from metagym.bootstrap import bca, resampled_means
from metagym.episodes import Episode
from metagym.errors import BadInput
from metagym.seeding import derive

CONFIDENCE = 0.95
RESAMPLES = 9999


@dataclass(frozen=True, slots=True)
class Estimate:
    """One measured quantity with its uncertainty.

    Attributes:
        value: The point estimate; None where nothing was scored (never 0).
        low: Lower end of the interval; None where the data cannot bound it.
        high: Upper end of the interval; None where the data cannot bound it.
        n: How many scored values (or pairs, or tasks) stand behind it.
        unscored: How many values were left out because they could not be measured.
        method: How the interval was made, e.g. ``"wilson 95%"``.
    """

    value: float | None
    low: float | None
    high: float | None
    n: int
    unscored: int = 0
    method: str = ""

    @property
    def measured(self) -> bool:
        """Whether there is a value at all."""
        return self.value is not None

    def text(self, digits: int = 2, sign: bool = False) -> str:
        """The estimate as people read it, e.g. ``0.82 [0.74, 0.88] n=134 (2 unscored)``.

        Args:
            digits: Decimal places, >= 0.
            sign: Write the plus sign too, as is usual for differences.

        Returns:
            ``-`` for an unmeasured value, and ``[-]`` where the data cannot bound it.
        """
        left_out = f" ({self.unscored} unscored)" if self.unscored else ""
        if self.value is None:
            return f"- n={self.n}{left_out}"
        return f"{self.point(digits, sign)} {self.interval(digits, sign)} n={self.n}{left_out}"

    def point(self, digits: int = 2, sign: bool = False) -> str:
        """The value alone, ``-`` where it is unmeasured."""
        return "-" if self.value is None else _number(self.value, digits, sign)

    def interval(self, digits: int = 2, sign: bool = False) -> str:
        """The interval alone, e.g. ``[0.74, 0.88]``; ``[-]`` where there is none."""
        if self.low is None or self.high is None:
            return "[-]"
        return f"[{_number(self.low, digits, sign)}, {_number(self.high, digits, sign)}]"

    def __str__(self) -> str:
        """Same as ``text()``."""
        return self.text()

    def to_json(self) -> dict[str, Any]:
        """The estimate as a JSON object."""
        return asdict(self)

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Estimate:
        """The inverse of `to_json`.

        Raises:
            BadInput: The object is no estimate.
        """
        try:
            return cls(**data)
        except TypeError as error:
            raise BadInput(f"not an estimate: {error}") from error


@dataclass(frozen=True, slots=True)
class McNemar:
    """Outcome of McNemar's exact test on paired successes.

    Attributes:
        both: Pairs in which a and b succeeded.
        only_a: Pairs in which a alone succeeded.
        only_b: Pairs in which b alone succeeded.
        neither: Pairs in which both failed.
        p: Two-sided p value; None where no pair could be compared.
    """

    both: int
    only_a: int
    only_b: int
    neither: int
    p: float | None

    def __str__(self) -> str:
        """E.g. ``a only 2, b only 11, p = 0.022``."""
        if self.p is None:
            return "no pair to compare"
        shown = "p < 0.001" if self.p < 0.001 else f"p = {self.p:.3f}"
        return f"a only {self.only_a}, b only {self.only_b}, {shown}"


def wilson(successes: int, n: int, unscored: int = 0, confidence: float = CONFIDENCE) -> Estimate:
    r"""A rate with Wilson's score interval.

    With p = successes / n and z the normal quantile of (1 + confidence) / 2, the interval is
    (p + z^2/2n -+ z sqrt(p(1-p)/n + z^2/4n^2)) / (1 + z^2/n). Unlike the textbook interval it is never empty or outside
    [0, 1], which matters for rates near 0 and 1 and for few episodes.

    Args:
        successes: In 0..n.
        n: Trials, >= 0.
        unscored: Trials that could not be measured (only carried along).
        confidence: In (0, 1).

    Raises:
        BadInput: The counts or the confidence are out of range.
    """
    z = _quantile(confidence)
    if not 0 <= successes <= n:
        raise BadInput(f"successes must lie in 0..{n}, got {successes}")
    method = f"wilson {confidence * 100:g}%"
    if n == 0:
        return Estimate(None, None, None, 0, unscored, method)
    p = successes / n
    centre = p + z * z / (2 * n)
    half = z * math.sqrt(p * (1 - p) / n + z * z / (4 * n * n))
    scale = 1 + z * z / n
    # The ends at 0 and n successes are exactly 0 and 1; rounding must not say otherwise.
    low = 0.0 if successes == 0 else (centre - half) / scale
    high = 1.0 if successes == n else (centre + half) / scale
    return Estimate(p, low, high, n, unscored, method)


def rate(outcomes: Iterable[bool | None], confidence: float = CONFIDENCE) -> Estimate:
    """The share of True among the known outcomes, with Wilson's interval; None counts as unscored."""
    seen = list(outcomes)
    known = [bool(outcome) for outcome in seen if outcome is not None]
    return wilson(sum(known), len(known), len(seen) - len(known), confidence)


def mean(
    values: Iterable[float | None], seed: int = 0, confidence: float = CONFIDENCE, resamples: int = RESAMPLES
) -> Estimate:
    """A mean with its BCa bootstrap interval.

    BCa (bias-corrected and accelerated, Efron 1987) rather than the plain percentile interval: returns are skewed
    where most episodes earn nothing, and BCa corrects for that to second order while it still stays inside the data.
    With B resampled means t*, z0 = Phi^-1(share of t* below the mean, ties counted half), and the acceleration
    a = sum d^3 / (6 (sum d^2)^1.5) of the jackknife deviations d, the ends are the quantiles
    Phi(z0 + (z0 + z) / (1 - a (z0 + z))) of t* for z = -+ the normal quantile.

    A sample without any spread (or of one value) cannot bound its mean: the interval is then None, not a point.

    Args:
        values: None and non-finite values count as unscored.
        seed: Decides the resampling; equal seeds draw equal resamples on any NumPy.
        confidence: In (0, 1).
        resamples: Number of bootstrap samples, >= 100.

    Raises:
        BadInput: The seed, confidence or number of resamples is out of range.
    """
    z = _quantile(confidence)
    if resamples < 100:
        raise BadInput(f"at least 100 bootstrap resamples are needed, got {resamples}")
    seen = list(values)
    known = [float(value) for value in seen if value is not None and math.isfinite(value)]
    method = f"bootstrap BCa {confidence * 100:g}%"
    n, unscored = len(known), len(seen) - len(known)
    if n == 0:
        return Estimate(None, None, None, 0, unscored, method)
    value = math.fsum(known) / n
    if min(known) == max(known):
        return Estimate(known[0], None, None, n, unscored, method)
    data = np.asarray(known)
    means = resampled_means(data, derive(seed, "bootstrap", n), resamples)
    low, high = bca(data, value, means, z)
    return Estimate(value, low, high, n, unscored, method)


def median(values: Iterable[float | None], confidence: float = CONFIDENCE) -> Estimate:
    r"""A median with its exact interval, from the order of the values alone.

    The interval runs from the k-th smallest to the k-th largest value, k as large as
    1 - 2 P(Binomial(n, 1/2) < k) >= confidence allows; it holds for any distribution (David & Nagaraja (2003), *Order
    Statistics*, section 7.1). Fewer than six values cannot bound their median at 95 %: the ends are then None.

    Args:
        values: None and non-finite values count as unscored.
        confidence: In (0, 1).

    Raises:
        BadInput: The confidence is out of range.
    """
    _quantile(confidence)
    seen = list(values)
    known = sorted(float(value) for value in seen if value is not None and math.isfinite(value))
    method = f"order statistics {confidence * 100:g}%"
    n, unscored = len(known), len(seen) - len(known)
    if n == 0:
        return Estimate(None, None, None, 0, unscored, method)
    value = known[n // 2] if n % 2 else (known[n // 2 - 1] + known[n // 2]) / 2
    tail, k = 0.0, 0  # tail: P(Binomial(n, 1/2) < k)
    while 1 - 2 * (tail + math.comb(n, k) / 2**n) >= confidence:
        tail += math.comb(n, k) / 2**n
        k += 1
    if k == 0:
        return Estimate(value, None, None, n, unscored, method)
    return Estimate(value, known[k - 1], known[n - k], n, unscored, method)


def paired_difference(
    a: Mapping[str, float | bool | None],
    b: Mapping[str, float | bool | None],
    seed: int = 0,
    confidence: float = CONFIDENCE,
) -> Estimate:
    """The mean of b - a over the keys that both scored, with its BCa bootstrap interval over the pairs.

    Pairing by task takes the tasks' own difficulty out of the comparison, which an unpaired interval would count
    as noise. Successes (0 or 1) whose differences are all alike, as where every task goes from lost to won, have
    nothing to resample; they get `paired_rates`' interval instead.

    Args:
        a: Score (or success) by task key; None where unscored.
        b: The same for the other side.
        seed: Decides the resampling.
        confidence: In (0, 1).

    Returns:
        The estimate; `n` counts pairs, `unscored` the common keys that one side did not score.
    """
    differences: list[float | None] = []
    pairs: list[tuple[float, float]] = []
    for key in sorted(a.keys() & b.keys()):  # sorted: the resampling must not depend on the order of a mapping
        left, right = a[key], b[key]
        if left is None or right is None or not (math.isfinite(left) and math.isfinite(right)):
            differences.append(None)
        else:
            differences.append(float(right) - float(left))
            pairs.append((float(left), float(right)))
    estimate = mean(differences, seed, confidence)
    if estimate.low is None and estimate.n > 1 and all(score in (0.0, 1.0) for pair in pairs for score in pair):
        counts = (pairs.count((1, 1)), pairs.count((1, 0)), pairs.count((0, 1)), pairs.count((0, 0)))
        return paired_rates(*counts, unscored=estimate.unscored, confidence=confidence)
    return estimate


def paired_rates(
    both: int, only_a: int, only_b: int, neither: int, unscored: int = 0, confidence: float = CONFIDENCE
) -> Estimate:
    """The difference b - a of two paired rates with Newcombe's score interval.

    Method 10 of Newcombe (1998), *Stat. Med.* 17, 2635-2650: with Wilson's ends l and u of both rates and the
    correlation phi of the pairs (its numerator reduced by n / 2 where positive), the interval is
    d - sqrt((b-lb)^2 - 2 phi (b-lb)(ua-a) + (ua-a)^2) to d + sqrt((a-la)^2 - 2 phi (a-la)(ub-b) + (ub-b)^2).

    Args:
        both: Pairs in which a and b succeeded.
        only_a: Pairs in which a alone succeeded.
        only_b: Pairs in which b alone succeeded.
        neither: Pairs in which both failed.
        unscored: Pairs that could not be measured (only carried along).
        confidence: In (0, 1).

    Raises:
        BadInput: A count is negative, or the confidence is out of range.
    """
    if min(both, only_a, only_b, neither) < 0:
        raise BadInput("counts of pairs are not negative")
    n = both + only_a + only_b + neither
    a, b = wilson(both + only_a, n, confidence=confidence), wilson(both + only_b, n, confidence=confidence)
    method = f"Newcombe paired {confidence * 100:g}%"
    if a.value is None or b.value is None:
        return Estimate(None, None, None, 0, unscored, method)
    assert a.low is not None and a.high is not None and b.low is not None and b.high is not None
    margins = (both + only_a) * (only_b + neither) * (both + only_b) * (only_a + neither)
    cross = both * neither - only_a * only_b
    phi = (max(cross - n / 2, 0.0) if cross > 0 else cross) / math.sqrt(margins) if margins else 0.0
    below = _joined(b.value - b.low, a.high - a.value, phi)
    above = _joined(a.value - a.low, b.high - b.value, phi)
    difference = b.value - a.value
    return Estimate(difference, max(-1.0, difference - below), min(1.0, difference + above), n, unscored, method)


def mcnemar(a: Mapping[str, bool | None], b: Mapping[str, bool | None]) -> McNemar:
    """McNemar's exact test: do a and b succeed equally often on the same tasks?

    Only discordant pairs count: with m of them and k = min(only_a, only_b), p = min(1, 2 sum_{i<=k} C(m, i) / 2^m).

    Args:
        a: Success by task key; None where unscored.
        b: The same for the other side.
    """
    pairs = [(a[key], b[key]) for key in a.keys() & b.keys()]
    known = [(bool(left), bool(right)) for left, right in pairs if left is not None and right is not None]
    both, only_a = known.count((True, True)), known.count((True, False))
    only_b, neither = known.count((False, True)), known.count((False, False))
    if not known:
        return McNemar(0, 0, 0, 0, None)
    m, k = only_a + only_b, min(only_a, only_b)
    tail = sum(math.comb(m, i) for i in range(k + 1))
    return McNemar(both, only_a, only_b, neither, min(1.0, 2 * tail / 2**m))


def success_estimate(episodes: Iterable[Episode], seed: int = 0) -> Estimate:
    """Success rate of episodes.

    With each task played once this is Wilson's interval. Where tasks come back (several seeds), repeated plays of one
    task are no independent trials: the rate is then the mean over tasks of the task's own rate, bootstrapped over
    tasks, and `n` counts tasks.
    """
    return _by_task(((e.task.key, e.success if e.scored else None) for e in episodes), seed, is_rate=True)


def return_estimate(episodes: Iterable[Episode], seed: int = 0) -> Estimate:
    """Mean return of episodes, bootstrapped over tasks (see `success_estimate` on tasks that come back)."""
    return _by_task(((e.task.key, e.ret if e.scored else None) for e in episodes), seed, is_rate=False)


def task_means(pairs: Iterable[tuple[str, float | bool | None]]) -> dict[str, float | None]:
    """The mean score of each task key; None where none of its plays was scored."""
    groups: defaultdict[str, list[float]] = defaultdict(list)
    for key, score in pairs:
        group = groups[key]
        if score is not None and math.isfinite(score):
            group.append(float(score))
    return {key: math.fsum(group) / len(group) if group else None for key, group in groups.items()}


def _by_task(pairs: Iterable[tuple[str, float | bool | None]], seed: int, is_rate: bool) -> Estimate:
    listed = list(pairs)
    unscored = sum(score is None or not math.isfinite(score) for _, score in listed)
    by_task = task_means(listed)
    if is_rate:
        if len(by_task) == len(listed):
            return rate(None if value is None else value == 1.0 for value in by_task.values())
        known = [value for value in by_task.values() if value is not None]
        if known and min(known) == max(known) and known[0] in (0.0, 1.0):
            result = wilson(len(known) if known[0] else 0, len(known))  # no spread: only Wilson can bound it
        else:
            result = mean(known, seed)
    else:
        result = mean(by_task.values(), seed)
    method = f"{result.method} over tasks" if len(by_task) < len(listed) else result.method
    return Estimate(result.value, result.low, result.high, result.n, unscored, method)


def _joined(x: float, y: float, phi: float) -> float:
    return math.sqrt(max(0.0, x * x - 2 * phi * x * y + y * y))


def _quantile(confidence: float) -> float:
    if not 0 < confidence < 1:
        raise BadInput(f"confidence must lie between 0 and 1, got {confidence!r}")
    return NormalDist().inv_cdf((1 + confidence) / 2)


def _number(value: float, digits: int, sign: bool) -> str:
    shown = f"{value:+.{digits}f}" if sign else f"{value:.{digits}f}"
    if float(shown) == 0:  # no "-0.00"
        return f"{0:.{digits}f}"
    return shown
