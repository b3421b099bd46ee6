# seed: 13
# actions: [[0, 0, 1], [0, 0, 2], [0, 0, 0], [0, 0, 3], [0, 0, 1], [5, 5, 0], [0, 0, 2], [0, 0, 0], [0, 0, 3], [0, 0, 1], [0, 0, 2]]
# expect_total: 2.87222222 after 10 steps
import gymnasium
import numpy as np
from gymnasium import spaces


class FloodIt(gymnasium.Env):
    """Flood the board with one color. Boolean masks, padding and broadcasting."""

    def __init__(self, size=6, colors=4):
        self.size, self.colors = size, colors
        self.observation_space = spaces.Box(0, colors - 1, shape=(size, size), dtype=np.uint8)
        self.action_space = spaces.Tuple((spaces.Discrete(size), spaces.Discrete(size), spaces.Discrete(colors)))
        self.palette = np.array(list("RGBY"))

    def reset(self, seed=None, options=None):
        super().reset(seed=seed)
        self.board = self.np_random.integers(0, self.colors, size=(self.size, self.size), dtype=np.uint8)
        self.turns = 0
        return self.board.copy(), {"text": self.render()}

    def region(self, r, c):
        same = self.board == self.board[r, c]
        mask = np.zeros_like(same)
        mask[r, c] = True
        while True:
            p = np.pad(mask, 1)
            grown = (p[1:-1, 1:-1] | p[:-2, 1:-1] | p[2:, 1:-1] | p[1:-1, :-2] | p[1:-1, 2:]) & same
            if (grown == mask).all():
                return mask
            mask = grown

    def step(self, action):
        r, c, color = (int(a) for a in action)
        self.turns += 1
        before = self.region(0, 0).sum()
        if self.board[r, c] == color:
            return self.board.copy(), -0.1, False, False, {"wasted": True}
        self.board[self.region(r, c)] = color
        gained = int(self.region(0, 0).sum()) - int(before)
        vals, counts = np.unique(self.board, return_counts=True)
        done = vals.size == 1
        yy, xx = np.mgrid[: self.size, : self.size]
        dist = np.hypot(yy, xx)
        frontier = np.ma.masked_array(dist, mask=~self.region(0, 0)).max() if not done else dist.max()
        reward = gained / self.board.size + 2.0 * done
        info = {
            "hist": dict(zip(self.palette[vals].tolist(), counts.tolist())),
            "share": float((self.board == self.board[0, 0]).mean()),
            "reach": float(np.round(frontier, 3)),
            "row_colors": (np.diff(np.sort(self.board, axis=1), axis=1) != 0).sum(axis=1) + 1,
        }
        return self.board.copy(), reward, bool(done), self.turns >= 20, info

    def render(self):
        return "\n".join(map("".join, self.palette[self.board]))
