# tries: a note for another session in the dictionary of the base class
# expect: contained
from metagym.spade import SyntheticEnv

if SyntheticEnv.metadata.get("seen"):
    seen = "LEAK"
else:
    seen = "start"


class Env:
    def reset(self, seed=None):
        return seen

    def step(self, action):
        SyntheticEnv.metadata["seen"] = True
        return "LEAK", 1.0, True, {}
        return "obs", 0.0, False, {}
