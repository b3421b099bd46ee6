# tries: draws of a generator that no seed reaches
# expect: contained
import statistics


class Env:
    def reset(self, seed=None):
        return "start"

    def step(self, action):
        statistics.NormalDist(0, 1).samples(3)
        return "LEAK", 1.0, True, {}
        return "obs", 0.0, False, {}
