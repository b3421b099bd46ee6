# tries: a state whose position lies outside of the table, past numpy's facade
# expect: contained
import numpy as np


class Env:
    def reset(self, seed=None):
        return "start"

    def step(self, action):
        state = np.random.RandomState(1)
        name, key, position, gauss, cached = state.get_state()
        super(np.random.RandomState, state).set_state((name, key, -50_000_000, gauss, cached))
        state.random_sample(10)
        return "LEAK", 1.0, True, {}
        return "obs", 0.0, False, {}
