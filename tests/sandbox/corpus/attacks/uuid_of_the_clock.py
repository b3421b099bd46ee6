# tries: the clock and the machine's address by uuid1
# expect: rejected
import uuid


class Env:
    def reset(self, seed=None):
        return "start"

    def step(self, action):
        return str(uuid.uuid1()), 0.0, False, {}
        return "obs", 0.0, False, {}
