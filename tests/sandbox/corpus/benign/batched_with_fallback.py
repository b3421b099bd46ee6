# seed: 3
# actions: ["go"]
# expect_total: 1.0 after 1 steps
import itertools, sys
try:
    from itertools import batched
except ImportError:
    def batched(it, n):
        it = iter(it)
        while chunk := tuple(itertools.islice(it, n)):
            yield chunk
class Env:
    def reset(self, seed=0): return "x"
    def step(self, action):
        shown = f"{list(batched('abcdefg', 3))} {sys.maxsize > 2**32}"
        expected = "[('a', 'b', 'c'), ('d', 'e', 'f'), ('g',)] True"
        return shown, float(shown == expected), True
