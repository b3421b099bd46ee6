# seed: 5
# actions: ["observe", "do X=1", "do Z=0", "do X=1", "do Y=1", "do Z=1", "do X=0", "answer X", "answer Z"]
# expect_total: -4.55 after 8 steps
"""Causal bandit: the agent can observe, intervene, and finally name the true cause.

Structural model:
    U ~ Bernoulli(0.5)           (hidden confounder)
    X := U xor noise
    Z := U xor noise
    Y := cause xor noise         where cause is X or Z, chosen at reset
"""
import numpy as np


class CausalBanditEnv:
    VARS = ("X", "Z")

    def __init__(self, n_samples=40, noise=0.15, budget=8):
        self.n_samples = n_samples
        self.noise = noise
        self.budget = budget

    def reset(self, seed=None):
        self.rng = np.random.default_rng(seed)
        self.cause = self.VARS[self.rng.integers(0, 2)]
        self.used = 0
        obs = (
            "Variables X, Z, Y. One of X or Z causes Y; a hidden factor drives both.\n"
            "Actions: 'observe', 'do X=1', 'answer X'. "
            f"You have {self.budget} experiments."
        )
        return obs, {}

    def _flip(self, arr):
        flips = self.rng.random(arr.shape) < self.noise
        return np.where(flips, 1 - arr, arr)

    def _simulate(self, do=None):
        do = do or {}
        u = self.rng.integers(0, 2, size=self.n_samples)
        data = {"X": self._flip(u), "Z": self._flip(u)}
        for k, v in do.items():
            if k in data:
                data[k] = np.full(self.n_samples, v)
        data["Y"] = self._flip(data[self.cause])
        if "Y" in do:
            data["Y"] = np.full(self.n_samples, do["Y"])
        return data

    @staticmethod
    def _summary(data):
        means = {k: float(np.mean(v)) for k, v in data.items()}
        parts = [f"P({k}=1)={m:.2f}" for k, m in means.items()]
        if np.std(data["X"]) > 0 and np.std(data["Y"]) > 0:
            corr = np.corrcoef(data["X"], data["Y"])[0, 1]
            parts.append(f"corr(X,Y)={corr:+.2f}")
        return ", ".join(parts), means

    def step(self, action):
        action = action.strip()
        if action.startswith("answer"):
            guess = action.split()[-1].upper()
            correct = guess == self.cause
            reward = 5.0 if correct else -5.0
            return ("Correct." if correct else f"Wrong, it was {self.cause}."), reward, True, False, {"cause": self.cause}

        self.used += 1
        truncated = self.used >= self.budget
        if action == "observe":
            text, means = self._summary(self._simulate())
            return text, means["Y"] - 0.5, False, truncated, {}
        if action.startswith("do "):
            try:
                var, value = action[3:].split("=")
                value = int(value)
            except ValueError:
                return "Could not parse intervention.", -0.5, False, truncated, {}
            text, means = self._summary(self._simulate({var.strip(): value}))
            return f"[do {var}={value}] {text}", means["Y"] - 0.5, False, truncated, {}
        return "Unknown action.", -0.5, False, truncated, {}
