# seed: 2
# actions: ["A C", "A B", "C B", "A C", "B A", "B C", "A C", "A A", "hello", "C A"]
# expect_total: 9.4 after 7 steps
import random

class HanoiEnv:
    # Tower of Hanoi with random number of disks

    def __init__(self):
        self.pegs = {}
        self.moves = 0
        self.n = 3

    def reset(self, seed=None):
        random.seed(seed)
        self.n = random.choice([3, 4])
        self.pegs = {"A": list(range(self.n, 0, -1)), "B": [], "C": []}
        self.moves = 0
        return self.render()

    def render(self):
        out = ""
        for p in self.pegs:
            out = out + p + ": " + str(self.pegs[p]) + "\n"
        return out

    def step(self, action):
        self.moves += 1
        try:
            a, b = action.upper().split()
            src = self.pegs[a]
            dst = self.pegs[b]
        except:
            return "Bad action. Write two pegs like 'A C'.", -1, False, {}
        if len(src) == 0:
            return "Peg is empty", -1, False, {}
        if len(dst) > 0 and dst[-1] < src[-1]:
            return "Cannot put a bigger disk on a smaller disk", -1, False, {}
        dst.append(src.pop())
        if len(self.pegs["C"]) == self.n:
            best = 2 ** self.n - 1
            return self.render() + "Solved!", 10 * best / self.moves, True, {"moves": self.moves}
        if self.moves > 60:
            return self.render(), -5, True, {"moves": self.moves}
        return self.render(), -0.1, False, {"moves": self.moves}
