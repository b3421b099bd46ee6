# seed: 10
# actions: ["r1c1=9", "r1c1=4", "r1c3=3", "r2c1=1", "r2c3=2", "r3c2=4", "r3c3=1", "r3c4=3", "r4c3=4"]
# expect_total: 1.7000000000000002 after 9 steps
"""4x4 sudoku: fill in digits with commands like 'r1c2=3'."""
import copy
import random
import re


def candidates(grid, r, c):
    used = set(grid[r]) | {grid[i][c] for i in range(4)}
    br, bc = r // 2 * 2, c // 2 * 2
    used |= {grid[br + i][bc + j] for i in range(2) for j in range(2)}
    return [d for d in range(1, 5) if d not in used]


def solve(grid, rng=None, limit=2):
    """Yield solutions of the grid (at most `limit`)."""
    found = 0

    def rec(g):
        nonlocal found
        empties = [(len(candidates(g, r, c)), r, c) for r in range(4) for c in range(4) if g[r][c] == 0]
        if not empties:
            found += 1
            yield copy.deepcopy(g)
            return
        _, r, c = min(empties)
        options = candidates(g, r, c)
        if rng is not None:
            rng.shuffle(options)
        for d in options:
            g[r][c] = d
            yield from rec(g)
            g[r][c] = 0
            if found >= limit:
                return

    yield from rec(copy.deepcopy(grid))


class Env:
    pattern = re.compile(r"r(\d)\s*c(\d)\s*=\s*(\d)")

    def reset(self, seed=None):
        rng = random.Random(seed)
        self.solution = next(solve([[0] * 4 for _ in range(4)], rng))
        self.puzzle = copy.deepcopy(self.solution)
        cells = [(r, c) for r in range(4) for c in range(4)]
        rng.shuffle(cells)
        for r, c in cells:
            if sum(row.count(0) for row in self.puzzle) >= 8:
                break
            keep = self.puzzle[r][c]
            self.puzzle[r][c] = 0
            if len(list(solve(self.puzzle))) != 1:
                self.puzzle[r][c] = keep
        self.grid = copy.deepcopy(self.puzzle)
        self.given = {(r, c) for r, c in cells if self.puzzle[r][c]}
        self.moves = self.wrong = 0
        return self.draw(), {"empty": self.empty}

    @property
    def empty(self):
        return sum(v == 0 for row in self.grid for v in row)

    def draw(self, note=""):
        sep = "+---+---+"
        out = [sep]
        for r, row in enumerate(self.grid):
            a, b, c, d = ("." if v == 0 else str(v) for v in row)
            out.append(f"|{a} {b}|{c} {d}|")
            if r % 2:
                out.append(sep)
        out.append("Fill a cell with rXcY=D (rows and columns count from 1).")
        return (note + "\n" if note else "") + "\n".join(out)

    def step(self, action):
        self.moves += 1
        m = self.pattern.search(action.lower())
        if m is None:
            return self.draw("Not understood."), -0.1, False, self.moves >= 24, {"empty": self.empty}
        r, c, d = (int(x) for x in m.groups())
        r, c = r - 1, c - 1
        if not (0 <= r < 4 and 0 <= c < 4 and 1 <= d <= 4) or (r, c) in self.given:
            return self.draw("That cell cannot be changed."), -0.1, False, self.moves >= 24, {"empty": self.empty}
        if d not in candidates(self.grid, r, c):
            self.wrong += 1
            return self.draw(f"{d} already appears in the row, column or box."), -0.2, self.wrong >= 3, False, {"empty": self.empty}
        self.grid[r][c] = d
        reward = 0.1 if self.solution[r][c] == d else -0.1
        done = self.grid == self.solution
        if done:
            reward += 1.0
        return self.draw("Solved!" if done else "OK."), reward, done, not done and self.moves >= 24, {"empty": self.empty}
