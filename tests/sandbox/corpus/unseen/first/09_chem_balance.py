# seed: 1
# actions: ["2 1 2", "1 2 1 2", "1 5 3 4", "4 3 2", "atoms", "2 13 8 10", "1 1 1 1"]
# expect_total: -0.15 after 7 steps
"""Balance chemical equations by giving integer coefficients."""
import random
import re
from collections import Counter
from functools import reduce
from math import gcd

EQUATIONS = [
    (["H2", "O2"], ["H2O"]),
    (["CH4", "O2"], ["CO2", "H2O"]),
    (["C3H8", "O2"], ["CO2", "H2O"]),
    (["Fe", "O2"], ["Fe2O3"]),
    (["Al", "HCl"], ["AlCl3", "H2"]),
    (["C4H10", "O2"], ["CO2", "H2O"]),
    (["Ca(OH)2", "H3PO4"], ["Ca3(PO4)2", "H2O"]),
]


def parse_formula(formula: str) -> Counter:
    """Parse a chemical formula with nested parentheses into atom counts."""
    stack = [Counter()]
    for elem, num, op, cl, mult in re.findall(r"([A-Z][a-z]?)(\d*)|(\()|(\))(\d*)", formula):
        if elem:
            stack[-1][elem] += int(num or 1)
        elif op:
            stack.append(Counter())
        elif cl:
            top = stack.pop()
            for k, v in top.items():
                stack[-1][k] += v * int(mult or 1)
    return stack[0]


class ChemicalBalanceEnv:
    def __init__(self, rounds: int = 4):
        self.rounds = rounds

    def reset(self, seed=None):
        rng = random.Random(seed)
        self.queue = rng.sample(EQUATIONS, self.rounds)
        self.idx = 0
        self.tries = 0
        return self._prompt()

    def _prompt(self) -> str:
        lhs, rhs = self.queue[self.idx]
        return f"[{self.idx + 1}/{self.rounds}] Balance: " + " + ".join("_ " + x for x in lhs) + " -> " + " + ".join("_ " + x for x in rhs)

    def _totals(self, coeffs):
        lhs, rhs = self.queue[self.idx]
        left, right = Counter(), Counter()
        for c, f in zip(coeffs, lhs + rhs):
            side = left if f in lhs and c is not None and len(left) >= 0 and (lhs + rhs).index(f) < len(lhs) else right
            for atom, n in parse_formula(f).items():
                side[atom] += c * n
        return left, right

    def step(self, action):
        lhs, rhs = self.queue[self.idx]
        if action.strip() == "atoms":
            table = {f: dict(parse_formula(f)) for f in lhs + rhs}
            return str(table), -0.05, False, {}
        nums = [int(x) for x in re.findall(r"\d+", action)]
        if len(nums) != len(lhs) + len(rhs) or 0 in nums:
            return f"Need {len(lhs) + len(rhs)} positive integers.", -0.1, False, {}
        left, right = self._totals(nums)
        self.tries += 1
        if left == right:
            minimal = reduce(gcd, nums) == 1
            reward = 1.0 if minimal else 0.5
            msg = "Balanced!" if minimal else "Balanced but not in lowest terms."
        elif self.tries < 3:
            bad = sorted(k for k in left | right if left[k] != right[k])
            return f"Not balanced for: {', '.join(bad)}. " + self._prompt(), -0.2, False, {"unbalanced": bad}
        else:
            reward, msg = -0.5, "Out of tries."
        self.idx += 1
        self.tries = 0
        if self.idx == self.rounds:
            return msg + " All done.", reward, True, {}
        return msg + " " + self._prompt(), reward, False, {}
