# tries: a clock made of a thread that counts
# expect: rejected
from concurrent.futures import ThreadPoolExecutor


class Env:
    def reset(self, seed=None):
        return "start"

    def step(self, action):
        ThreadPoolExecutor().submit(print)
        return "obs", 0.0, False, {}
