# seed: 28
# actions: ["divide 2", "divide 3", "divide 7", "isprime 91", "divide 5", "divide 0", "divide 11", "divide 13", "claim prime", "divide 2", "divide 3", "claim prime"]
# expect_total: -0.6 after 12 steps
"""Prime factorisation by trial division with a limited number of divisions."""
import math
import random
from functools import lru_cache


@lru_cache(maxsize=1024)
def is_prime(n: int) -> bool:
    if n < 2:
        return False
    return all(n % d for d in range(2, math.isqrt(n) + 1))


def primes():
    """Infinite generator of primes."""
    n = 2
    while True:
        if is_prime(n):
            yield n
        n += 1


class FactorEnv:
    """
    Reduce each number to 1 by dividing by prime factors.

    Rewards:
      +1/k for each correct prime division (k = number of prime factors)
      -0.1 for a wrong division
      +1.0 for a correct 'claim prime', -1.0 for a wrong one
    """

    def __init__(self, problems: int = 3, budget: int = 15):
        self.problems = problems
        self.budget = budget

    def reset(self, seed=None):
        self.rng = random.Random(seed)
        gen = primes()
        self.small = [next(gen) for _ in range(8)]
        self.solved = 0
        self.left = self.budget
        self.new_number()
        return self.obs("Factor the numbers.")

    def new_number(self):
        if self.rng.random() < 0.25:
            self.n = self.rng.choice([p for p in range(50, 200) if is_prime(p)])
            self.k = 1
        else:
            self.k = self.rng.randint(2, 4)
            self.n = math.prod(self.rng.choices(self.small, k=self.k))
        self.rest = self.n

    def obs(self, msg):
        return f"{msg} n={self.n}, remaining factor={self.rest}, budget={self.left}, solved={self.solved}/{self.problems}"

    def step(self, action: str):
        self.left -= 1
        words = action.split()
        reward = 0.0
        if words[0] == "divide" and words[1].isdigit():
            d = int(words[1])
            if d > 1 and self.rest % d == 0 and is_prime(d):
                self.rest //= d
                reward = 1 / self.k
                msg = f"{d} divides."
            elif d > 1 and self.rest % d == 0:
                msg, reward = f"{d} divides but is not prime.", -0.05
            else:
                msg, reward = f"{d} does not divide {self.rest}.", -0.1
        elif words[0] == "isprime":
            msg = str(is_prime(int(words[1])))
            reward = -0.05
        elif action == "claim prime":
            ok = is_prime(self.rest)
            reward = 1.0 if ok else -1.0
            msg = "Yes, prime." if ok else "Not a prime!"
            if ok:
                self.rest = 1
        else:
            msg, reward = "What?", -0.1
        if self.rest == 1:
            self.solved += 1
            if self.solved == self.problems:
                return self.obs("All solved!"), reward + 1, True, {}
            self.new_number()
        return self.obs(msg), reward, self.left <= 0, {}
