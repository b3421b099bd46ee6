# seed: 6
# actions: ["take 9 from 1", "take 3 from 3", "take 2 from 2", "take 1 from 1"]
# expect_total: 1.2000000000000002 after 4 steps
# Nim with three or four heaps against an opponent that plays perfectly with probability 0.7
from functools import reduce
from operator import xor
import random


class Opponent:
    def __init__(self, rng, skill=0.7):
        self.rng, self.skill = rng, skill

    def choose(self, heaps):
        nim_sum = reduce(xor, heaps, 0)
        if nim_sum and self.rng.random() < self.skill:
            for i, h in enumerate(heaps):
                if h ^ nim_sum < h:
                    return i, h - (h ^ nim_sum)
        options = [(i, k) for i, h in enumerate(heaps) for k in range(1, h + 1)]
        return self.rng.choice(options)


class Env:
    """Take any number of stones from a single heap; whoever takes the last stone wins."""

    def reset(self, seed=None):
        self.rng = random.Random(seed)
        while True:
            self.heaps = [self.rng.randint(1, 7) for _ in range(self.rng.choice((3, 4)))]
            if reduce(xor, self.heaps) != 0:
                break
        self.opponent = Opponent(self.rng)
        self.turn = 0
        self.mistakes = 0
        return self.render(), {"heaps": self.heaps[:]}

    def render(self, *messages):
        board = "\n".join(f"heap {i}: {'o' * h or '-'} ({h})" for i, h in enumerate(self.heaps, 1))
        return "\n".join([*messages, board, "Your move: 'take COUNT from HEAP'"])

    def _parse(self, action):
        tokens = action.lower().split()
        numbers = [int(t) for t in tokens if t.lstrip("-").isdigit()]
        if len(numbers) != 2:
            raise ValueError("I need exactly two numbers, e.g. 'take 2 from 1'")
        count, heap = numbers
        if not 1 <= heap <= len(self.heaps):
            raise ValueError(f"there is no heap {heap}")
        if not 1 <= count <= self.heaps[heap - 1]:
            raise ValueError(f"you cannot take {count} from heap {heap}")
        return heap - 1, count

    def step(self, action):
        self.turn += 1
        info = {"turn": self.turn}
        try:
            heap, count = self._parse(action)
        except ValueError as e:
            self.mistakes += 1
            lost = self.mistakes >= 3
            info["error"] = str(e)
            return self.render(f"Illegal move: {e}."), -1.0 if lost else -0.1, lost, False, info
        self.heaps[heap] -= count
        reward = 0.1 if reduce(xor, self.heaps) == 0 else -0.05
        if not any(self.heaps):
            return self.render("You took the last stone and win!"), reward + 1.0, True, False, {**info, "winner": "agent"}
        i, k = self.opponent.choose(self.heaps)
        self.heaps[i] -= k
        said = f"Opponent takes {k} from heap {i + 1}."
        if not any(self.heaps):
            return self.render(said, "Opponent wins."), reward - 1.0, True, False, {**info, "winner": "opponent"}
        info["heaps"] = list(self.heaps)
        return self.render(said), reward, False, self.turn >= 20, info
