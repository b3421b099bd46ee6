# seed: 18
# actions: ["up", "left", "down", "right", "Up", "jump", "left", "left", "down", "right", "right", "up"]
# expect_total: -1.7 after 12 steps
from random import Random
from typing import List, Optional, Tuple

MOVES = {"up": (-1, 0), "down": (1, 0), "left": (0, -1), "right": (0, 1)}


class SlidingPuzzle:
    """Classic 8-puzzle. The blank (0) is moved in the given direction."""

    GOAL = [[1, 2, 3], [4, 5, 6], [7, 8, 0]]

    def __init__(self, scramble_moves: int = 14, max_steps: int = 40) -> None:
        self.scramble_moves = scramble_moves
        self.max_steps = max_steps
        self.board: List[List[int]] = [row[:] for row in self.GOAL]

    def reset(self, seed: Optional[int] = None) -> str:
        rng = Random(seed)
        self.board = [row[:] for row in self.GOAL]
        last = None
        opposite = {"up": "down", "down": "up", "left": "right", "right": "left"}
        for _ in range(self.scramble_moves):
            options = [m for m in MOVES if self._can_move(m) and m != opposite.get(last)]
            last = rng.choice(options)
            self._move(last)
        self.steps = 0
        return str(self)

    def _blank(self) -> Tuple[int, int]:
        for r, row in enumerate(self.board):
            if 0 in row:
                return r, row.index(0)
        raise AssertionError("no blank")

    def _can_move(self, direction: str) -> bool:
        r, c = self._blank()
        dr, dc = MOVES[direction]
        return 0 <= r + dr < 3 and 0 <= c + dc < 3

    def _move(self, direction: str) -> None:
        r, c = self._blank()
        dr, dc = MOVES[direction]
        self.board[r][c], self.board[r + dr][c + dc] = self.board[r + dr][c + dc], self.board[r][c]

    def manhattan(self) -> int:
        return sum(
            abs(r - (v - 1) // 3) + abs(c - (v - 1) % 3)
            for r, row in enumerate(self.board)
            for c, v in enumerate(row)
            if v
        )

    def __str__(self) -> str:
        return "\n".join(" ".join("_" if v == 0 else str(v) for v in row) for row in self.board)

    def step(self, action: str):
        self.steps += 1
        action = action.lower().strip()
        truncated = self.steps >= self.max_steps
        if action not in MOVES:
            return f"Invalid action. Use one of: {', '.join(MOVES)}", -1.0, False, truncated, {"valid": False}
        if not self._can_move(action):
            return "The blank is at the edge.\n" + str(self), -0.5, False, truncated, {"valid": False}
        before = self.manhattan()
        self._move(action)
        after = self.manhattan()
        solved = self.board == self.GOAL
        return str(self), (10.0 if solved else 0.1 * (before - after)), solved, truncated, {"valid": True, "manhattan": after}
