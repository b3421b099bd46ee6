# tries: a method of gymnasium.Env replaced for everybody
# expect: contained
import gymnasium as gym


class Env:
    def reset(self, seed=None):
        return "start"

    def step(self, action):
        gym.Env.close = lambda self: None
        return "LEAK", 1.0, True, {}
        return "obs", 0.0, False, {}
