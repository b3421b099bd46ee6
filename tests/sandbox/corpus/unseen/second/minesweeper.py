# seed: 31
# actions: [[0, 0, "reveal"], [4, 4, "reveal"], [0, 0, "reveal"], [2, 3, "flag"], [9, 9, "reveal"], [5, 0, "reveal"], [0, 5, "reveal"], [3, 2, "reveal"], [1, 1, "reveal"]]
# expect_total: -1.025806451612903 after 8 steps
"""Minesweeper with numpy arrays. Action: [row, col, "reveal" | "flag"]."""
import numpy as np
from collections import deque


class MinesweeperEnv:
    HIDDEN, FLAG = -1, -2

    def __init__(self, height=6, width=6, n_mines=5):
        self.height = height
        self.width = width
        self.n_mines = n_mines

    def reset(self, seed=None):
        rng = np.random.default_rng(seed)
        self.mines = np.zeros((self.height, self.width), dtype=bool)
        picks = rng.choice(self.height * self.width, size=self.n_mines, replace=False)
        self.mines.flat[picks] = True
        padded = np.pad(self.mines.astype(int), 1)
        self.counts = sum(
            padded[1 + dr : 1 + dr + self.height, 1 + dc : 1 + dc + self.width]
            for dr in (-1, 0, 1)
            for dc in (-1, 0, 1)
            if (dr, dc) != (0, 0)
        )
        self.visible = np.full((self.height, self.width), self.HIDDEN)
        self.steps = 0
        return self._render(), {"mines": self.n_mines}

    def _neighbours(self, r, c):
        for dr in (-1, 0, 1):
            for dc in (-1, 0, 1):
                rr, cc = r + dr, c + dc
                if (dr or dc) and 0 <= rr < self.height and 0 <= cc < self.width:
                    yield rr, cc

    def _flood(self, r, c):
        opened = 0
        queue = deque([(r, c)])
        while queue:
            r, c = queue.popleft()
            if self.visible[r, c] >= 0 or self.mines[r, c]:
                continue
            self.visible[r, c] = self.counts[r, c]
            opened += 1
            if self.counts[r, c] == 0:
                queue.extend(self._neighbours(r, c))
        return opened

    def _render(self):
        symbols = {self.HIDDEN: "#", self.FLAG: "F", 0: "."}
        header = "  " + " ".join(str(c) for c in range(self.width))
        rows = [f"{r} " + " ".join(symbols.get(int(v), str(int(v))) for v in row) for r, row in enumerate(self.visible)]
        return "\n".join([header] + rows)

    def step(self, action):
        self.steps += 1
        row, col, kind = action
        if not (0 <= row < self.height and 0 <= col < self.width):
            return self._render(), -0.5, False, False, {"error": "out of range"}
        if kind == "flag":
            if self.visible[row, col] >= 0:
                return self._render(), -0.1, False, False, {}
            new = self.HIDDEN if self.visible[row, col] == self.FLAG else self.FLAG
            self.visible[row, col] = new
            return self._render(), 0.0, False, False, {}
        if self.visible[row, col] >= 0:
            return self._render(), -0.1, False, False, {"error": "already open"}
        if self.mines[row, col]:
            self.visible[self.mines] = 9
            return "BOOM\n" + self._render(), -1.0, True, False, {"won": False}
        opened = self._flood(row, col)
        safe = self.height * self.width - self.n_mines
        won = int((self.visible >= 0).sum()) == safe
        reward = opened / safe + (1.0 if won else 0.0)
        return self._render(), reward, bool(won), self.steps >= 60, {"won": won, "opened": opened}
