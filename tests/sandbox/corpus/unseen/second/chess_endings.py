# seed: 44
# actions: ["board", "legal", "Ra1a7", "R d4", "K f2", "K e3", "R d1", "K d4", "R a1", "R h1", "K e5", "R h6", "K d5", "resign"]
# expect_total: -0.58 after 5 steps
"""King and rook versus king. The agent plays White; Black moves by a simple heuristic."""
from __future__ import annotations

import random
from dataclasses import dataclass
from typing import Iterable, List, Optional, Tuple

Square = Tuple[int, int]

KING_STEPS = [(dx, dy) for dx in (-1, 0, 1) for dy in (-1, 0, 1) if (dx, dy) != (0, 0)]
ROOK_STEPS = [(1, 0), (-1, 0), (0, 1), (0, -1)]


def to_name(sq: Square) -> str:
    return f"{'abcdefgh'[sq[0]]}{sq[1] + 1}"


def from_name(name: str) -> Square:
    if len(name) != 2 or name[0] not in "abcdefgh" or name[1] not in "12345678":
        raise ValueError(f"bad square {name!r}")
    return "abcdefgh".index(name[0]), int(name[1]) - 1


def inside(sq: Square) -> bool:
    return all(0 <= c < 8 for c in sq)


def distance(a: Square, b: Square) -> int:
    return max(abs(a[0] - b[0]), abs(a[1] - b[1]))


@dataclass
class Position:
    wk: Square
    wr: Optional[Square]
    bk: Square

    def rook_squares(self, blocker: Square) -> Iterable[Square]:
        if self.wr is None:
            return
        for dx, dy in ROOK_STEPS:
            x, y = self.wr
            while inside((x + dx, y + dy)):
                x, y = x + dx, y + dy
                if (x, y) == blocker:
                    break
                yield (x, y)

    def attacked(self, sq: Square) -> bool:
        return distance(self.wk, sq) <= 1 or sq in set(self.rook_squares(self.wk))

    def black_moves(self) -> List[Square]:
        moves = []
        for dx, dy in KING_STEPS:
            target = (self.bk[0] + dx, self.bk[1] + dy)
            if not inside(target):
                continue
            after = Position(self.wk, None if target == self.wr else self.wr, target)
            if not after.attacked(target):
                moves.append(target)
        return moves

    def in_check(self) -> bool:
        return self.attacked(self.bk)

    def white_moves(self) -> List[Tuple[str, Square]]:
        king = [(self.wk[0] + dx, self.wk[1] + dy) for dx, dy in KING_STEPS]
        out = [("K", s) for s in king if inside(s) and s != self.wr and distance(s, self.bk) > 1]
        out += [("R", s) for s in self.rook_squares(self.wk) if s != self.bk]
        return out

    def __str__(self) -> str:
        pieces = {self.wk: "K", self.wr: "R", self.bk: "k"}
        return "\n".join(f"{y + 1} " + " ".join(pieces.get((x, y), ".") for x in range(8)) for y in range(7, -1, -1)) + "\n  a b c d e f g h"


class ChessEndingEnv:
    def __init__(self, max_moves: int = 30):
        self.max_moves = max_moves

    def reset(self, seed: Optional[int] = None) -> str:
        self.rng = random.Random(seed)
        squares = [(x, y) for x in range(8) for y in range(8)]
        while True:
            wk, wr, bk = self.rng.sample(squares, 3)
            self.pos = Position(wk, wr, bk)
            if distance(wk, bk) > 1 and not self.pos.in_check() and self.pos.black_moves():
                break
        self.moves = 0
        return self._obs("White to move. Format: 'K e4' or 'R a7'.")

    def _obs(self, note: str) -> str:
        return f"{note}\n{self.pos}"

    def _black_reply(self) -> None:
        options = self.pos.black_moves()
        # prefer capturing the rook, then the centre
        options.sort(key=lambda s: (s != self.pos.wr, abs(s[0] - 3.5) + abs(s[1] - 3.5), s))
        target = options[0]
        self.pos = Position(self.pos.wk, None if target == self.pos.wr else self.pos.wr, target)

    def step(self, action: str):
        words = action.split()
        if action == "board":
            return self._obs(""), 0.0, False, {}
        if action == "legal":
            return " ".join(p + to_name(s) for p, s in self.pos.white_moves()), 0.0, False, {}
        if action == "resign":
            return "You resign.", -1.0, True, {"result": "0-1"}
        try:
            piece, square = words[0][0].upper(), from_name(words[1])
        except (ValueError, IndexError) as exc:
            return self._obs(f"Cannot parse: {exc}"), -0.05, False, {}
        if (piece, square) not in self.pos.white_moves():
            return self._obs("Illegal move."), -0.05, False, {}
        room_before = len(self.pos.black_moves())
        self.pos = Position(square, self.pos.wr, self.pos.bk) if piece == "K" else Position(self.pos.wk, square, self.pos.bk)
        self.moves += 1
        replies = self.pos.black_moves()
        if not replies:
            mate = self.pos.in_check()
            return self._obs("Checkmate!" if mate else "Stalemate."), 1.0 if mate else -0.5, True, {"mate": mate}
        self._black_reply()
        if self.pos.wr is None:
            return self._obs("Black takes the rook. Draw."), -0.5, True, {"result": "1/2"}
        reward = 0.02 * (room_before - len(replies)) - 0.01
        return self._obs(f"Black plays K{to_name(self.pos.bk)}."), reward, self.moves >= self.max_moves, {}
