# seed: 19
# actions: [{"op": "swap", "i": 0, "j": 2}, {"op": "add", "src": 0, "dst": 1, "k": -2}, {"op": "add", "src": 0, "dst": 2, "k": 1}, {"op": "scale", "i": 1, "k": 0}, {"op": "auto"}, {"op": "auto"}, {"op": "auto"}, {"op": "check"}]
# expect_total: 1.08 after 8 steps
import numpy as np

# Row-reduction game: bring the matrix into upper triangular form.
# Reward is the decrease of the absolute mass strictly below the diagonal.


def lower_mass(m):
    return float(np.abs(np.tril(m, k=-1)).sum())


def is_upper(m, eps=1e-9):
    return np.allclose(m, np.triu(m), atol=eps)


class RowReduceEnv:
    N = 4

    def reset(self, seed=None):
        rng = np.random.RandomState(seed)
        self.m = rng.randint(-3, 4, size=(self.N, self.N)).astype(float)
        self.m[np.diag_indices(self.N)] += 5
        self.det = np.linalg.det(self.m)
        self.sign = 1
        self.count = 0
        return self.m.tolist()

    def _eliminate_next(self):
        below = np.argwhere(np.abs(np.tril(self.m, -1)) > 1e-9)
        if below.size == 0:
            return
        col = below[:, 1].min()
        rows = below[below[:, 1] == col, 0]
        pivot = self.m[col]
        factors = self.m[rows, col] / pivot[col]
        self.m[rows] -= np.outer(factors, pivot)

    def step(self, action):
        self.count += 1
        op = action["op"]
        before = lower_mass(self.m)
        if op == "swap":
            i, j = action["i"], action["j"]
            self.m[[i, j]] = self.m[[j, i]]
            self.sign *= -1
        elif op == "add":
            self.m[action["dst"]] += action["k"] * self.m[action["src"]]
        elif op == "scale":
            if action["k"] == 0:
                return self.m.tolist(), -1.0, False, {"error": "scaling by zero"}
            self.m[action["i"]] *= action["k"]
        elif op == "auto":
            self._eliminate_next()
        reward = (before - lower_mass(self.m)) / 10 - 0.02
        done = False
        if op == "check":
            same = np.isclose(self.sign * np.prod(np.diag(self.m)), self.det)
            ok = is_upper(self.m)
            reward = 1.0 if ok and same else 0.3 if same else 0.0
            done = True
        stats = {
            "trace": float(np.trace(self.m)),
            "frob": float(np.sqrt(np.einsum("ij,ij->", self.m, self.m))),
            "rank": int(np.linalg.matrix_rank(self.m)),
            "gram_diag": np.einsum("ij,ij->i", self.m, self.m).round(3).tolist(),
        }
        return np.round(self.m, 6).tolist(), reward, done, stats
