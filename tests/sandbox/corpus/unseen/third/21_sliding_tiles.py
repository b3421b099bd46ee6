# seed: 18
# actions: ["sideways", "up", "up", "right", "down", "down", "left", "up", "up"]
# expect_total: 2.14 after 9 steps
import random
from itertools import chain

GOAL = ((1, 2, 3), (4, 5, 6), (7, 8, 0))
DELTAS = dict(up=(1, 0), down=(-1, 0), left=(0, 1), right=(0, -1))  # direction in which a TILE moves
OPPOSITE = {"up": "down", "down": "up", "left": "right", "right": "left"}


def locate(board, tile=0):
    return next((r, c) for r, row in enumerate(board) for c, v in enumerate(row) if v == tile)


def slide(board, direction):
    """Return the new board, or None when the move is impossible."""
    r, c = locate(board)
    dr, dc = DELTAS[direction]
    nr, nc = r + dr, c + dc
    if not (0 <= nr < 3 and 0 <= nc < 3):
        return None
    cells = [list(row) for row in board]
    cells[r][c], cells[nr][nc] = cells[nr][nc], cells[r][c]
    return tuple(map(tuple, cells))


def manhattan(board):
    total = 0
    for tile in range(1, 9):
        (r, c), (gr, gc) = locate(board, tile), divmod(tile - 1, 3)
        total += abs(r - gr) + abs(c - gc)
    return total


class Env:
    """The 8-puzzle; the reward is the change of the Manhattan distance plus a bonus at the end."""

    def __init__(self, scramble=8, budget=30):
        self.scramble, self.budget = scramble, budget

    def reset(self, seed=None):
        rng = random.Random(seed)
        board, last = GOAL, None
        self._trail = []
        while len(self._trail) < self.scramble or board == GOAL:
            move = rng.choice([d for d in DELTAS if OPPOSITE[d] != last])
            nxt = slide(board, move)
            if nxt is None:
                continue
            board, last = nxt, move
            self._trail.append(move)
        self.board = board
        self.count = 0
        self.visited = {hash(tuple(chain.from_iterable(board))): 1}
        return str(self), {"distance": manhattan(board)}

    def __str__(self):
        rows = [" ".join(str(v) if v else "_" for v in row) for row in self.board]
        moves = [d for d in DELTAS if slide(self.board, d)]
        return "\n".join(rows) + f"\nPossible moves: {', '.join(moves)} ({self.count}/{self.budget} used)"

    def step(self, action):
        self.count += 1
        action = action.lower().strip()
        truncated = self.count >= self.budget
        if action not in DELTAS or (new := slide(self.board, action)) is None:
            return f"Cannot move {action}.\n{self}", -0.5, False, truncated, {}
        before, after = manhattan(self.board), manhattan(new)
        self.board = new
        key = hash(tuple(chain.from_iterable(new)))
        self.visited[key] = self.visited.get(key, 0) + 1
        reward = 0.1 * (before - after) - 0.02
        if self.visited[key] > 1:
            reward -= 0.1
        done = self.board == GOAL
        if done:
            reward += 2
        return str(self), reward, done, truncated and not done, {"distance": after, "repeat": self.visited[key] > 1}
