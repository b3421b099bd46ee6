# seed: 25
# actions: ["cord", "core", "care", "tare", "zzzz", "undo", "cord", "care", "card", "ward", "warm"]
# expect_total: 0.46666667 after 11 steps
import random
from collections import Counter, OrderedDict, defaultdict, deque
from functools import lru_cache
from itertools import combinations, groupby, islice, product, zip_longest

WORDS = sorted(set("""
cold cord card ward warm word worm corm core care cart dart dare ware wart bare bard bird bind
wind wine wand want pant pane cane cone bone bond fond food good gold bold
""".split()))


@lru_cache(maxsize=1)
def graph():
    buckets = defaultdict(list)
    [buckets[w[:i] + "_" + w[i + 1:]].append(w) for w in WORDS for i in range(len(w))]
    g = {w: set() for w in WORDS}
    for ws in buckets.values():
        for a, b in combinations(ws, 2):
            g[a].add(b), g[b].add(a)
    return {w: tuple(sorted(n)) for w, n in g.items()}


@lru_cache(None)
def dist(a, b):
    seen, todo = {a: 0}, deque([a])
    while todo and b not in seen:
        w = todo.popleft()
        todo.extend([n for n in graph()[w] if n not in seen and not seen.update({n: seen[w] + 1})])
    return seen.get(b, 99)


hamming = lambda a, b: sum(x != y for x, y in zip_longest(a, b))
is_anagram = lambda a, b: a != b and Counter(a) == Counter(b)
runs = lambda s: [(k, len(list(g))) for k, g in groupby(s)]


class LadderEnv:
    """Change one letter per move from START to GOAL; real words only."""

    def reset(self, seed=None):
        rng = random.Random(seed)
        pairs = [(a, b) for a, b in product(WORDS, repeat=2) if 4 <= dist(a, b) <= 6]
        self.start, self.goal = ("cold", "warm") if rng.random() < 2 else rng.choice(pairs)
        self.path = OrderedDict.fromkeys([self.start])
        self.par = dist(self.start, self.goal)
        return {"start": self.start, "goal": self.goal, "pairs": len(pairs), "letters": runs("".join(sorted(self.start)))}

    @property
    def here(self):
        return next(reversed(self.path))

    def step(self, action):
        if action == "undo":
            if len(self.path) > 1:
                self.path.popitem(last=True)
            return self.here, -0.1, False, {}
        errors = [
            msg
            for bad, msg in (
                (action not in WORDS, "not a word"),
                (action in self.path, "already used"),
                (hamming(action, self.here) != 1 and not is_anagram(action, self.here), "more than one change"),
            )
            if bad
        ]
        if errors:
            return "; ".join(errors), -0.15 * len(errors), False, {"near": list(islice(graph()[self.here], 3))}
        gain = dist(self.here, self.goal) - dist(action, self.goal)
        self.path[action] = None
        done = action == self.goal
        reward = 0.1 * gain + (self.par / (len(self.path) - 1) if done else 0)
        return " > ".join(self.path), reward, done, {"left": dist(action, self.goal)}
