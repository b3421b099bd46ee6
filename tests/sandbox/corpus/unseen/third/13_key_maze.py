# seed: 1
# actions: ["jump", "south", "south", "north", "north", "north", "east", "east", "east", "south", "south", "east", "east", "north", "east"]
# expect_total: 1.6 after 15 steps
# Grid world with coloured keys and doors. The agent has to plan which key to fetch first.
import random
from collections import deque
from enum import Enum


class Direction(Enum):
    NORTH = (-1, 0)
    SOUTH = (1, 0)
    EAST = (0, 1)
    WEST = (0, -1)

    @classmethod
    def parse(cls, text):
        text = text.strip().lower()
        for d in cls:
            if d.name.lower() == text or d.name[0].lower() == text:
                return d
        return None

    @property
    def delta(self):
        return self.value


class Env:
    SIZE = 7
    MAX_STEPS = 60
    KEYS = "abc"

    def __init__(self):
        self.grid = []
        self.pos = (0, 0)
        self.inventory = set()
        self.steps = 0

    def reset(self, seed=None):
        self.rng = random.Random(seed)
        while True:
            self._generate()
            if self._solvable():
                break
        self.inventory = set()
        self.steps = 0
        self.finished = False
        return self._observe("You wake up in a maze. Reach the goal G."), {"size": self.SIZE}

    def _generate(self):
        n = self.SIZE
        self.grid = [["#" if self.rng.random() < 0.18 else "." for _ in range(n)] for _ in range(n)]
        # two vertical walls, each with a door
        wall_cols = [2, 4]
        for col, key in zip(wall_cols, self.KEYS):
            for r in range(n):
                self.grid[r][col] = "#"
            self.grid[self.rng.randrange(n)][col] = key.upper()
        self.pos = (self.rng.randrange(n), 0)
        self.grid[self.pos[0]][0] = "."
        # keys: 'a' left of first wall, 'b' in the middle strip
        for key, cols in (("a", (0, 1)), ("b", (3,))):
            free = [(r, c) for r in range(n) for c in cols if self.grid[r][c] == "." and (r, c) != self.pos]
            if free:
                r, c = self.rng.choice(free)
                self.grid[r][c] = key
        self.grid[self.rng.randrange(n)][n - 1] = "G"

    def _solvable(self):
        start = (self.pos, frozenset())
        queue = deque([start])
        seen = {start}
        while queue:
            (r, c), keys = queue.popleft()
            if self.grid[r][c] == "G":
                return True
            for d in Direction:
                dr, dc = d.delta
                nr, nc = r + dr, c + dc
                if not (0 <= nr < self.SIZE and 0 <= nc < self.SIZE):
                    continue
                cell = self.grid[nr][nc]
                if cell == "#" or (cell in "ABC" and cell.lower() not in keys):
                    continue
                nkeys = keys | {cell} if cell in self.KEYS else keys
                node = ((nr, nc), nkeys)
                if node not in seen:
                    seen.add(node)
                    queue.append(node)
        return False

    def _observe(self, message):
        rows = []
        for r, row in enumerate(self.grid):
            rows.append("".join("@" if (r, c) == self.pos else cell for c, cell in enumerate(row)))
        keys = ", ".join(sorted(self.inventory)) or "none"
        return f"{message}\n" + "\n".join(rows) + f"\nKeys: {keys} | Step {self.steps}/{self.MAX_STEPS}"

    def step(self, action):
        self.steps += 1
        reward, terminated = -0.01, False
        direction = Direction.parse(action)
        if direction is None:
            message = "Unknown command. Use north, south, east or west."
            reward -= 0.05
        else:
            r, c = (p + d for p, d in zip(self.pos, direction.delta))
            if not (0 <= r < self.SIZE and 0 <= c < self.SIZE) or self.grid[r][c] == "#":
                message = "You bump into a wall."
            elif (cell := self.grid[r][c]).isupper() and cell != "G" and cell.lower() not in self.inventory:
                message = f"Door {cell} is locked."
            else:
                self.pos = (r, c)
                message = f"You move {direction.name.lower()}."
                if cell in self.KEYS:
                    self.inventory.add(cell)
                    self.grid[r][c] = "."
                    reward += 0.2
                    message += f" You pick up key {cell}."
                elif cell in "ABC":
                    self.grid[r][c] = "."
                    self.inventory.discard(cell.lower())
                    reward += 0.2
                    message += f" You unlock door {cell}."
                elif cell == "G":
                    reward += 1.0
                    terminated = True
                    message += " You reached the goal!"
        truncated = self.steps >= self.MAX_STEPS and not terminated
        return self._observe(message), reward, terminated, truncated, {"pos": self.pos, "keys": sorted(self.inventory)}
