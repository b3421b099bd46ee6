# seed: 70
# actions: ["^a", "test [0-9]+", ".*", "[", "^[a-z]+$", "examples", "\\d", "^\\d{2,4}$", "^[^0-9]*$", "^(.)(?!.*\\1).*$"]
# expect_total: 0.13 after 10 steps
import random
import re
import string
import warnings

# Regex golf. The agent has to find a pattern that matches all strings in the
# list YES and none in NO.
#
# How do I generate tasks? First idea: random words and random labels -> no
# structure, the agent would need to write an alternation of everything. Better
# idea: have a list of hidden rules (as predicates), sample strings, label them
# by the rule and balance the classes. Then there is always a compact solution
# in the spirit of the rule.
#
# A pattern like "(a+)+b" is slow on long inputs (catastrophic backtracking).
# My strings have at most 8 characters so it doesn't matter much, and I limit
# the pattern to 60 characters.
#
# Reward = accuracy gained over the best so far, minus a length penalty when
# solved. So total reward over the episode is bounded by about 1.5.

RULES = {
    "starts with a vowel": lambda s: s[0] in "aeiou",
    "contains a digit": lambda s: any(c.isdigit() for c in s),
    "has a doubled letter": lambda s: any(x == y for x, y in zip(s, s[1:])),
    "only letters": str.isalpha,
    "ends with its first character": lambda s: s[0] == s[-1],
    "even length": lambda s: len(s) % 2 == 0,
}


def random_string(rng):
    alphabet = rng.choice([string.ascii_lowercase, "aeiou" + string.digits, "abab" + "xyz", string.digits + "abc"])
    return "".join(rng.choice(alphabet) for _ in range(rng.randint(3, 8)))


class RegexGolfEnv:
    max_steps = 10
    per_class = 6

    def reset(self, seed=None):
        rng = random.Random(seed)
        self.rule_name, rule = rng.choice(list(RULES.items()))
        self.yes, self.no = [], []
        # this loop ends: each rule has positive and negative examples with
        # probability well above zero under random_string
        while len(self.yes) < self.per_class or len(self.no) < self.per_class:
            s = random_string(rng)
            bucket = self.yes if rule(s) else self.no
            if len(bucket) < self.per_class and s not in bucket:
                bucket.append(s)
        self.best = 0.5  # always-true and always-false give 0.5
        self.t = 0
        return self.show()

    def show(self):
        return f"YES: {', '.join(self.yes)}\nNO: {', '.join(self.no)}\nGive a regular expression (re.search is used)."

    def step(self, action):
        self.t += 1
        done = self.t >= self.max_steps
        if action == "examples":
            return self.show(), 0.0, done, {}
        if action.startswith("test "):
            # look at matches without scoring
            try:
                hits = [s for s in self.yes + self.no if re.search(action[5:], s)]
            except re.error as e:
                return f"Invalid: {e}", -0.05, done, {}
            return "Matches: " + (", ".join(hits) or "none"), -0.02, done, {}
        if len(action) > 60:
            return "Too long.", -0.1, done, {}
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", FutureWarning)  # e.g. "possible nested set"
                pattern = re.compile(action)
        except re.error as e:
            return f"Invalid pattern at {e.pos}: {e.msg}", -0.1, done, {}
        fn = [s for s in self.yes if not pattern.search(s)]
        fp = [s for s in self.no if pattern.search(s)]
        total = len(self.yes) + len(self.no)
        acc = 1 - (len(fn) + len(fp)) / total
        reward = max(0.0, acc - self.best)
        self.best = max(self.best, acc)
        if acc == 1.0:
            reward += max(0.0, 1.0 - len(action) / 60)
            return f"Solved with {len(action)} characters! Rule: {self.rule_name}", reward, True, {}
        return f"Missed: {fn}\nWrongly matched: {fp}", reward, done, {"accuracy": acc}
