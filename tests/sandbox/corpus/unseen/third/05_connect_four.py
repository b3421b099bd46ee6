# seed: 13
# actions: ["drop x", "drop 3", "drop 3", "drop 3", "drop 3", "drop 2", "drop 2", "drop 2", "drop 4", "drop 5", "drop 4"]
# expect_total: -1.0 after 11 steps
"""Connect four against a scripted opponent, on a small 6x5 numpy board."""
import numpy as np

EMPTY, AGENT, RIVAL = 0, 1, 2
SYMBOLS = np.array([".", "X", "O"])


class Board:
    def __init__(self, rows=5, cols=6):
        self.cells = np.zeros((rows, cols), dtype=np.int8)

    @property
    def shape(self):
        return self.cells.shape

    def legal(self):
        return np.flatnonzero(self.cells[0] == EMPTY)

    def drop(self, col, who):
        row = np.flatnonzero(self.cells[:, col] == EMPTY)[-1]
        self.cells[row, col] = who
        return row

    def undo(self, col):
        row = np.flatnonzero(self.cells[:, col] != EMPTY)[0]
        self.cells[row, col] = EMPTY

    def wins(self, who):
        b = self.cells == who
        rows, cols = b.shape
        horiz = b[:, :-3] & b[:, 1:-2] & b[:, 2:-1] & b[:, 3:]
        vert = b[:-3] & b[1:-2] & b[2:-1] & b[3:]
        if horiz.any() or vert.any():
            return True
        for k in range(-rows + 1, cols):
            for m in (b, np.fliplr(b)):
                diag = np.diagonal(m, offset=k)
                if len(diag) >= 4 and "1111" in "".join(map(str, diag.astype(int))):
                    return True
        return False

    def threats(self, who):
        """Columns where `who` would win at once."""
        found = []
        for c in self.legal():
            self.drop(c, who)
            if self.wins(who):
                found.append(int(c))
            self.undo(c)
        return found

    def __str__(self):
        lines = [" ".join(row) for row in SYMBOLS[self.cells]]
        lines.append(" ".join(str(i + 1) for i in range(self.shape[1])))
        return "\n".join(lines)


class Env:
    def __init__(self):
        self.board = Board()
        self.rng = np.random.default_rng(0)

    def reset(self, seed=None):
        self.rng = np.random.default_rng(seed)
        self.board = Board()
        self.over = False
        if self.rng.random() < 0.5:
            self._rival_move()
        return self._obs(), {"legal": [int(c) + 1 for c in self.board.legal()]}

    def _rival_move(self):
        for group in (self.board.threats(RIVAL), self.board.threats(AGENT)):
            if group:
                col = group[0]
                break
        else:
            legal = self.board.legal()
            centre = (self.board.shape[1] - 1) / 2
            weights = 1.0 / (1.0 + np.abs(legal - centre))
            col = int(self.rng.choice(legal, p=weights / weights.sum()))
        self.board.drop(col, RIVAL)
        return col

    def _obs(self, text="Drop a disc with 'drop COLUMN'. You are X."):
        return f"{self.board}\n{text}"

    def step(self, action):
        info = {}
        try:
            col = int(action.split()[-1]) - 1
        except (ValueError, IndexError):
            return self._obs("Say 'drop COLUMN'."), -0.1, False, False, {"error": "parse"}
        if col not in self.board.legal():
            return self._obs(f"Column {col + 1} is not available."), -0.1, False, False, {"error": "illegal"}
        must_block = self.board.threats(RIVAL)
        can_win = self.board.threats(AGENT)
        self.board.drop(col, AGENT)
        if self.board.wins(AGENT):
            return self._obs("You connected four!"), 1.0, True, False, {"winner": "agent"}
        reward = 0.0
        if can_win:
            reward -= 0.2
        elif must_block:
            reward += 0.1 if col in must_block else -0.1
        if self.board.legal().size == 0:
            return self._obs("Draw."), reward, True, False, {"winner": None}
        reply = self._rival_move()
        info["reply"] = reply + 1
        if self.board.wins(RIVAL):
            return self._obs("Your rival connected four."), reward - 1.0, True, False, {**info, "winner": "rival"}
        if not len(self.board.legal()):
            return self._obs("Draw."), reward, True, False, {**info, "winner": None}
        return self._obs(f"Rival plays column {reply + 1}. Your turn."), float(reward), False, False, info
