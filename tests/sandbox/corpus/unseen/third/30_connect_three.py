# seed: 1
# actions: ["3", "x", "4", "4", "1", "9", "0", "0", "1", "2"]
# expect_total: 0.67 after 10 steps
"""Connect-three on a 4x5 board with numpy, versus a one-ply lookahead opponent."""
import numpy as np


class Space:
    def contains(self, x):
        raise NotImplementedError


class Discrete(Space):
    def __init__(self, n):
        self.n = n

    def contains(self, x):
        return isinstance(x, (int, np.integer)) and 0 <= x < self.n


class BaseEnv:
    """A tiny gymnasium look-alike."""
    metadata = {"render_modes": ["ansi"]}
    action_space: Space
    np_random: np.random.Generator

    def reset(self, seed=None, options=None):
        self.np_random = np.random.default_rng(seed)

    def step(self, action):
        raise NotImplementedError

    def render(self):
        raise NotImplementedError


class Env(BaseEnv):
    ROWS, COLS, K = 4, 5, 3
    SYMBOLS = {0: ".", 1: "X", -1: "O"}

    def __init__(self):
        self.action_space = Discrete(self.COLS)
        self.board = np.zeros((self.ROWS, self.COLS), dtype=np.int8)

    def reset(self, seed=None, options=None):
        super().reset(seed=seed)
        self.board[:] = 0
        if self.np_random.random() < 0.5:
            self._drop(self.board, self._opponent(), -1)
        return "Connect three in a row. Answer with a column number.\n" + self.render(), {"legal": self._legal().tolist()}

    def render(self):
        rows = ["".join(self.SYMBOLS[int(v)] for v in row) for row in self.board]
        return "\n".join(rows + ["".join(str(c) for c in range(self.COLS))])

    def _legal(self):
        return np.flatnonzero(self.board[0] == 0)

    @staticmethod
    def _drop(board, col, who):
        row = np.max(np.nonzero(board[:, col] == 0)[0])
        board[row, col] = who
        return row

    def _wins(self, board, who):
        mask = board == who
        for r in range(self.ROWS):
            for c in range(self.COLS):
                for dr, dc in ((0, 1), (1, 0), (1, 1), (1, -1)):
                    rr = r + dr * np.arange(self.K)
                    cc = c + dc * np.arange(self.K)
                    if rr.max() < self.ROWS and cc.min() >= 0 and cc.max() < self.COLS and mask[rr, cc].all():
                        return True
        return False

    def _opponent(self):
        legal = self._legal()
        for who in (-1, 1):
            for col in legal:
                trial = self.board.copy()
                self._drop(trial, col, who)
                if self._wins(trial, who):
                    return int(col)
        weights = 1.0 / (1 + np.abs(legal - self.COLS // 2))
        return int(self.np_random.choice(legal, p=weights / weights.sum()))

    def step(self, action):
        try:
            col = int(action)
        except ValueError:
            col = -1
        if not self.action_space.contains(col) or col not in self._legal():
            return "Illegal column.\n" + self.render(), -0.2, False, False, {"legal": self._legal().tolist()}
        self._drop(self.board, col, 1)
        if self._wins(self.board, 1):
            return "You win!\n" + self.render(), 1.0, True, False, {"result": "win"}
        if not self._legal().size:
            return "Draw.\n" + self.render(), 0.2, True, False, {"result": "draw"}
        reply = self._opponent()
        self._drop(self.board, reply, -1)
        if self._wins(self.board, -1):
            return f"Opponent plays {reply} and wins.\n" + self.render(), -1.0, True, False, {"result": "loss"}
        full = not self._legal().size
        filled = float(np.count_nonzero(self.board)) / self.board.size
        return f"Opponent plays {reply}.\n" + self.render(), 0.2 if full else 0.01, full, False, {"filled": round(filled, 3)}
