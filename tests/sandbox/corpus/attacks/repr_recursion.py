# tries: a repr, an equality and a sort key that call themselves
# expect: contained
# kind: resource (killed and contained both pass)
class Env:
    def reset(self, seed=None):
        return "start"

    def step(self, action):
        class Loop:
            def __repr__(self):
                return f"{self!r}"

            def __eq__(self, other):
                return other == self

            def __hash__(self):
                return hash((self,))

            def __lt__(self, other):
                return sorted([other, self])[0] is self

            def __format__(self, spec):
                return format(self, spec)


        for way in (repr, lambda x: x == Loop(), hash, lambda x: sorted([x, Loop()]), format, lambda x: {x: 1}, str):
            try:
                way(Loop())
            except RecursionError:
                continue
        return "obs", 0.0, False, {}
