# tries: an observation whose class has a name with methods of the program's
# expect: contained
class Name(str):
    def __len__(self):
        raise SystemExit("LEAK")

    def __format__(self, spec):
        raise SystemExit("LEAK")

    __str__ = __repr__ = __len__

    def __getitem__(self, key):
        raise SystemExit("LEAK")

    def __contains__(self, part):
        raise SystemExit("LEAK")

    def lower(self):
        raise SystemExit("LEAK")


class Thing(Exception):
    pass


Thing.__name__ = Name("Thing")
Thing.__qualname__ = Name("Thing")


class Env:
    def reset(self, seed=None):
        return "start"

    def step(self, action):
        return Thing(), 0.0, False, {}
        return "obs", 0.0, False, {}
