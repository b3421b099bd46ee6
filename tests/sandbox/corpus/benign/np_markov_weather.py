# seed: 101
# actions: ["predict rainy", "predict sunny", "umbrella", "predict cloudy", "stationary", "predict sunny", "umbrella", "answer 0.3 0.4 0.3"]
# expect_total: 2.53059679 after 8 steps
"""Weather forecasting on a random Markov chain."""
from typing import Dict, List, NamedTuple, Optional

import numpy as np

STATES: List[str] = ["sunny", "cloudy", "rainy"]
INDEX: Dict[str, int] = {name: i for i, name in enumerate(STATES)}


class StepResult(NamedTuple):
    observation: str
    reward: float
    terminated: bool
    truncated: bool
    info: dict


def random_stochastic(rng: np.random.Generator, n: int, conc: float = 1.5) -> np.ndarray:
    p = rng.dirichlet(np.full(n, conc), size=n)
    return p / p.sum(axis=1, keepdims=True)


def stationary(p: np.ndarray) -> np.ndarray:
    vals, vecs = np.linalg.eig(p.T)
    k = np.argmin(np.abs(vals - 1.0))
    v = np.real(vecs[:, k])
    return v / v.sum()


class WeatherEnv:
    def __init__(self, n_history: int = 4):
        self.n_history = n_history

    def reset(self, seed: Optional[int] = None):
        self.rng = np.random.default_rng(seed)
        self.P = random_stochastic(self.rng, len(STATES))
        assert np.all(self.P >= 0) and np.allclose(self.P.sum(1), 1)
        self.state = int(self.rng.integers(len(STATES)))
        self.counts = np.zeros((3, 3), dtype=int)
        self.day = 0
        history = [STATES[self.state]] + [STATES[self._advance()] for _ in range(self.n_history)]
        return "history: " + ", ".join(history), {"P_hint": np.round(self.P.max(axis=1), 1).tolist()}

    def _advance(self) -> int:
        cdf = np.cumsum(self.P[self.state])
        nxt = int(np.searchsorted(cdf, self.rng.random(), side="right"))
        nxt = min(nxt, 2)
        self.counts[self.state, nxt] += 1
        self.state = nxt
        self.day += 1
        return nxt

    def step(self, action: str) -> StepResult:
        verb, *args = action.split()
        info = {"day": self.day}
        if verb == "answer":
            guess = np.array([float(a) for a in args])
            pi = stationary(self.P)
            tv = 0.5 * np.abs(guess - pi).sum()
            return StepResult("done", float(np.clip(1 - 2 * tv, 0, 1)), True, False, {"tv": tv.item()})
        if verb == "stationary":
            est = np.where(self.counts.sum(1, keepdims=True) > 0, self.counts, 1).astype(float)
            est /= est.sum(axis=1, keepdims=True)
            power = np.linalg.matrix_power(est, 16)
            return StepResult(np.array2string(power[0], precision=2), -0.1, False, False, info)
        probs = self.P[self.state].copy()
        nxt = self._advance()
        if verb == "predict":
            g = INDEX[args[0]]
            onehot = np.eye(3)[g]
            brier = float(((onehot - probs) ** 2).sum())
            reward = (1.0 if g == nxt else 0.0) - 0.25 * brier
        else:
            reward = 0.5 if STATES[nxt] == "rainy" else -0.2
        info["logp"] = float(np.log(probs[nxt] + 1e-12).round(4))
        return StepResult(f"day {self.day}: {STATES[nxt]}", reward, False, self.day >= 30, info)
