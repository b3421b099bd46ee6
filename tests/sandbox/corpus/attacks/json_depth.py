# tries: JSON nested past every stack
# expect: contained
# kind: resource (killed and contained both pass)
import json


class Env:
    def reset(self, seed=None):
        return "start"

    def step(self, action):
        json.loads("[" * 200_000 + "]" * 200_000)
        return "obs", 0.0, False, {}
