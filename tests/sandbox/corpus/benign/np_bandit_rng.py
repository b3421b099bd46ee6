# seed: 77
# actions: [0, 3, 3, 1, "greedy", "ucb", 4, "greedy", "ucb", "stop"]
# expect_total: 6.7714 after 10 steps
"""Multi-armed bandit with drifting means (numpy Generator)."""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import numpy as np
import numpy.typing as npt

N_ARMS: Final[int] = 5


def softmax(x: npt.ArrayLike, tau: float = 1.0) -> npt.NDArray[np.floating[Any]]:
    z = np.asarray(x, dtype=np.float64) / tau
    z -= z.max()
    e = np.exp(z)
    return e / e.sum()


class Arms:
    def __init__(self, rng: np.random.Generator, n: int = N_ARMS) -> None:
        self._rng = rng
        self.means = rng.normal(0.5, 0.3, n)
        self.drift = rng.uniform(-0.01, 0.01, n)

    def __len__(self) -> int:
        return self.means.size

    def __getitem__(self, i: int) -> float:
        return float(self.means[i])

    def pull(self, i: int) -> float:
        value = self._rng.normal(self.means[i], 0.1)
        self.means += self.drift
        np.clip(self.means, 0.0, 1.0, out=self.means)
        return float(np.round(value, 4))


class BanditEnv:
    def reset(self, seed: int | None = None, options: dict[str, Any] | None = None):
        rng = np.random.default_rng(seed)
        self.arms = Arms(rng, (options or {}).get("n", N_ARMS))
        self.counts = np.zeros(len(self.arms), dtype=np.int64)
        self.sums = np.zeros(len(self.arms))
        self.perm = rng.permutation(len(self.arms))
        return {"n": len(self.arms), "counts": self.counts.tolist()}, {}

    @property
    def estimates(self) -> npt.NDArray[np.float64]:
        with np.errstate(divide="ignore", invalid="ignore"):
            est = self.sums / self.counts
        est[np.isnan(est)] = 0.0
        return est

    def _choose(self, how: str) -> int:
        if how == "greedy":
            return int(np.argmax(self.estimates))
        untried = np.flatnonzero(self.counts == 0)
        if untried.size:
            return int(untried[0])
        bonus = np.sqrt(2 * np.log(self.counts.sum()) / self.counts)
        return int((self.estimates + bonus).argmax())

    def step(self, action: int | str):
        if action == "stop":
            best = self.arms.means == self.arms.means.max()
            mask = best & (self.counts > 0)
            return self._obs(), 1.0 if mask.any() else -1.0, True, False, {"best": np.where(best)[0].tolist()}
        arm = self._choose(action) if isinstance(action, str) else int(action)
        reward = self.arms.pull(self.perm[arm])
        self.counts[arm] += 1
        self.sums[arm] += reward
        info = {"policy": softmax(self.estimates, 0.5).round(3), "arm": arm}
        return self._obs(), reward, False, bool(self.counts.sum() >= 50), info

    def _obs(self) -> dict[str, Sequence[float]]:
        return {"counts": self.counts.copy(), "estimates": self.estimates.astype(np.float32)}
