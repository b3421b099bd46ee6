# seed: 5
# actions: ["moves", "move 0", "move 1", "move 99", "move 0", "move 2", "move abc", "move 1", "move 0", "move 0", "move 0", "move 1"]
# expect_total: -1.9 after 12 steps
import copy
import random

EMPTY, RED, BLACK = ".", "r", "b"


class CheckersBoard:
    def __init__(self, size=6):
        self.size = size
        self.grid = [[EMPTY] * size for _ in range(size)]
        for r in range(2):
            for c in range(size):
                if (r + c) % 2 == 1:
                    self.grid[r][c] = BLACK
        for r in range(size - 2, size):
            for c in range(size):
                if (r + c) % 2 == 1:
                    self.grid[r][c] = RED

    def __str__(self):
        return "\n".join("".join(row) for row in self.grid)

    def inside(self, r, c):
        return 0 <= r < self.size and 0 <= c < self.size

    def count(self, side):
        return sum(cell.lower() == side for row in self.grid for cell in row)

    def directions(self, piece):
        if piece.isupper():
            return [(-1, -1), (-1, 1), (1, -1), (1, 1)]
        return [(-1, -1), (-1, 1)] if piece == RED else [(1, -1), (1, 1)]

    def legal_moves(self, side):
        jumps, slides = [], []
        for r in range(self.size):
            for c in range(self.size):
                piece = self.grid[r][c]
                if piece.lower() != side:
                    continue
                for dr, dc in self.directions(piece):
                    if self.inside(r + dr, c + dc) and self.grid[r + dr][c + dc] == EMPTY:
                        slides.append(((r, c), (r + dr, c + dc)))
                    elif self.inside(r + 2 * dr, c + 2 * dc):
                        mid = self.grid[r + dr][c + dc].lower()
                        if mid not in (EMPTY, side) and self.grid[r + 2 * dr][c + 2 * dc] == EMPTY:
                            jumps.append(((r, c), (r + 2 * dr, c + 2 * dc)))
        return jumps or slides

    def apply(self, move):
        (r1, c1), (r2, c2) = move
        piece = self.grid[r1][c1]
        self.grid[r1][c1] = EMPTY
        captured = abs(r1 - r2) == 2
        if captured:
            self.grid[(r1 + r2) // 2][(c1 + c2) // 2] = EMPTY
        if (piece == RED and r2 == 0) or (piece == BLACK and r2 == self.size - 1):
            piece = piece.upper()
        self.grid[r2][c2] = piece
        return captured


class CheckersEnv:
    def __init__(self):
        self.board = None
        self.turns = 0

    def reset(self, seed=None):
        self.rng = random.Random(seed)
        self.board = CheckersBoard()
        self.turns = 0
        return self._obs()

    def _obs(self, msg="Your move (you are r)."):
        moves = self.board.legal_moves(RED)
        listing = "\n".join(f"{i}: {a} -> {b}" for i, (a, b) in enumerate(moves))
        return f"{msg}\n{self.board}\n{listing}"

    def _opponent(self):
        moves = self.board.legal_moves(BLACK)
        if not moves:
            return None
        best, best_score = [], -999
        for move in moves:
            trial = copy.deepcopy(self.board)
            trial.apply(move)
            score = trial.count(BLACK) - trial.count(RED)
            threats = [m for m in trial.legal_moves(RED) if abs(m[0][0] - m[1][0]) == 2]
            score -= 0.5 * len(threats)
            if score > best_score:
                best, best_score = [move], score
            elif score == best_score:
                best.append(move)
        return self.rng.choice(best)

    def step(self, action):
        if action.strip() == "moves":
            return self._obs(), 0, False, {}
        moves = self.board.legal_moves(RED)
        try:
            move = moves[int(action.split()[1])]
        except (IndexError, ValueError):
            return self._obs("Invalid move."), -0.2, False, {}
        self.turns += 1
        reward = 0.5 if self.board.apply(move) else 0
        reply = self._opponent()
        if reply is None:
            return self._obs("Black cannot move. You win!"), reward + 3, True, {"winner": RED}
        if self.board.apply(reply):
            reward -= 0.5
        if not self.board.legal_moves(RED):
            return self._obs("You cannot move. You lose."), reward - 3, True, {"winner": BLACK}
        return self._obs(f"Black: {reply[0]} -> {reply[1]}"), reward, self.turns >= 30, {}
