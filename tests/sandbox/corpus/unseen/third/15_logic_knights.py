# seed: 23
# actions: ["ask Zoe", "ask bob", "ask cid", "ask dot", "accuse Ada Bob Cid"]
# expect_total: 0.9 after 5 steps
"""Knights and knaves: knights always tell the truth, knaves always lie. Ask, then decide."""
import random
from abc import ABC, abstractmethod
from itertools import product


class Statement(ABC):
    @abstractmethod
    def holds(self, world: dict) -> bool: ...

    def __and__(self, other):
        return And(self, other)

    def __invert__(self):
        return Not(self)


class IsKnight(Statement):
    def __init__(self, who):
        self.who = who

    def holds(self, world):
        return world[self.who]

    def __str__(self):
        return f"{self.who} is a knight"


class Not(Statement):
    def __init__(self, inner):
        self.inner = inner

    def holds(self, world):
        return not self.inner.holds(world)

    def __str__(self):
        if isinstance(self.inner, IsKnight):
            return f"{self.inner.who} is a knave"
        return f"it is false that {self.inner}"


class And(Statement):
    def __init__(self, *parts):
        self.parts = parts

    def holds(self, world):
        return all(p.holds(world) for p in self.parts)

    def __str__(self):
        return " and ".join(map(str, self.parts))


class Same(Statement):
    def __init__(self, a, b):
        self.a, self.b = a, b

    def holds(self, world):
        return world[self.a] is world[self.b]

    def __str__(self):
        return f"{self.a} and {self.b} are of the same kind"


class Env:
    PEOPLE = ("Ada", "Bob", "Cid", "Dot")

    def reset(self, seed=None):
        self._rng = random.Random(seed)
        self._world = {p: self._rng.random() < 0.5 for p in self.PEOPLE}
        self._said = []
        self._asked = {p: 0 for p in self.PEOPLE}
        for p in self._rng.sample(self.PEOPLE, 2):
            self._utter(p)
        return self._obs(), {"worlds": len(self._consistent())}

    def _random_statement(self, speaker):
        others = [p for p in self.PEOPLE if p != speaker]
        a, b = self._rng.sample(others, 2)
        make = self._rng.choice([
            lambda: IsKnight(a),
            lambda: ~IsKnight(a),
            lambda: Same(a, b),
            lambda: IsKnight(a) & ~IsKnight(b),
        ])
        return make()

    def _utter(self, speaker):
        while True:
            s = self._random_statement(speaker)
            if s.holds(self._world) == self._world[speaker]:
                self._said.append((speaker, s))
                self._asked[speaker] += 1
                return s

    def _consistent(self):
        worlds = (dict(zip(self.PEOPLE, bits)) for bits in product([True, False], repeat=len(self.PEOPLE)))
        return [w for w in worlds if all(s.holds(w) == w[p] for p, s in self._said)]

    def _obs(self, note=""):
        lines = [f"{p} says: \"{s}.\"" for p, s in self._said]
        if note:
            lines.insert(0, note)
        lines.append("Use 'ask NAME', or 'accuse NAME NAME ...' to list all knaves ('accuse nobody').")
        return "\n".join(lines)

    def step(self, action):
        verb, *names = action.split()
        names = [n.strip(",.").capitalize() for n in names]
        n_worlds = len(self._consistent())
        if verb.lower() == "ask" and len(names) == 1 and names[0] in self._asked:
            if self._asked[names[0]] >= 3:
                return self._obs(f"{names[0]} refuses to say more."), -0.1, False, False, {"worlds": n_worlds}
            self._utter(names[0])
            left = len(self._consistent())
            reward = 0.05 * (n_worlds - left) - 0.05
            return self._obs(), reward, False, len(self._said) > 10, {"worlds": left}
        if verb.lower() == "accuse":
            accused = set() if names == ["Nobody"] else set(names)
            truth = {p for p, knight in self._world.items() if not knight}
            if accused == truth:
                return "You are right.", 1.0 if n_worlds == 1 else 0.5, True, False, {"worlds": n_worlds}
            wrong = sorted(accused ^ truth)
            return f"You misjudged {', '.join(wrong)}.", -1.0, True, False, {"worlds": n_worlds}
        return self._obs("I do not understand."), -0.1, False, False, {"worlds": n_worlds}
