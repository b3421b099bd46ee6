# seed: 26
# actions: ["1 1 4", "1 2 3", "hint", "2 2 2", "9 9 9", "hint", "3 4 1", "candidates 1 1", "hint", "hint", "erase 1 1", "4 4 4", "solve"]
# expect_total: -1.65 after 13 steps
import random
from typing import List, Optional, Set, Tuple

import numpy as np


class MiniSudokuEnv:
    """A 4x4 Sudoku (2x2 boxes) with a guaranteed unique solution.

    Actions:
        "ROW COL VALUE"       place a value (1-based)
        "erase ROW COL"       clear a cell
        "candidates ROW COL"  list the possible values (-0.05)
        "hint"                fills the first empty cell correctly (-0.3)
    """

    N = 4

    def __init__(self, holes: int = 9, max_steps: int = 40):
        self.holes = holes
        self.max_steps = max_steps

    def _options(self, grid: np.ndarray, r: int, c: int) -> Set[int]:
        br, bc = 2 * (r // 2), 2 * (c // 2)
        used = set(grid[r].tolist()) | set(grid[:, c].tolist()) | set(grid[br:br + 2, bc:bc + 2].flatten().tolist())
        return set(range(1, self.N + 1)) - used

    def _count(self, grid: np.ndarray, limit: int = 2) -> int:
        empty = np.argwhere(grid == 0)
        if len(empty) == 0:
            return 1
        r, c = min(empty.tolist(), key=lambda rc: len(self._options(grid, *rc)))
        total = 0
        for v in sorted(self._options(grid, r, c)):
            grid[r, c] = v
            total += self._count(grid, limit - total)
            grid[r, c] = 0
            if total >= limit:
                break
        return total

    def reset(self, seed: Optional[int] = None):
        self.rng = random.Random(seed)
        base = np.array([[1, 2, 3, 4], [3, 4, 1, 2], [2, 1, 4, 3], [4, 3, 2, 1]])
        perm = [0] + self.rng.sample(range(1, 5), 4)
        grid = np.vectorize(perm.__getitem__)(base)
        if self.rng.random() < 0.5:
            grid = grid.T
        grid = grid[self.rng.choice([[0, 1, 2, 3], [1, 0, 2, 3], [2, 3, 0, 1], [3, 2, 1, 0]])]
        self.solution = grid.copy()
        cells = [(r, c) for r in range(4) for c in range(4)]
        self.rng.shuffle(cells)
        self.grid = grid.copy()
        removed = 0
        for r, c in cells:
            if removed == self.holes:
                break
            keep = self.grid[r, c]
            self.grid[r, c] = 0
            if self._count(self.grid.copy()) != 1:
                self.grid[r, c] = keep
            else:
                removed += 1
        self.fixed = self.grid != 0
        self.t = 0
        return self._render()

    def _render(self) -> str:
        rows = []
        for i, row in enumerate(self.grid):
            if i == 2:
                rows.append("----+----")
            rows.append(" ".join(map(str, row[:2])).replace("0", ".") + " | " + " ".join(map(str, row[2:])).replace("0", "."))
        return "\n".join(rows)

    def step(self, action: str) -> Tuple[str, float, bool, dict]:
        self.t += 1
        done = self.t >= self.max_steps
        words: List[str] = action.split()
        if words == ["hint"]:
            r, c = np.argwhere(self.grid == 0)[0]
            self.grid[r, c] = self.solution[r, c]
            reward = -0.3
        else:
            try:
                numbers = [int(w) for w in words if w.isdigit()]
                r, c = numbers[0] - 1, numbers[1] - 1
                if not (0 <= r < 4 and 0 <= c < 4):
                    raise IndexError
            except IndexError:
                return "Invalid action.\n" + self._render(), -0.1, done, {}
            if words[0] == "candidates":
                return f"Candidates: {sorted(self._options(self.grid, r, c))}", -0.05, done, {}
            if self.fixed[r, c]:
                return "That cell is given.", -0.1, done, {}
            if words[0] == "erase":
                self.grid[r, c] = 0
                reward = -0.05
            elif numbers[2] in self._options(self.grid, r, c):
                self.grid[r, c] = numbers[2]
                reward = 0.2 if self.solution[r, c] == numbers[2] else -0.2
            else:
                return "Conflict.\n" + self._render(), -0.2, done, {}
        if np.array_equal(self.grid, self.solution):
            return self._render() + "\nSolved!", reward + 2.0, True, {}
        return self._render(), reward, done, {"empty": int((self.grid == 0).sum())}
