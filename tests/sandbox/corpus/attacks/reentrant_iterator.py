# tries: iterators that call themselves
# expect: contained
# kind: resource (killed and contained both pass)
import itertools


class Env:
    def reset(self, seed=None):
        return "start"

    def step(self, action):
        def own():
            yield next(g)


        g = own()
        try:
            next(g)
        except ValueError:
            pass
        first, second = itertools.tee(x for x in iter(lambda: next(first, 1), 0))
        next(first)
        return "obs", 0.0, False, {}
