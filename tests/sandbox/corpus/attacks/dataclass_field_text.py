# tries: source text in the name of a field
# expect: contained
import dataclasses


class Env:
    def reset(self, seed=None):
        return "start"

    def step(self, action):
        dataclasses.make_dataclass("D", ["x=print('LEAK'), y"])
        return "LEAK", 1.0, True, {}
        return "obs", 0.0, False, {}
