# seed: 42
# actions: [[0.0, 0.0, 0.0], [-0.5, -0.5, 1.0], "hint", [-0.3, -0.6, 1.5], [-0.3, -0.6, 1.7]]
# expect_total: 0.5992152 after 5 steps
"""Solve A x = b by iteratively proposing x. The agent sees A, b and the residual."""

from __future__ import annotations

from typing import Optional, Tuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

FloatArray = NDArray[np.float64]


def make_spd(n: int, rng: np.random.Generator) -> FloatArray:
    """Random symmetric positive definite matrix."""
    m = rng.standard_normal((n, n))
    return m @ m.T + n * np.eye(n)


class LinearSystemEnv:
    def __init__(self, n: int = 3, tol: float = 1e-3) -> None:
        self.n = n
        self.tol = tol
        self.A: FloatArray = np.zeros((n, n))
        self.b: FloatArray = np.zeros(n)
        self._solution: Optional[FloatArray] = None

    def reset(self, seed: Optional[int] = None) -> Tuple[np.ndarray, dict]:
        rng = np.random.default_rng(seed)
        self.A = make_spd(self.n, rng)
        self._solution = rng.uniform(-2, 2, size=self.n).round(1)
        self.b = self.A @ self._solution
        self.best = float(np.linalg.norm(self.b))
        self.t = 0
        cond = np.linalg.cond(self.A)
        eig = np.linalg.eigvalsh(self.A)
        return self._obs(np.zeros(self.n)), {"cond_ok": bool(cond < 100), "min_eig_positive": bool(eig.min() > 0)}

    def _obs(self, x: ArrayLike) -> np.ndarray:
        residual = self.b - self.A.dot(np.asarray(x, dtype=float))
        return np.concatenate([self.A.ravel(), self.b, residual]).astype(np.float32)

    def step(self, action) -> Tuple[np.ndarray, float, bool, bool, dict]:
        self.t += 1
        if isinstance(action, str):
            k = int(np.argmax(np.abs(self._solution)))
            guess = np.zeros(self.n)
            guess[k] = np.linalg.solve(self.A, self.b)[k]
            return self._obs(guess), -0.2, False, False, {"hint": {"index": k, "value": round(float(guess[k]), 3)}}
        x = np.array(action, dtype=np.float64)
        if x.shape != (self.n,):
            raise ValueError(f"expected shape {(self.n,)}, got {x.shape}")
        res = float(np.linalg.norm(self.b - self.A @ x))
        improved = max(0.0, self.best - res)
        reward = improved / float(np.linalg.norm(self.b))
        self.best = min(self.best, res)
        solved = np.allclose(x, self._solution, atol=self.tol)
        if solved:
            reward += 1
        return self._obs(x), reward, bool(solved), self.t >= 5, {"residual": np.round(res, 4)}
