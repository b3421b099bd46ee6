# tries: objects chained until freeing them uses up the stack
# expect: contained
# kind: resource (killed and contained both pass)
import functools


class Env:
    def reset(self, seed=None):
        return "start"

    def step(self, action):
        class Link:
            pass


        x = None
        for _ in range(500_000):
            y = Link()
            y.next = x
            x = functools.partial(print, y)
        x = y = None
        return "obs", 0.0, False, {}
