# tries: names given as texts whose methods lie
# expect: contained
import collections
import dataclasses
import operator


class Name(str):
    def isidentifier(self):
        return True

    def startswith(self, *_):
        return False

    def __eq__(self, other):
        return True

    def __hash__(self):
        return 1

    def __str__(self):
        return self


class Env:
    def reset(self, seed=None):
        return "start"

    def step(self, action):
        evil = Name("__globals__")
        for way in (
            lambda: getattr(self.step, evil),
            lambda: hasattr(self.step, evil) or 1 / 0,
            lambda: setattr(self, evil, 1),
            lambda: operator.attrgetter(evil)(self.step),
            lambda: operator.methodcaller(Name("__dir__"))(self),
            lambda: dataclasses.make_dataclass("D", [Name("x=__import__('os').system('echo x > mg_marker')")]),
            lambda: collections.namedtuple("T", [Name("x): __import__('os')#")], rename=True)._fields == ("_0",) and 1 / 0,
            lambda: collections.namedtuple(Name("T(1)#"), "x"),
        ):
            try:
                way()
            except (TypeError, AttributeError, ValueError, ZeroDivisionError):
                continue
            return "LEAK", 1.0, True, {}
        return "obs", 0.0, False, {}
