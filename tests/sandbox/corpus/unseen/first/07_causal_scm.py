# seed: 2
# actions: ["observe 50", "do X=1 n=40", "do X=0 n=40", "do Z=1 n=20", "edge X->Y", "edge Y->X", "edge Z->X", "effect 0.8"]
# expect_total: 1.475280037 after 8 steps
"""Causal discovery: a linear structural model over X, Y, Z with hidden edges."""
import re
from typing import Optional

import numpy as np

VARS = ("X", "Y", "Z")


class CausalDiscoveryEnv:
    budget: int = 200

    def __init__(self):
        self.rng: Optional[np.random.Generator] = None

    def reset(self, seed: Optional[int] = None):
        self.rng = np.random.default_rng(seed)
        order = self.rng.permutation(3)
        self.W = np.zeros((3, 3))
        for i in range(3):
            for j in range(i + 1, 3):
                if self.rng.random() < 0.7:
                    self.W[order[i], order[j]] = self.rng.choice([-1.0, 1.0]) * self.rng.uniform(0.5, 1.5)
        self.order = order
        self.remaining = self.budget
        self.claimed = set()
        return f"Variables: {', '.join(VARS)}. Sample budget: {self.remaining}."

    def _sample(self, n: int, do=None) -> np.ndarray:
        data = np.zeros((n, 3))
        noise = self.rng.normal(0, 0.3, size=(n, 3))
        for v in self.order:
            if do is not None and do[0] == v:
                data[:, v] = do[1]
            else:
                data[:, v] = data @ self.W[:, v] + noise[:, v]
        self.remaining -= n
        return data

    @property
    def total_effect(self) -> float:
        """Sum over all paths: (I - W)^-1."""
        return float(np.linalg.inv(np.eye(3) - self.W)[0, 1])

    def step(self, action: str):
        reward, done = 0.0, False
        if m := re.match(r"observe (\d+)$", action):
            n = min(int(m[1]), self.remaining)
            if n < 3:
                return "No budget left.", -0.1, False, False, {}
            c = np.corrcoef(self._sample(n), rowvar=False)
            obs = "Correlations: " + ", ".join(
                f"{VARS[i]}{VARS[j]}={c[i, j]:+.2f}" for i in range(3) for j in range(i + 1, 3))
        elif m := re.match(r"do ([XYZ])=(-?\d+(?:\.\d+)?) n=(\d+)$", action):
            n = min(int(m[3]), self.remaining)
            if n < 1:
                return "No budget left.", -0.1, False, False, {}
            means = self._sample(n, (VARS.index(m[1]), float(m[2]))).mean(axis=0)
            obs = "Means: " + ", ".join(f"{v}={x:+.3f}" for v, x in zip(VARS, means))
        elif m := re.match(r"edge ([XYZ])->([XYZ])$", action):
            i, j = VARS.index(m[1]), VARS.index(m[2])
            fresh = (i, j) not in self.claimed
            self.claimed.add((i, j))
            reward = (0.5 if self.W[i, j] != 0 else -0.5) * fresh
            obs = "Claim recorded."
        elif m := re.match(r"effect (-?\d+(?:\.\d+)?)$", action):
            err = abs(float(m[1]) - self.total_effect)
            reward, done = float(np.exp(-err)), True
            obs = f"True total effect of X on Y: {self.total_effect:.3f}"
        else:
            obs, reward = "Syntax: observe N | do V=x n=N | edge A->B | effect x", -0.05
        return obs, reward, done, self.remaining <= 0, {"remaining": self.remaining}
