# seed: 10
# actions: ["S", "S", "E", "N", "hint", "hint", "E", "hint", "S", "auto 20"]
# expect_total: 0.405 after 10 steps
"""Perfect maze, carved with a generator; private (name-mangled) internals."""
import random
from collections import deque


class Maze:
    __DIRS = {"N": (-1, 0), "S": (1, 0), "W": (0, -1), "E": (0, 1)}

    def __init__(self, rows, cols, rng):
        self.__rows, self.__cols = rows, cols
        self.__rng = rng
        self.__open = set()
        self.__carved = sum(1 for _ in self.__carve())

    def __carve(self):
        seen, stack = {(0, 0)}, [(0, 0)]
        while stack:
            cell = stack[-1]
            options = [(d, n) for d, n in self.__around(cell) if n not in seen]
            if not options:
                stack.pop()
                continue
            _, nxt = self.__rng.choice(options)
            self.__open.add(frozenset((cell, nxt)))
            seen.add(nxt)
            stack.append(nxt)
            yield nxt

    def __around(self, cell):
        r, c = cell
        for name, (dr, dc) in self.__DIRS.items():
            if 0 <= (rr := r + dr) < self.__rows and 0 <= (cc := c + dc) < self.__cols:
                yield name, (rr, cc)

    def exits(self, cell):
        return {d: n for d, n in self.__around(cell) if frozenset((cell, n)) in self.__open}

    @property
    def carved(self):
        return self.__carved

    def path(self, start, goal):
        queue, prev = deque([start]), {start: None}
        while queue:
            here = queue.popleft()
            if here == goal:
                break
            for d, n in self.exits(here).items():
                if n not in prev:
                    prev[n] = (here, d)
                    queue.append(n)
        out = []
        while (step := prev[goal]) is not None:
            goal, d = step
            out.append(d)
        return out[::-1]


def make_counter(start=0):
    count = start

    def bump(by=1):
        nonlocal count
        count += by
        return count

    return bump


class MazeEnv:
    def __init__(self, rows=5, cols=5):
        self.shape = rows, cols

    def reset(self, seed=None):
        self.__maze = Maze(*self.shape, random.Random(seed))
        self.__pos = (0, 0)
        self.__goal = (self.shape[0] - 1, self.shape[1] - 1)
        self.__bump = make_counter()
        return self.__look()

    def __look(self):
        return f"at {self.__pos}, exits: {''.join(sorted(self.__maze.exits(self.__pos)))}"

    def __move(self, d):
        exits = self.__maze.exits(self.__pos)
        if d not in exits:
            return -0.1
        before = len(self.__maze.path(self.__pos, self.__goal))
        self.__pos = exits[d]
        return 0.05 * (before - len(self.__maze.path(self.__pos, self.__goal)))

    def step(self, action):
        n = self.__bump()
        if action == "hint":
            way = self.__maze.path(self.__pos, self.__goal)
            return f"try {way[0]}", -0.02 * len(way), False, {"n": n}
        if action.startswith("auto"):
            limit = int(action.split()[1])
            reward = sum(self.__move(d) for d in self.__maze.path(self.__pos, self.__goal)[:limit]) / 2
        else:
            reward = self.__move(action)
        done = self.__pos == self.__goal
        return self.__look(), reward + (1 if done else 0), done, {"n": n, "carved": self.__maze.carved}
