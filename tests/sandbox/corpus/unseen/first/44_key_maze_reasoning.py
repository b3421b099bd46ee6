# seed: 27
# actions: ["look", "e", "e", "s", "take key", "w", "s", "e", "e", "n", "map", "xyzzy", "s", "s", "unlock", "e", "s"]
# expect_total: -0.27 after 17 steps
"""
Maze with a key and a door.

Thinking through the requirements:

1. The maze has to be perfect (exactly one route between two cells), so I carve
   it with a randomized depth-first search. Recursion would be the obvious way,
   but an explicit stack avoids the recursion limit for large mazes.

2. The key has to be reachable before the door. In a perfect maze I put the exit
   at the cell farthest from the start (BFS), the door directly before the exit,
   and the key at the farthest cell that is not behind the door. Because the
   exit is a BFS-farthest cell it's a leaf, so nothing but the exit is behind
   the door. Good, the puzzle is always solvable.

3. Reward: potential-based shaping on the BFS distance to the current subgoal
   (key, then exit). Potential-based shaping doesn't change the optimal policy.
   When the subgoal changes, the potential must be recomputed, otherwise picking
   up the key would give a huge negative reward.
"""
import random
from collections import deque

DIRS = {"n": (0, -1), "s": (0, 1), "e": (1, 0), "w": (-1, 0)}
OPP = dict(n="s", s="n", e="w", w="e")


class MazeEnv:
    W, H = 5, 4

    def reset(self, seed=None):
        self.rng = random.Random(seed)
        self.open = {(x, y): set() for x in range(self.W) for y in range(self.H)}
        stack, seen = [(0, 0)], {(0, 0)}
        while stack:
            x, y = stack[-1]
            options = []
            for d, (dx, dy) in DIRS.items():
                nxt = (x + dx, y + dy)
                if nxt in self.open and nxt not in seen:
                    options.append((d, nxt))
            if not options:
                stack.pop()
                continue
            d, nxt = self.rng.choice(options)
            self.open[(x, y)].add(d)
            self.open[nxt].add(OPP[d])
            seen.add(nxt)
            stack.append(nxt)
        dist = self.bfs((0, 0))
        # ties broken by coordinates so that the result is deterministic
        ranked = sorted(dist, key=lambda c: (dist[c], c), reverse=True)
        self.exit, self.key = ranked[0], ranked[1]
        self.pos = (0, 0)
        self.has_key = False
        self.unlocked = False
        self.t = 0
        self.potential = self._phi()
        return self.describe()

    def bfs(self, start):
        dist = {start: 0}
        q = deque([start])
        while q:
            c = q.popleft()
            for d in self.open[c]:
                n = (c[0] + DIRS[d][0], c[1] + DIRS[d][1])
                if n not in dist:
                    dist[n] = dist[c] + 1
                    q.append(n)
        return dist

    def _phi(self):
        goal = self.exit if self.has_key else self.key
        return -self.bfs(goal)[self.pos]

    def describe(self):
        exits = [d for d in "nesw" if d in self.open[self.pos]]
        text = f"You are at {self.pos}. Exits: {', '.join(exits)}."
        if self.pos == self.key and not self.has_key:
            text += " A key lies here."
        if self._door_dir() in exits and not self.unlocked:
            text += f" There is a locked door to the {self._door_dir()}."
        return text

    def _door_dir(self):
        for d, (dx, dy) in DIRS.items():
            if (self.pos[0] + dx, self.pos[1] + dy) == self.exit and d in self.open[self.pos]:
                return d
        return None

    def step(self, action):
        self.t += 1
        truncated = self.t >= 60
        action = action.strip().lower()
        reward = -0.01
        if action in DIRS:
            if action not in self.open[self.pos]:
                return "A wall blocks the way.", reward - 0.05, False, truncated, {}
            if action == self._door_dir() and not self.unlocked:
                return "The door is locked.", reward, False, truncated, {}
            dx, dy = DIRS[action]
            self.pos = (self.pos[0] + dx, self.pos[1] + dy)
        elif action == "take key" and self.pos == self.key and not self.has_key:
            self.has_key = True
            # subgoal changes here: recompute without reward
            self.potential = self._phi()
            return "Taken.", 0.5, False, truncated, {}
        elif action == "unlock" and self.has_key and self._door_dir():
            self.unlocked = True
            return "Click!", 0.25, False, truncated, {}
        elif action == "look":
            return self.describe(), 0.0, False, truncated, {}
        elif action == "map":
            rows = []
            for y in range(self.H):
                rows.append("".join("@" if (x, y) == self.pos else "+" if "e" in self.open[(x, y)] else "|" for x in range(self.W)))
            return "\n".join(rows), -0.1, False, truncated, {}
        else:
            return "You can't do that.", -0.05, False, truncated, {}
        phi = self._phi()
        reward += 0.05 * (phi - self.potential)
        self.potential = phi
        if self.pos == self.exit:
            return "You escape!", reward + 1.0, True, False, {"steps": self.t}
        return self.describe(), reward, False, truncated, {}
