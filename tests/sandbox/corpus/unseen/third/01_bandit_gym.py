# seed: 22
# actions: ["pull gold", "pull ruby", "pull opal", "pull ruby", "pull opal", "pull jade", "pull onyx", "pull opal", "pull jade", "pull onyx", "pull onyx", "pull onyx", "pull ruby", "pull onyx", "pull ruby", "pull ruby", "pull ruby", "pull onyx", "pull onyx", "pull ruby"]
# expect_total: 8.938 after 20 steps
"""Contextual bandit with hidden arm means, gymnasium-like base class, numpy statistics."""
import numpy as np


class Env_:
    """Minimal stand-in for gymnasium.Env."""

    metadata = {"render_modes": []}
    reward_range = (-float("inf"), float("inf"))
    spec = None

    def reset(self, *, seed=None, options=None):
        self.np_random = np.random.default_rng(seed)

    def step(self, action):
        raise NotImplementedError

    def close(self):
        pass

    @property
    def unwrapped(self):
        return self

    def __enter__(self):
        return self

    def __exit__(self, *args):
        self.close()
        return False


class Env(Env_):
    metadata = {"render_modes": ["ansi"]}
    arms = ("ruby", "opal", "jade", "onyx")
    contexts = ("morning", "evening")
    horizon = 20

    def reset(self, seed=None, options=None):
        super().reset(seed=seed)
        k, m = len(self.arms), len(self.contexts)
        self.means = self.np_random.normal(0.0, 1.0, size=(m, k)).round(2)
        self.means -= self.means.mean(axis=1, keepdims=True)
        self.pulls = np.zeros((m, k), dtype=int)
        self.sums = np.zeros((m, k))
        self.t = 0
        self.regret = 0.0
        self.ctx = int(self.np_random.integers(m))
        return self._get_obs(), self._get_info()

    def _estimates(self):
        with np.errstate(invalid="ignore", divide="ignore"):
            return np.where(self.pulls > 0, self.sums / self.pulls, np.nan)

    def _get_obs(self, last=None):
        est = self._estimates()
        header = " " * 10 + "".join(f"{a:>12}" for a in self.arms)
        body = []
        for name, pulls, row in zip(self.contexts, self.pulls, est):
            cells = "".join(f"{'?' if np.isnan(v) else format(v, '+.2f'):>8}({n:>2})" for v, n in zip(row, pulls))
            body.append(f"{name:<10}{cells}")
        top = [] if last is None else [last]
        return "\n".join([*top, f"Pull {self.t + 1} of {self.horizon}. It is {self.contexts[self.ctx]}.", header, *body, "Say 'pull ARM'."])

    def _get_info(self):
        return {"regret": round(float(self.regret), 4), "pulls": self.pulls.sum(axis=1).tolist()}

    def step(self, action):
        arm_name = action.lower().replace("pull", "").strip()
        self.t += 1
        if arm_name in self.arms:
            arm = self.arms.index(arm_name)
            payoff = float(np.round(self.means[self.ctx, arm] + 0.3 * self.np_random.standard_normal(), 3))
            self.pulls[self.ctx, arm] += 1
            self.sums[self.ctx, arm] += payoff
            self.regret += self.means[self.ctx].max() - self.means[self.ctx, arm]
            last = f"{arm_name} pays {payoff:+.3f}."
        else:
            payoff, last = -1.0, f"There is no arm {arm_name!r}."
        self.ctx = int(self.np_random.integers(len(self.contexts)))
        done = self.t >= self.horizon
        if done:
            best = self.means.argmax(axis=1)
            guess = np.nan_to_num(self._estimates(), nan=-9.0).argmax(axis=1)
            payoff += 0.5 * int((best == guess).sum())
        return self._get_obs(last), payoff, False, done, self._get_info()
