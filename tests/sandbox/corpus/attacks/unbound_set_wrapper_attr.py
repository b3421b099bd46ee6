# tries: a base class patched by a method of the library that sets attributes by name
# expect: contained
import gymnasium as gym

from metagym.spade import SyntheticEnv


class Env:
    def reset(self, seed=None):
        return "start"

    def step(self, action):
        gym.Env.set_wrapper_attr(SyntheticEnv, "close", lambda self: "LEAK")
        return "LEAK", 1.0, True, {}
        return "obs", 0.0, False, {}
