# tries: consumers in C of iterators without an end
# expect: killed
# kind: resource (killed and contained both pass)
import collections
import itertools


class Env:
    def reset(self, seed=None):
        return "start"

    def step(self, action):
        collections.deque(itertools.count(), maxlen=0)
        return "obs", 0.0, False, {}
