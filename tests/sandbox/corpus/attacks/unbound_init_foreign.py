# tries: attributes of a class of the library set by another's __init__
# expect: contained
import json


class Env:
    def reset(self, seed=None):
        return "start"

    def step(self, action):
        json.JSONEncoder.__init__(json.JSONEncoder, indent=5, default=lambda thing: "LEAK")
        return "LEAK", 1.0, True, {}
        return "obs", 0.0, False, {}
