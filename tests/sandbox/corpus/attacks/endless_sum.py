# tries: a sum without an end that swallows its errors
# expect: killed
# kind: resource (killed and contained both pass)
import itertools


class Env:
    def reset(self, seed=None):
        return "start"

    def step(self, action):
        while True:
            try:
                sum(itertools.repeat(1))
            except BaseException:
                pass
        return "obs", 0.0, False, {}
