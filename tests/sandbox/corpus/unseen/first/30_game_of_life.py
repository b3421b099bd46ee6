# seed: 6
# actions: ["toggle 2 3", "step", "step 3", "toggle 20 1", "glider 1 1", "step 5", "block 0 6", "step 1", "show", "finish"]
# expect_total: 4.6 after 10 steps
import numpy as np


class LifeEnv:
    """Conway's Game of Life: reach the target population by seeding patterns."""

    PATTERNS = {
        "glider": [(0, 1), (1, 2), (2, 0), (2, 1), (2, 2)],
        "block": [(0, 0), (0, 1), (1, 0), (1, 1)],
        "blinker": [(0, 0), (0, 1), (0, 2)],
    }

    def __init__(self, size=10, density=0.25):
        self.size = size
        self.density = density

    def reset(self, seed=None):
        rng = np.random.RandomState(seed)
        self.grid = (rng.rand(self.size, self.size) < self.density).astype(int)
        self.target = int(rng.randint(15, 35))
        self.generation = 0
        self.actions_left = 12
        return self.render()

    def evolve(self):
        n = sum(
            np.roll(np.roll(self.grid, dr, axis=0), dc, axis=1)
            for dr in (-1, 0, 1)
            for dc in (-1, 0, 1)
            if (dr, dc) != (0, 0)
        )
        self.grid = ((n == 3) | ((self.grid == 1) & (n == 2))).astype(int)
        self.generation += 1

    def render(self):
        rows = ["".join("#" if x else "." for x in row) for row in self.grid]
        head = f"Generation {self.generation}, population {self.grid.sum()}, target {self.target}"
        return "\n".join([head] + rows)

    def step(self, action):
        self.actions_left -= 1
        before = abs(int(self.grid.sum()) - self.target)
        parts = action.split()
        cmd, args = parts[0], [int(a) for a in parts[1:]]
        penalty = 0.0
        if cmd == "step":
            for _ in range(min(args[0] if args else 1, 10)):
                self.evolve()
        elif cmd == "toggle" and len(args) == 2:
            r, c = args
            if 0 <= r < self.size and 0 <= c < self.size:
                self.grid[r, c] ^= 1
            else:
                penalty = 0.5
        elif cmd in self.PATTERNS and len(args) == 2:
            for dr, dc in self.PATTERNS[cmd]:
                self.grid[(args[0] + dr) % self.size, (args[1] + dc) % self.size] = 1
        elif cmd == "finish":
            return self.render(), 5.0 - 0.5 * before, True, {"population": int(self.grid.sum())}
        elif cmd != "show":
            penalty = 0.5
        after = abs(int(self.grid.sum()) - self.target)
        reward = 0.1 * (before - after) - penalty
        done = self.actions_left <= 0
        return self.render(), reward, done, {"population": int(self.grid.sum())}
