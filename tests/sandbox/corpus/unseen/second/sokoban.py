# seed: 1
# actions: ["right", "down", "down", "right", "down", "undo", "push", "left", "right", "down", "right", "up"]
# expect_total: 5.79 after 12 steps
import random
from typing import Dict, FrozenSet, List, NamedTuple, Set, Tuple

Pos = Tuple[int, int]

LEVELS = [
    """
#######
#@    #
# $ . #
#   $ #
# .   #
#######
""",
    """
########
#  .   #
# $  $ #
#  @.  #
########
""",
    """
######
#@ $.#
#  $ #
#  . #
######
""",
]

DIRS: Dict[str, Pos] = {"up": (-1, 0), "down": (1, 0), "left": (0, -1), "right": (0, 1)}


class State(NamedTuple):
    player: Pos
    boxes: FrozenSet[Pos]


class SokobanEnv:
    """Classic Sokoban with undo and simple corner-deadlock detection."""

    def __init__(self, max_steps: int = 60) -> None:
        self.max_steps = max_steps
        self.walls: Set[Pos] = set()
        self.goals: Set[Pos] = set()

    def reset(self, seed: int = 0) -> str:
        rng = random.Random(seed)
        self._load(rng.choice(LEVELS))
        self.undo_stack: List[State] = []
        self.steps = 0
        return self._render()

    def _load(self, level: str) -> None:
        self.walls, self.goals = set(), set()
        boxes, player = set(), None
        rows = level.strip("\n").splitlines()
        for r, row in enumerate(rows):
            for c, ch in enumerate(row):
                if ch == "#":
                    self.walls.add((r, c))
                if ch in ".*+":
                    self.goals.add((r, c))
                if ch in "$*":
                    boxes.add((r, c))
                if ch in "@+":
                    player = (r, c)
        assert player is not None
        self.height, self.width = len(rows), max(map(len, rows))
        self.state = State(player, frozenset(boxes))

    def _render(self) -> str:
        out = []
        for r in range(self.height):
            line = []
            for c in range(self.width):
                p = (r, c)
                if p in self.walls:
                    line.append("#")
                elif p == self.state.player:
                    line.append("+" if p in self.goals else "@")
                elif p in self.state.boxes:
                    line.append("*" if p in self.goals else "$")
                else:
                    line.append("." if p in self.goals else " ")
            out.append("".join(line))
        return "\n".join(out)

    def _placed(self) -> int:
        return len(self.state.boxes & self.goals)

    def _deadlocked(self) -> bool:
        for r, c in self.state.boxes - self.goals:
            vertical = (r - 1, c) in self.walls or (r + 1, c) in self.walls
            horizontal = (r, c - 1) in self.walls or (r, c + 1) in self.walls
            if vertical and horizontal:
                return True
        return False

    def step(self, action: str) -> Tuple[str, float, bool, Dict[str, object]]:
        self.steps += 1
        action = action.strip().lower()
        before = self._placed()
        if action == "undo":
            if self.undo_stack:
                self.state = self.undo_stack.pop()
        elif action in DIRS:
            dr, dc = DIRS[action]
            r, c = self.state.player
            target, beyond = (r + dr, c + dc), (r + 2 * dr, c + 2 * dc)
            if target in self.walls:
                return self._render(), -0.05, self.steps >= self.max_steps, {"blocked": True}
            boxes = self.state.boxes
            if target in boxes:
                if beyond in self.walls or beyond in boxes:
                    return self._render(), -0.05, self.steps >= self.max_steps, {"blocked": True}
                boxes = (boxes - {target}) | {beyond}
            self.undo_stack.append(self.state)
            self.state = self.state._replace(player=target, boxes=boxes)
        else:
            return self._render(), -0.1, False, {"error": f"unknown action {action}"}
        solved = self._placed() == len(self.goals)
        stuck = self._deadlocked()
        reward = (self._placed() - before) * 0.5 - 0.01 + 5.0 * solved - 0.2 * stuck
        return self._render(), reward, solved or self.steps >= self.max_steps, {"deadlock": stuck}
