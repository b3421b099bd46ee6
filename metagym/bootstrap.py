"""The bootstrap behind the intervals of means (`metagym.stats`): resampling, and the BCa interval.

Source: Efron (1987), *Better bootstrap confidence intervals*, *J. Am. Stat. Assoc.* 82, 171-185; Efron & Tibshirani
(1993), *An Introduction to the Bootstrap*, chapter 14.
"""

from __future__ import annotations

from statistics import NormalDist
from typing import Any

import numpy as np

CHUNK = 1_000_000
"""Draws held in memory at once."""


def resampled_means(data: np.ndarray[Any, Any], seed: int, resamples: int) -> np.ndarray[Any, Any]:
    """Means of samples that are drawn from a sample with replacement.

    Args:
        data: Shape (n,), n > 0.
        seed: Decides the draws; equal seeds draw equal samples on any NumPy.
        resamples: How many.

    Returns:
        Shape (resamples,).
    """
    # Raw words of PCG64: unlike the Generator's methods, NumPy guarantees this stream for ever (NEP 19).
    bits = np.random.PCG64(seed)
    n = len(data)
    rows = max(1, CHUNK // n)
    parts = []
    for start in range(0, resamples, rows):
        count = min(rows, resamples - start)
        words = bits.random_raw(count * n) >> np.uint64(11)
        picks = (words * (2.0**-53 * n)).astype(np.intp)
        parts.append(data[np.minimum(picks, n - 1)].reshape(count, n).mean(axis=1))
    return np.concatenate(parts)


def bca(data: np.ndarray[Any, Any], value: float, means: np.ndarray[Any, Any], z: float) -> tuple[float, float]:
    """Ends of the BCa interval of a mean; the formula stands at `metagym.stats.mean`.

    Args:
        data: The sample, shape (n,), of at least two different values.
        value: Its mean.
        means: Those of its resamples.
        z: Normal quantile of the confidence.
    """
    normal = NormalDist()
    # Means that differ by rounding alone are ties: the order of a sum must not move the bias correction.
    tie = np.isclose(means, value, rtol=1e-12, atol=1e-12 * float(np.abs(data).max()))
    share = float(np.count_nonzero((means < value) & ~tie) + np.count_nonzero(tie) / 2) / len(means)
    share = min(max(share, 0.5 / len(means)), 1 - 0.5 / len(means))
    z0 = normal.inv_cdf(share)
    deviations = data - value  # the jackknife deviations of a mean, up to a factor that cancels
    deviations = deviations / np.abs(deviations).max()  # neither tiny nor huge scores may under- or overflow in a cube
    spread = float(np.sum(deviations**2))
    acceleration: float = float(np.sum(deviations**3)) / (6 * spread**1.5)
    ends = []
    for quantile in (-z, z):
        shifted: float = z0 + quantile
        level = normal.cdf(z0 + shifted / (1 - acceleration * shifted))
        ends.append(float(np.quantile(means, level)))
    return ends[0], ends[1]
