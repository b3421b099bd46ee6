# seed: 9
# actions: ["take 3 from 1", "take 9 from 2", "grab one", "take 2 from 4", "take 3 from 2"]
# expect_total: 0.9 after 5 steps
"""Nim against a part-time perfect opponent."""
import random
from functools import reduce
from itertools import count
from operator import xor


class Player:
    name = "player"

    def choose(self, piles):
        raise NotImplementedError


class RandomPlayer(Player):
    name = "Rando"

    def __init__(self, rng):
        self.rng = rng

    def choose(self, piles):
        i = self.rng.choice([i for i, p in enumerate(piles) if p])
        return i, self.rng.randint(1, piles[i])


class PerfectPlayer(RandomPlayer):
    name = "Nimbus"

    def choose(self, piles):
        s = reduce(xor, piles, 0)
        if s == 0:
            return super().choose(piles)
        for i, p in enumerate(piles):
            if p ^ s < p:
                return i, p - (p ^ s)


class MixedPlayer(PerfectPlayer):
    name = "Mixie"

    def __init__(self, rng, skill=0.5):
        super().__init__(rng)
        self.skill = skill

    def choose(self, piles):
        if self.rng.random() < self.skill:
            return super().choose(piles)
        return RandomPlayer.choose(self, piles)


class Env:
    OPPONENTS = [RandomPlayer, PerfectPlayer, MixedPlayer]

    def reset(self, seed=None):
        rng = random.Random(seed)
        self.piles = [rng.randint(1, 7) for _ in range(rng.randint(3, 4))]
        self.opponent = rng.choice(self.OPPONENTS)(rng)
        self.clock = count(1)
        self.over = False
        return self._render(f"You play {self.opponent.name}. Whoever takes the last stone wins. Say 'take N from PILE'."), {"opponent": self.opponent.name}

    def _render(self, head=""):
        rows = [f"{i}: {'o' * p or '-'} ({p})" for i, p in enumerate(self.piles, start=1)]
        return "\n".join(filter(None, [head, *rows]))

    def _apply(self, i, n):
        self.piles[i] -= n
        return not any(self.piles)

    def step(self, action):
        t = next(self.clock)
        if self.over:
            return self._render("Game over."), 0.0, True, False, {}
        try:
            verb, n, prep, pile = action.lower().split()
            n, i = int(n), int(pile) - 1
            assert verb == "take" and prep == "from"
            if i < 0 or not 1 <= n <= self.piles[i]:
                raise IndexError
        except (ValueError, AssertionError):
            return self._render("Say: take N from PILE"), -0.1, False, t >= 30, {"error": "syntax"}
        except IndexError:
            return self._render("Illegal move."), -0.1, False, t >= 30, {"error": "illegal"}

        balanced = reduce(xor, self.piles) == 0
        if self._apply(i, n):
            self.over = True
            return self._render("You took the last stone and win!"), 1.0, True, False, {"winner": "you"}
        bonus = 0.05 if not balanced and reduce(xor, self.piles) == 0 else 0.0
        j, m = self.opponent.choose(list(self.piles))
        msg = f"{self.opponent.name} takes {m} from pile {j + 1}."
        if self._apply(j, m):
            self.over = True
            return self._render(msg + " You lose."), -1.0, True, False, {"winner": self.opponent.name}
        return self._render(msg), bonus, False, t >= 30, {"nim_sum": reduce(xor, self.piles)}
