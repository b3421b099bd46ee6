# seed: 24
# actions: [3, 3, 2, "4", 9, 4, 1, 1, 5, 0, 2]
# expect_total: -2.19255499 after 11 steps
"""Connect Four against a depth-limited negamax opponent."""

import random
from functools import lru_cache, partial
from typing import Iterable, Optional, Tuple

import numpy as np

ROWS, COLS = 5, 6
EMPTY, AGENT, FOE = 0, 1, -1
GLYPHS = {EMPTY: ".", AGENT: "X", FOE: "O"}


def windows() -> np.ndarray:
    """All index quadruples, as an array of shape (n, 4) into the flat board."""
    idx = np.arange(ROWS * COLS).reshape(ROWS, COLS)
    out = []
    for r in range(ROWS):
        for c in range(COLS):
            for dr, dc in ((0, 1), (1, 0), (1, 1), (1, -1)):
                rr, cc = r + 3 * dr, c + 3 * dc
                if 0 <= rr < ROWS and 0 <= cc < COLS:
                    out.append([idx[r + k * dr, c + k * dc] for k in range(4)])
    return np.array(out, dtype=np.intp)


WINDOWS = windows()
CENTER = np.abs(np.arange(COLS) - (COLS - 1) / 2).argsort(kind="stable")


@lru_cache(maxsize=4096)
def evaluate(key: bytes) -> int:
    """Score from the agent's view: +-1000 for four in a row."""
    flat = np.frombuffer(key, dtype=np.int8)
    lines = flat[WINDOWS]
    sums = lines.sum(axis=1, dtype=int)
    if (sums == 4).any():
        return 1000
    if (sums == -4).any():
        return -1000
    open_for = lambda who: ~(lines == -who).any(axis=1)
    mine = np.bincount((lines == AGENT).sum(axis=1)[open_for(AGENT)], minlength=5)
    theirs = np.bincount((lines == FOE).sum(axis=1)[open_for(FOE)], minlength=5)
    weights = np.array([0, 1, 4, 16, 0])
    return int(weights @ (mine - theirs))


class Board:
    def __init__(self, cells: Optional[np.ndarray] = None):
        self.cells = np.zeros((ROWS, COLS), dtype=np.int8) if cells is None else cells

    def legal(self) -> Iterable[int]:
        return [int(c) for c in CENTER if self.cells[0, c] == EMPTY]

    def drop(self, col: int, who: int) -> "Board":
        column = self.cells[:, col]
        row = np.flatnonzero(column == EMPTY)[-1]
        new = self.cells.copy()
        new[row, col] = who
        return Board(new)

    @property
    def score(self) -> int:
        return evaluate(self.cells.tobytes())

    def over(self) -> bool:
        return abs(self.score) == 1000 or not self.legal()

    def __str__(self) -> str:
        pick = np.vectorize(GLYPHS.get)
        return "\n".join(" ".join(row) for row in pick(self.cells))


def negamax(board: Board, who: int, depth: int, alpha=-(10**6), beta=10**6) -> Tuple[int, int]:
    if depth == 0 or board.over():
        return who * board.score, -1
    best = (-(10**6), -1)
    for col in board.legal():
        value = -negamax(board.drop(col, who), -who, depth - 1, -beta, -alpha)[0]
        if value > best[0]:
            best = (value, col)
        alpha = max(alpha, value)
        if alpha >= beta:
            break
    return best


class ConnectFourEnv:
    def __init__(self, depth: int = 2, noise: float = 0.3):
        self.reply = partial(negamax, who=FOE, depth=depth)
        self.noise = noise

    def reset(self, seed: Optional[int] = None):
        self.rng = random.Random(seed)
        self.board = Board()
        return str(self.board), {"legal": self.board.legal(), "lines": len(WINDOWS)}

    def step(self, action):
        col = int(action)
        if col not in self.board.legal():
            return str(self.board), -0.5, False, False, {"illegal": col}
        before = self.board.score
        self.board = self.board.drop(col, AGENT)
        foe = None
        if not self.board.over():
            foe = self.rng.choice(self.board.legal()) if self.rng.random() < self.noise else self.reply(self.board)[1]
            self.board = self.board.drop(foe, FOE)
        score = self.board.score
        done = self.board.over()
        if done:
            reward = np.sign(score) if abs(score) == 1000 else 0.0
        else:
            reward = np.tanh((score - before) / 50)
        return str(self.board), float(reward), done, False, {"foe": foe, "cache": evaluate.cache_info().maxsize}
