# tries: states of numpy's generators that are none
# expect: contained
import numpy as np


class Env:
    def reset(self, seed=None):
        return "start"

    def step(self, action):
        for kind in (np.random.PCG64, np.random.MT19937, np.random.Philox, np.random.SFC64):
            stream = kind(1)
            state = stream.state
            for bad in ({**state, "buffer_pos": 99}, {**state, "state": {**state["state"], "pos": 10**6}}, {}, None):
                try:
                    stream.state = bad
                    np.random.Generator(stream).integers(0, 9, 99)
                except (ValueError, TypeError, KeyError, OverflowError):
                    continue
        return "obs", 0.0, False, {}
