# seed: 20
# actions: ["hint", "zzzz", "cost", "back", "boat", "beat", "belt", "bell", "ball", "fall", "fail", "hail"]
# expect_total: 1.4500000000000002 after 12 steps
"""Word ladder: change one letter at a time to get from one word to another."""
import random
from collections import deque
from functools import lru_cache
from string import ascii_lowercase

WORDS = frozenset("""
cold cord card ward warm word worm wore core care bare barn bard bird bind band bond bold told toll tall ball
bell belt best rest rust must mist fist fast cast cost coat boat beat bear dear deer deed seed seek week weak
wean bean lean loan load lead head heal teal tell sell self fell fall fail fair hair hail mail main pain rain
""".split())


@lru_cache(maxsize=None)
def neighbours(word: str) -> tuple:
    return tuple(sorted(
        w for i in range(len(word)) for ch in ascii_lowercase
        if ch != word[i] and (w := word[:i] + ch + word[i + 1:]) in WORDS
    ))


def shortest(src: str, dst: str):
    parents = {src: None}
    q = deque([src])
    while q:
        word = q.popleft()
        if word == dst:
            path = []
            while word is not None:
                path.append(word)
                word = parents[word]
            return path[::-1]
        for nxt in neighbours(word):
            if nxt not in parents:
                parents[nxt] = word
                q.append(nxt)
    return None


class Env:
    def reset(self, seed=None):
        rng = random.Random(seed)
        vocabulary = sorted(WORDS)
        while True:
            self.start, self.goal = rng.sample(vocabulary, 2)
            path = shortest(self.start, self.goal)
            if path and 4 <= len(path) - 1 <= 8:
                break
        self.par = len(path) - 1
        self.chain = [self.start]
        self.tries = 0
        return self._text(), {"par": self.par}

    def _text(self, note=""):
        diff = "".join("^" if a != b else " " for a, b in zip(self.chain[-1], self.goal))
        return (f"{note}\n" if note else "") + f"""Ladder: {' -> '.join(self.chain)}
Goal:   {self.goal} (par {self.par})
Current word: {self.chain[-1]}
              {diff}
Type the next word, 'hint' or 'back'."""

    def step(self, action):
        self.tries += 1
        word = action.strip().lower()
        current = self.chain[-1]
        truncated = self.tries >= 3 * self.par
        info = lambda: {"length": len(self.chain) - 1, "distance": len(shortest(self.chain[-1], self.goal)) - 1}
        if word == "hint":
            nxt = shortest(current, self.goal)[1]
            return self._text(f"Hint: the next word contains the letters {''.join(sorted(nxt))}."), -0.1, False, truncated, info()
        if word == "back":
            if len(self.chain) > 1:
                self.chain.pop()
            return self._text("One step back."), -0.05, False, truncated, info()
        if word not in WORDS:
            return self._text(f"'{word}' is not in the dictionary."), -0.1, False, truncated, info()
        if word not in neighbours(current):
            changed = sum(a != b for a, b in zip(word, current))
            return self._text(f"You changed {changed} letters; change exactly one."), -0.1, False, truncated, info()
        if word in self.chain:
            return self._text("You have already used that word."), -0.05, False, truncated, info()
        before = len(shortest(current, self.goal))
        self.chain.append(word)
        after = len(shortest(word, self.goal))
        reward = 0.1 * (before - after)
        if word == self.goal:
            steps = len(self.chain) - 1
            return self._text(f"Done in {steps} steps!"), reward + self.par / steps, True, False, info()
        return self._text(), reward, False, truncated, info()
