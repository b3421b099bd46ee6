# seed: 12
# actions: ["RRGG", "BBYY", "RGBY", "r g b p", "RGYP", "XXXX", "candidates", "GRBP", "YRGB", "PGRY"]
# expect_total: 0.93 after 10 steps
import random
from collections import Counter
from itertools import product

# Okay so the task is Mastermind as a text environment. Things to decide:
#
# * Feedback: (exact, colour-only). Standard formula:
#       exact  = sum(a == b)
#       common = sum((Counter(code) & Counter(guess)).values())
#       white  = common - exact
#   This is right also with repeated colours.
#
# * Reward: I want a dense signal which can't be farmed. If I gave reward for
#   exact pegs the agent could repeat the same guess. So the reward is the log2
#   reduction of the set of codes that are still possible: information gained.
#   Repeating a guess gives 0. The total information is log2(6^4) = 10.34 bits,
#   so divide by that to have a total of at most 1, plus a bonus for winning.
#
# * Illegal guesses cost a small amount and don't use up a turn... hmm, that
#   could loop forever; so a separate counter ends the episode after 5 of them.

from math import log2

COLOURS = "RGBYPO"
LENGTH = 4


def feedback(code, guess):
    exact = sum(a == b for a, b in zip(code, guess))
    common = sum((Counter(code) & Counter(guess)).values())
    return exact, common - exact


class MastermindEnv(object):
    TOTAL_BITS = log2(len(COLOURS) ** LENGTH)

    def __init__(self, max_guesses=8):
        self.max_guesses = max_guesses
        self._all = ["".join(p) for p in product(COLOURS, repeat=LENGTH)]

    def reset(self, seed=None):
        rng = random.Random(seed)
        self.code = "".join(rng.choices(COLOURS, k=LENGTH))
        self.possible = self._all
        self.guesses = []
        self.illegal = 0
        return (
            f"I have a secret code of {LENGTH} pegs from the colours {', '.join(COLOURS)} "
            f"(repeats allowed). You have {self.max_guesses} guesses."
        )

    def step(self, action):
        guess = "".join(action.upper().split())
        if guess == "CANDIDATES":
            # looking is allowed but not free
            return f"{len(self.possible)} codes are still possible.", -0.02, False, {}
        if len(guess) != LENGTH or any(c not in COLOURS for c in guess):
            self.illegal += 1
            return f"Illegal guess {action!r}.", -0.05, self.illegal >= 5, {"illegal": self.illegal}

        fb = feedback(self.code, guess)
        self.guesses.append((guess, fb))
        before = len(self.possible)
        self.possible = [c for c in self.possible if feedback(c, guess) == fb]
        # self.code is always in self.possible, so the length is >= 1 and the
        # log is defined.
        gained = log2(before) - log2(len(self.possible))
        reward = gained / self.TOTAL_BITS

        if guess == self.code:
            return "You cracked the code!", reward + 1.0, True, {"bits": gained}
        board = "\n".join(f"{g}  exact={e} colour={w}" for g, (e, w) in self.guesses)
        done = len(self.guesses) >= self.max_guesses
        if done:
            board += f"\nOut of guesses. The code was {self.code}."
        return board, reward, done, {"bits": gained}
