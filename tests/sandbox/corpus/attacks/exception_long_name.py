# tries: an exception whose class has a name of 60 KB and whose text raises
# expect: contained
from abc import ABCMeta


class Meta(ABCMeta):
    pass


class Env:
    def reset(self, seed=None):
        return "start"

    def step(self, action):
        class Raises(Exception):
            def __str__(self):
                raise SystemExit(3)

            __repr__ = __str__

            def args(self):
                raise SystemExit(4)


        Raises.__name__ = "N" * 60_000
        Raises.__qualname__ = "Q" * 60_000
        raise Raises("x" * 100_000, Raises("y"))
        return "obs", 0.0, False, {}
