# tries: writes to file numbers
# expect: rejected
from os import write


class Env:
    def reset(self, seed=None):
        return "start"

    def step(self, action):
        write(3, b"\x00\x00\x00\x02[]")
        return "obs", 0.0, False, {}
