# seed: 4
# actions: ["ask A about B", "ask B about C", "ask C about A", "count D", "answer A=knight B=knave C=knight D=knave", "answer A=knight B=knight C=knight D=knave"]
# expect_total: -0.7 after 6 steps
import itertools
import random
import re
from typing import Dict, List, Optional, Tuple

# The design question here is how to make the puzzle always solvable.
# Option 1: generate statements at random and check by brute force that exactly
#   one assignment satisfies all of them. With 4 people there are only 16
#   assignments so brute force is completely fine.
# Option 2: construct the statements from the solution.
# I go with a mix: statements are made from the solution (so at least one
# assignment is consistent), then I keep adding statements until uniqueness.
#
# A statement is a tuple (speaker, kind, payload):
#   ("A", "is", ("B", True))      A says: B is a knight
#   ("A", "same", ("B", "C"))     A says: B and C are of the same kind
#   ("A", "count", 2)             A says: exactly 2 of us are knights

NAMES = ["A", "B", "C", "D"]
Assignment = Dict[str, bool]
Statement = Tuple[str, str, object]


def truth(stmt_kind: str, payload, world: Assignment) -> bool:
    if stmt_kind == "is":
        who, val = payload
        return world[who] == val
    if stmt_kind == "same":
        x, y = payload
        return world[x] == world[y]
    if stmt_kind == "count":
        return sum(world.values()) == payload
    raise ValueError(stmt_kind)


def consistent(world: Assignment, statements: List[Statement]) -> bool:
    # A knight's statement must be true and a knave's must be false,
    # which is just: world[speaker] == truth(statement).
    return all(world[sp] == truth(k, p, world) for sp, k, p in statements)


def all_worlds() -> List[Assignment]:
    return [dict(zip(NAMES, bits)) for bits in itertools.product([False, True], repeat=len(NAMES))]


class KnightsAndKnavesEnv:
    MAX_STEPS = 12

    def __init__(self):
        self.rng: Optional[random.Random] = None
        self.statements: List[Statement] = []

    def reset(self, seed: Optional[int] = None):
        self.rng = random.Random(seed)
        self.world = self.rng.choice(all_worlds())
        self.statements = []
        self.asked = set()
        self.t = 0
        # Keep adding until unique. The bound of 200 is a safety net; in practice
        # fewer than ten are needed, and some worlds are symmetric under "same".
        for _ in range(200):
            sols = [w for w in all_worlds() if consistent(w, self.statements)]
            if len(sols) == 1:
                break
            self.statements.append(self._make())
        return self._describe()

    def _make(self) -> Statement:
        sp = self.rng.choice(NAMES)
        others = [n for n in NAMES if n != sp]
        kind = self.rng.choice(["is", "same", "count"])
        if kind == "is":
            who = self.rng.choice(others)
            # if the speaker is a knight tell the truth, otherwise the negation
            return (sp, "is", (who, self.world[who] == self.world[sp]))
        if kind == "same":
            x, y = self.rng.sample(others, 2)
            if (self.world[x] == self.world[y]) == self.world[sp]:
                return (sp, "same", (x, y))
            return (sp, "is", (x, self.world[x] == self.world[sp]))
        n = sum(self.world.values())
        if not self.world[sp]:
            n = (n + 1 + self.rng.randrange(len(NAMES))) % (len(NAMES) + 1)
        return (sp, "count", n)

    def _text(self, st: Statement) -> str:
        sp, kind, p = st
        if kind == "is":
            return f'{sp} says: "{p[0]} is a {"knight" if p[1] else "knave"}."'
        if kind == "same":
            return f'{sp} says: "{p[0]} and {p[1]} are the same kind."'
        return f'{sp} says: "Exactly {p} of us are knights."'

    def _describe(self) -> str:
        lines = ["On the island live A, B, C and D. Knights always tell the truth, knaves always lie."]
        lines += [self._text(s) for s in self.statements]
        lines.append("Commands: 'ask X about Y', 'count X', 'answer A=knight B=knave ...'")
        return "\n".join(lines)

    def step(self, action: str):
        self.t += 1
        done = self.t >= self.MAX_STEPS
        m = re.fullmatch(r"ask ([A-D]) about ([A-D])", action.strip())
        if m:
            x, y = m.groups()
            key = (x, y)
            says = self.world[y] == self.world[x]
            # Repeating the same question is worthless so punish it a bit more.
            reward = -0.05 if key not in self.asked else -0.1
            self.asked.add(key)
            return f'{x} says: "{y} is a {"knight" if says else "knave"}."', reward, done, {}
        m = re.fullmatch(r"count ([A-D])", action.strip())
        if m:
            n = sum(self.world.values())
            x = m.group(1)
            told = n if self.world[x] else len(NAMES) - n + (1 if 2 * n == len(NAMES) else 0)
            return f'{x} says: "There are {told} knights."', -0.05, done, {}
        if action.startswith("answer"):
            guess = {k: v == "knight" for k, v in re.findall(r"([A-D])=(knight|knave)", action)}
            right = sum(guess.get(n) == self.world[n] for n in NAMES)
            if right == len(NAMES):
                return "Correct! You solved the puzzle.", 1.0, True, {"right": right}
            return f"Only {right} of 4 are right.", -0.25, done, {"right": right}
        return "I don't understand.", -0.1, done, {}
