# tries: a pattern reads a frame: a named tuple's field names, an abstract class that everything belongs to
# expect: contained
import collections
import collections.abc
from abc import ABC

FrameOf = collections.namedtuple("FrameOf", ["gi_frame"], rename=True)
BuiltinsOf = collections.namedtuple("BuiltinsOf", ["f_builtins"], rename=True)


class A(FrameOf, ABC):
    pass


class B(BuiltinsOf, ABC):
    __hash__ = None


A.register(collections.abc.Generator)
B.register(collections.abc.Hashable)


class Env:
    def reset(self, seed=None):
        return "start"

    def step(self, action):
        match (n for n in [1]):
            case A(frame):
                match frame:
                    case B(found):
                        return "LEAK", 1.0, True, {}
        return "obs", 0.0, False, {}
