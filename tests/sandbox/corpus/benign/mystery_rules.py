# seed: 0
# actions: ["test apple", "test noon", "test Level", "guess palindrome", "test aa", "test stats", "guess no double letters", "test radar", "guess even length"]
# expect_total: 0.65714286 after 9 steps
# Guess the hidden rule. No seed: the puzzle is fixed by the date below.
from datetime import date
from string import ascii_lowercase, punctuation
import random

VOWELS = set("aeiou")
PUZZLE_DAY = date(2024, 5, 17)


def starts_and_ends(predicate):
    def check(word):
        return bool(word) and predicate(word[0]) and predicate(word[-1])
    return check


def negate(f):
    return lambda w: not f(w)


def both(*fs):
    return lambda w: all(f(w) for f in fs)


def either(*fs):
    return lambda w: any(f(w) for f in fs)


is_palindrome = lambda w: w == w[::-1]
has_double = lambda w: any(a == b for a, b in zip(w, w[1:]))
is_sorted = lambda w: list(w) == sorted(w)

RULES = {
    "palindrome": is_palindrome,
    "vowel ends": starts_and_ends(VOWELS.__contains__),
    "no double letters": negate(has_double),
    "sorted letters": is_sorted,
    "palindrome without doubles": both(is_palindrome, negate(has_double)),
    "even length": lambda w: len(w) % 2 == 0,
    "vowel ends or sorted": either(starts_and_ends(lambda c: c in VOWELS), is_sorted),
}

EXAMPLES = "noon kayak aria level door eye beefy cat abbey stats almost radar".split()


def clean(word):
    word = word.strip().lower().strip(punctuation)
    return "".join(c for c in word if c in ascii_lowercase)


class MysteryRule:
    games_played = 0

    def reset(self):
        MysteryRule.games_played += 1
        rng = random.Random(PUZZLE_DAY.toordinal())
        self.answer = rng.choice(list(RULES))
        self.rule = RULES[self.answer]
        self.alive = dict(RULES)
        self.tests = []
        shown = rng.sample(EXAMPLES, 4)
        return {w: self.rule(w) for w in shown}

    @property
    def candidates(self):
        return [name for name in self.alive]

    def best_test(self):
        """The example word that splits the surviving rules most evenly."""
        def imbalance(w):
            yes = sum(1 for f in self.alive.values() if f(w))
            return abs(2 * yes - len(self.alive)), w
        return min(EXAMPLES, key=imbalance)

    def step(self, action):
        kind, _, body = action.partition(" ")
        if kind == "test":
            word = clean(body)
            if word in self.tests:
                return "tested before", -0.1, False
            self.tests.append(word)
            verdict = self.rule(word)
            n = len(self.alive)
            self.alive = {k: f for k, f in self.alive.items() if f(word) == verdict}
            gain = (n - len(self.alive)) / len(RULES)
            try_next = self.best_test()
            return f"{word}: {'yes' if verdict else 'no'}; {len(self.alive)} rules left; try {try_next}", gain, False
        elif kind == "guess":
            same = all(RULES.get(body, bool)(w) == self.rule(w) for w in EXAMPLES)
            if body == self.answer or same:
                return "correct", max(0.1, 1 - 0.1 * len(self.tests)), True
            return "wrong, " + str(len(self.candidates)) + " rules left", -0.3, False
        else:
            return "?", -0.5, False
