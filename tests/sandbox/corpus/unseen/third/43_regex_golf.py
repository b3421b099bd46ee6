# seed: 14
# actions: ["[a-z]+", "(", "\\d+-\\d+-\\d+"]
# expect_total: 0.99 after 3 steps
"""Regex practice: write a pattern that matches all the good strings and none of the bad ones."""
import random
import re
import string


def digits(rng, n):
    return "".join(rng.choice(string.digits) for _ in range(n))


def word(rng, lo=3, hi=6):
    return "".join(rng.choices(string.ascii_lowercase, k=rng.randint(lo, hi)))


class Task:
    hint = ""

    def good(self, rng):
        raise NotImplementedError

    def bad(self, rng):
        return word(rng)


class DateTask(Task):
    hint = "ISO dates"

    def good(self, rng):
        return f"20{digits(rng, 2)}-{rng.randint(1, 12):02d}-{rng.randint(1, 28):02d}"

    def bad(self, rng):
        return rng.choice([f"{digits(rng, 2)}/{digits(rng, 2)}", f"{digits(rng, 4)}-{digits(rng, 1)}", digits(rng, 8)])


class HexTask(Task):
    hint = "hex colours"

    def good(self, rng):
        return "#" + "".join(rng.choices("0123456789abcdef", k=rng.choice([3, 6])))

    def bad(self, rng):
        return rng.choice(["#" + "".join(rng.choices("ghxyz", k=3)), digits(rng, 6), "#" + digits(rng, 4)])


class PlateTask(Task):
    hint = "number plates"

    def good(self, rng):
        return "".join(rng.choices(string.ascii_uppercase, k=2)) + "-" + digits(rng, 3)

    def bad(self, rng):
        return rng.choice([word(rng, 2, 2) + "-" + digits(rng, 3), digits(rng, 5), "AB" + digits(rng, 3)])


class DoubledTask(Task):
    hint = "words with a doubled letter"

    def good(self, rng):
        c = rng.choice(string.ascii_lowercase)
        return word(rng, 1, 3) + c * 2 + word(rng, 1, 2)

    def bad(self, rng):
        return "".join(rng.sample(string.ascii_lowercase, 5))


class Env:
    tries = 6

    def reset(self, seed=None):
        rng = random.Random(seed)
        self.task = rng.choice(Task.__subclasses__())()
        self.good = [self.task.good(rng) for _ in range(5)]
        self.bad = [self.task.bad(rng) for _ in range(5)]
        self.held_out = [(self.task.good(rng), self.task.bad(rng)) for _ in range(10)]
        self.left = self.tries
        self.best = 0.0
        return "Full-match every GOOD string and no BAD string.\nGOOD: %s\nBAD:  %s" % (" ".join(self.good), " ".join(self.bad)), {"hint": self.task.hint}

    def step(self, action):
        self.left -= 1
        out_of_tries = self.left <= 0
        if len(action) > 40:
            return "Pattern too long (40 max).", -0.2, False, out_of_tries, {}
        try:
            rx = re.compile(action)
        except re.error as err:
            where = f" at {err.pos}" if err.pos is not None else ""
            return f"re.error: {err.msg}{where}", -0.2, False, out_of_tries, {}
        missed = [s for s in self.good if not rx.fullmatch(s)]
        wrong = [s for s in self.bad if rx.fullmatch(s)]
        score = 1 - (len(missed) + len(wrong)) / (len(self.good) + len(self.bad))
        reward = max(0.0, score - self.best) * 0.5
        self.best = max(self.best, score)
        if not missed and not wrong:
            general = sum(bool(rx.fullmatch(g)) + (not rx.fullmatch(b)) for g, b in self.held_out) / (2 * len(self.held_out))
            brevity = max(0, 30 - len(action)) / 100
            return f"Solved! Generalisation {general:.0%}.", reward + 0.5 * general + brevity, True, False, {"general": general}
        return f"missed: {missed or 'none'}\nwrongly matched: {wrong or 'none'}\n{self.left} tries left", reward, False, out_of_tries, {"score": score}
