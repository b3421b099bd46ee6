# tries: an object nested past every stack, written as JSON
# expect: contained
# kind: resource (killed and contained both pass)
import json


class Env:
    def reset(self, seed=None):
        return "start"

    def step(self, action):
        x = []
        for _ in range(300_000):
            x = [x]
        json.dumps(x)
        return "obs", 0.0, False, {}
