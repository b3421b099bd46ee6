# seed: 19
# actions: ["keep 1 2", "keep", "score chance", "roll", "keep 1 3 5", "score sixes", "score sixes", "keep 2 4", "score pair", "score ones", "score full"]
# expect_total: 31.0 after 11 steps
import random
from collections import Counter
from functools import partial


def score_number(n, dice):
    return n * dice.count(n)


def score_full_house(dice):
    return 25 if sorted(Counter(dice).values()) == [2, 3] else 0


def score_straight(dice):
    s = set(dice)
    return 30 if any(set(range(i, i + 4)) <= s for i in (1, 2, 3)) else 0


def score_pair(dice):
    pairs = [v for v, c in Counter(dice).items() if c >= 2]
    return 2 * max(pairs, default=0)


CATEGORIES = {
    "ones": partial(score_number, 1),
    "sixes": partial(score_number, 6),
    "pair": score_pair,
    "straight": score_straight,
    "full": score_full_house,
    "chance": sum,
}


class DiceEnv:
    """Simplified Yahtzee for text agents.

    Actions:
      keep i j ...   keep the dice at these positions (1-5) and reroll the others
      roll           reroll everything
      score NAME     score the dice in a free category
    """

    def __init__(self):
        self.rng = random.Random()

    def reset(self, seed=None):
        self.rng.seed(seed)
        self.used = {}
        self.invalid = 0
        self._new_turn()
        return self.observe()

    def _new_turn(self):
        self.dice = [self.rng.randint(1, 6) for _ in range(5)]
        self.rolls_left = 2

    def observe(self, note=""):
        free = [c for c in CATEGORIES if c not in self.used]
        return f"{note}\nDice: {self.dice}\nRerolls left: {self.rolls_left}\nFree categories: {free}\nTotal: {sum(self.used.values())}".strip()

    def step(self, action):
        try:
            note, reward = self._apply(action)
        except (ValueError, IndexError, KeyError) as e:
            self.invalid += 1
            note, reward = f"Invalid: {e}", -1
        done = len(self.used) == len(CATEGORIES) or self.invalid >= 5
        return self.observe(note), reward, done, {"invalid": self.invalid}

    def _apply(self, action):
        cmd, *args = action.lower().split()
        if cmd in ("keep", "roll"):
            if self.rolls_left == 0:
                raise ValueError("no rerolls left")
            keep = {int(a) - 1 for a in args}
            if not keep <= set(range(5)):
                raise ValueError("positions are 1 to 5")
            self.dice = [d if i in keep else self.rng.randint(1, 6) for i, d in enumerate(self.dice)]
            self.rolls_left -= 1
            return "Rerolled.", 0
        if cmd == "score":
            name = args[0]
            if name in self.used:
                raise ValueError(f"{name} is used")
            points = CATEGORIES[name](self.dice)
            self.used[name] = points
            self._new_turn()
            return f"Scored {points} in {name}.", points
        raise ValueError("unknown command " + cmd)
