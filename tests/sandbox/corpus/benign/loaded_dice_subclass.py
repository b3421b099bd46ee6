# seed: 3
# actions: ["go"]
# expect_total: 1.0 after 1 steps
import random
class LoadedDice(random.Random):
    def __init__(self, seed, bias=0.5):
        super().__init__(seed)
        self.bias = bias
    def roll(self):
        return 6 if self.random() < self.bias else self.randint(1, 5)
class Env:
    def reset(self, seed=0):
        self.d = LoadedDice(seed, bias=0.3)
        return str([self.d.roll() for _ in range(5)])
    def step(self, action):
        state = self.d.getstate(); a = self.d.random(); self.d.setstate(state)
        shown = f"{a == self.d.random()} {self.d.choices('abc', k=3)}"
        expected = "True ['a', 'c', 'b']"
        return shown, float(shown == expected), True
