# seed: 5
# actions: ["E2", "A1", "C5", "Z9", "B5", "A1", "B4", "B2", "D4", "B3"]
# expect_total: 1.94 after 10 steps
"""Battleship on a 5x5 ocean with numpy; a hunting opponent shoots back."""
from dataclasses import dataclass
import numpy as np

SIZE = 5
FLEET = {"destroyer": 2, "cruiser": 3}


@dataclass
class Ship:
    name: str
    mask: np.ndarray

    def sunk(self, shots: np.ndarray) -> bool:
        return bool(np.all(shots[self.mask]))


class Ocean:
    def __init__(self, rng: np.random.Generator):
        self.grid = np.zeros((SIZE, SIZE), dtype=bool)
        self.shots = np.zeros_like(self.grid)
        self.ships = [self._place(name, n, rng) for name, n in FLEET.items()]

    def _place(self, name, length, rng):
        while True:
            horizontal = rng.integers(2) == 0
            r = rng.integers(0, SIZE if horizontal else SIZE - length + 1)
            c = rng.integers(0, SIZE - length + 1 if horizontal else SIZE)
            mask = np.zeros_like(self.grid)
            if horizontal:
                mask[r, c : c + length] = True
            else:
                mask[r : r + length, c] = True
            if not (mask & self.grid).any():
                self.grid |= mask
                return Ship(name, mask)

    def fire(self, r, c):
        if self.shots[r, c]:
            return None
        afloat = {s.name for s in self.ships if not s.sunk(self.shots)}
        self.shots[r, c] = True
        for ship in self.ships:
            if ship.name in afloat and ship.sunk(self.shots):
                return f"sunk {ship.name}"
        return "hit" if self.grid[r, c] else "miss"

    @property
    def hits(self):
        return self.shots & self.grid

    @property
    def defeated(self):
        return int(self.hits.sum()) == int(self.grid.sum())

    def render(self, reveal=False):
        chars = np.full(self.grid.shape, "~", dtype="<U1")
        if reveal:
            chars[self.grid] = "S"
        chars[self.shots & ~self.grid] = "o"
        chars[self.hits] = "X"
        rows = [f"{'ABCDE'[i]} " + " ".join(row) for i, row in enumerate(chars)]
        return "\n".join(["  " + " ".join(str(i + 1) for i in range(SIZE))] + rows)


class Gunner:
    """Shoots next to known hits, otherwise at random on a checkerboard."""

    def __init__(self, rng):
        self.rng = rng

    def aim(self, ocean):
        free = ~ocean.shots
        heat = np.zeros(free.shape)
        for r, c in np.argwhere(ocean.hits):
            for dr, dc in ((1, 0), (-1, 0), (0, 1), (0, -1)):
                if 0 <= r + dr < SIZE and 0 <= c + dc < SIZE:
                    heat[r + dr, c + dc] += 1
        parity = np.indices(free.shape).sum(axis=0) % 2 == 0
        score = np.where(free, heat + 0.5 * parity, -1.0)
        best = np.argwhere(score == score.max())
        r, c = best[self.rng.integers(len(best))]
        return int(r), int(c)


class Env:
    def reset(self, seed=None):
        self.rng = np.random.default_rng(seed)
        self.mine, self.theirs = Ocean(self.rng), Ocean(self.rng)
        self.gunner = Gunner(self.rng)
        return self._obs("Fire at a square such as B3."), {"ships": list(FLEET)}

    def _obs(self, text):
        return f"{text}\nEnemy waters:\n{self.theirs.render()}\nYour waters:\n{self.mine.render(reveal=True)}"

    def step(self, action):
        a = action.strip().upper()
        if len(a) != 2 or a[0] not in "ABCDE" or a[1] not in "12345":
            return self._obs("Bad square."), -0.2, False, False, {"result": "invalid"}
        result = self.theirs.fire("ABCDE".index(a[0]), int(a[1]) - 1)
        if result is None:
            return self._obs("Already shot there."), -0.2, False, False, {"result": "repeat"}
        reward = {"miss": -0.02, "hit": 0.2}.get(result, 0.4)
        if self.theirs.defeated:
            return self._obs(f"{result}. Victory!"), reward + 1.0, True, False, {"result": "win"}
        r, c = self.gunner.aim(self.mine)
        answer = self.mine.fire(r, c)
        text = f"You: {result}. Enemy fires {'ABCDE'[r]}{c + 1}: {answer}."
        lost = self.mine.defeated
        return self._obs(text), reward - lost, lost, False, {"result": "loss" if lost else result, "accuracy": float(self.theirs.hits.sum() / self.theirs.shots.sum())}
