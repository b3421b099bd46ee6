# seed: 8
# actions: ["swap 0 1", "scale 0 0.5", "add 0 1 -2", "rank", "add 0 2 1.5", "scale 5 1", "solve 1 2 3", "det", "residual 1 1 1", "solve 0 0 0", "skip"]
# expect_total: -1.44 after 11 steps
"""Gaussian elimination tutor."""

import numpy as np


class LinearSystemEnv:
    """Solve a 3x3 integer linear system with elementary row operations.

    Commands
    --------
    swap i j        exchange rows
    scale i k       multiply row i by k
    add i j k       row_j += k * row_i
    rank / det      show a property of the matrix (small cost)
    residual x y z  norm of A x - b
    solve x y z     final answer
    """

    def __init__(self, n=3, max_steps=25):
        self.n = n
        self.max_steps = max_steps
        np.set_printoptions(precision=3, suppress=True)

    def reset(self, seed=None):
        rng = np.random.default_rng(seed)
        while True:
            A = rng.integers(-4, 5, size=(self.n, self.n)).astype(float)
            if abs(np.linalg.det(A)) > 0.5:
                break
        self.x = rng.integers(-3, 4, size=self.n).astype(float)
        self.M = np.hstack([A, (A @ self.x)[:, None]])
        self.A0, self.b0 = A.copy(), A @ self.x
        self.steps = 0
        self.zeros = self._zeros()
        return self._fmt()

    def _zeros(self):
        return int(np.sum(np.isclose(np.tril(self.M[:, : self.n], -1), 0.0)))

    def _fmt(self):
        return np.array2string(self.M, separator=", ")

    def step(self, action):
        self.steps += 1
        truncated = self.steps >= self.max_steps
        cmd, *raw = action.split()
        info = {"steps": self.steps}
        try:
            if cmd == "swap":
                i, j = map(int, raw)
                self.M[[i, j]] = self.M[[j, i]]
            elif cmd == "scale":
                i, k = int(raw[0]), float(raw[1])
                if k == 0:
                    raise ValueError("scale by zero")
                self.M[i] *= k
            elif cmd == "add":
                i, j, k = int(raw[0]), int(raw[1]), float(raw[2])
                self.M[j] += k * self.M[i]
            elif cmd == "rank":
                return f"rank = {np.linalg.matrix_rank(self.M[:, :self.n])}", -0.05, False, truncated, info
            elif cmd == "det":
                return f"det = {np.linalg.det(self.M[:, :self.n]):.3f}", -0.05, False, truncated, info
            elif cmd == "residual":
                guess = np.array([float(v) for v in raw])
                return f"|r| = {np.linalg.norm(self.A0 @ guess - self.b0):.3f}", -0.1, False, truncated, info
            elif cmd == "solve":
                guess = np.array([float(v) for v in raw])
                if np.allclose(guess, self.x, atol=1e-6):
                    return "Correct!", 5.0, True, truncated, info
                return f"Incorrect: {np.count_nonzero(np.isclose(guess, self.x))} of {self.n} entries match.", -0.5, False, truncated, info
            else:
                return f"Unknown command {cmd}", -0.1, False, truncated, info
        except (ValueError, IndexError) as exc:
            return f"Error: {exc}", -0.1, False, truncated, info
        z = self._zeros()
        reward = 0.2 * (z - self.zeros) - 0.01
        self.zeros = z
        return self._fmt(), reward, False, truncated, info
