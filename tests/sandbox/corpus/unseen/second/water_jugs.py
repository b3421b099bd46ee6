# seed: 2
# actions: ["fill 1", "pour 1 2", "fill 1", "pour 1 2", "empty 2", "pour 1 2", "fill 3", "pour 3 1", "drink", "empty 1", "pour 3 1", "pour 2 2"]
# expect_total: 1.1 after 4 steps
import random
from collections import deque
from math import gcd


class WaterJugEnv:
    """Measure exactly the target amount using jugs without markings."""

    def __init__(self):
        self.capacities = ()
        self.levels = ()
        self.target = 0
        self.steps = 0

    def reset(self, seed=None):
        rng = random.Random(seed)
        while True:
            self.capacities = tuple(rng.sample(range(3, 12), 2) + [rng.randint(2, 5)])
            g = gcd(*self.capacities)
            self.target = rng.randint(1, max(self.capacities) - 1)
            if self.target % g == 0:
                break
        self.levels = (0,) * len(self.capacities)
        self.steps = 0
        self.best = self.solve(self.levels)
        return self.obs(), {"shortest": self.best}

    def successors(self, levels):
        n = len(levels)
        for i in range(n):
            yield tuple(self.capacities[i] if k == i else v for k, v in enumerate(levels))
            yield tuple(0 if k == i else v for k, v in enumerate(levels))
            for j in range(n):
                if i != j:
                    yield self.poured(levels, i, j)

    def poured(self, levels, i, j):
        amount = min(levels[i], self.capacities[j] - levels[j])
        new = list(levels)
        new[i] -= amount
        new[j] += amount
        return tuple(new)

    def solve(self, start):
        seen = {start}
        queue = deque([(start, 0)])
        while queue:
            levels, depth = queue.popleft()
            if self.target in levels:
                return depth
            for nxt in self.successors(levels):
                if nxt not in seen:
                    seen.add(nxt)
                    queue.append((nxt, depth + 1))
        return None

    def obs(self, note=""):
        jugs = ", ".join(f"jug {i + 1}: {v}/{c}" for i, (v, c) in enumerate(zip(self.levels, self.capacities)))
        return f"{note}{jugs}. Target: {self.target} litres."

    def step(self, action):
        self.steps += 1
        try:
            verb, *nums = action.split()
            idx = [int(n) - 1 for n in nums]
            if any(not 0 <= i < len(self.levels) for i in idx):
                raise ValueError("no such jug")
            if verb == "fill":
                (i,) = idx
                new = tuple(self.capacities[i] if k == i else v for k, v in enumerate(self.levels))
            elif verb == "empty":
                (i,) = idx
                new = tuple(0 if k == i else v for k, v in enumerate(self.levels))
            elif verb == "pour":
                i, j = idx
                if i == j:
                    raise ValueError("pour into another jug")
                new = self.poured(self.levels, i, j)
            else:
                raise ValueError(f"unknown verb {verb}")
        except ValueError as err:
            return self.obs(f"Error: {err}. "), -0.2, False, self.steps >= 25, {}
        old_depth = self.solve(self.levels)
        self.levels = new
        new_depth = self.solve(new)
        done = self.target in new
        reward = 0.1 * (old_depth - new_depth) + (1.0 if done else 0.0)
        return self.obs(), reward, done, self.steps >= 25, {"remaining": new_depth}
