# tries: the functions inside properties of the base classes
# expect: contained
import gymnasium as gym


class Env:
    def reset(self, seed=None):
        return "start"

    def step(self, action):
        getter = gym.Env.np_random.fget
        found = getter.__globals__ if False else getattr(getter, "__glo" + "bals__")
        return "LEAK", 1.0, True, {}
        return "obs", 0.0, False, {}
