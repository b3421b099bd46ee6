# seed: 0
# actions: ["goat", "none", "wolf", "goat", "tiger", "goat", "goat", "cabbage", "", "goat"]
# expect_total: 1.12777778 after 10 steps
"""Wolf, goat and cabbage. Verifies at start that the puzzle can be solved (breadth-first search)."""

__all__ = ["RiverEnv"]
__version__ = "1.0"

from collections import deque

ITEMS = frozenset({"wolf", "goat", "cabbage"})
BAD = (frozenset({"wolf", "goat"}), frozenset({"goat", "cabbage"}))


class _State:
    __slots__ = ("left", "boat")

    def __init__(self, left=ITEMS, boat="left"):
        self.left = frozenset(left)
        self.boat = boat

    @property
    def right(self):
        return ITEMS - self.left

    @property
    def unattended(self):
        return self.right if self.boat == "left" else self.left

    def is_safe(self):
        return not any(pair <= self.unattended for pair in BAD)

    def is_goal(self):
        return not self.left and self.boat == "right"

    def cargo(self):
        return self.left if self.boat == "left" else self.right

    def cross(self, item=None):
        moved = {item} if item else set()
        if not moved <= self.cargo():
            raise KeyError(item)
        left = self.left - moved if self.boat == "left" else self.left | moved
        return _State(left, "right" if self.boat == "left" else "left")

    def successors(self):
        for item in [None, *sorted(self.cargo())]:
            nxt = self.cross(item)
            if nxt.is_safe():
                yield item, nxt

    def __eq__(self, other):
        return self.left == other.left and self.boat == other.boat

    def __ne__(self, other):
        return not self == other

    def __hash__(self):
        return hash((self.left, self.boat))

    def __str__(self):
        def side(items):
            return " ".join(sorted(items)) or "-"

        river = "\\_/~~~~" if self.boat == "left" else "~~~~\\_/"
        return side(self.left) + " |" + river + "| " + side(self.right)


def solve(start):
    """Length of a shortest solution, or None."""
    frontier = deque([(start, 0)])
    seen = {start}
    while frontier:
        state, depth = frontier.popleft()
        if state.is_goal():
            return depth
        for _, nxt in state.successors():
            if nxt not in seen:
                seen.add(nxt)
                frontier.append((nxt, depth + 1))
    else:
        return None


class RiverEnv:
    def reset(self):
        self.state = _State()
        self.optimal = solve(self.state)
        assert self.optimal == 7, "unsolvable puzzle"
        self.crossings = 0
        return str(self.state)

    def legal(self):
        return [item or "none" for item, _ in self.state.successors()]

    def step(self, action):
        item = None if action in ("none", "", None) else action
        before = solve(self.state)
        try:
            nxt = self.state.cross(item)
        except KeyError as missing:
            return f"no {missing} here", -0.25, False, {"legal": self.legal()}
        self.crossings += 1
        self.state = nxt
        if not nxt.is_safe():
            eaten = next(p for p in BAD if p <= nxt.unattended)
            return f"{' and '.join(sorted(eaten))} were left alone!", -1.0, True, {}
        if nxt.is_goal():
            return str(nxt), 1.0 * self.optimal / self.crossings, True, {"crossings": self.crossings}
        progress = before - solve(nxt)
        return str(nxt), 0.1 * progress, False, {"legal": self.legal()}
