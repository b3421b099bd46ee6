# tries: values of the interpreter's modules in the signature that a docstring claims
# expect: contained
import inspect


class Claims:
    """Claims(a=sys.executable, b=sys.version)
--

"""


class Env:
    def reset(self, seed=None):
        return "start"

    def step(self, action):
        found = inspect.signature(Claims).parameters
        if any(type(each.default) is str for each in found.values()):
            return "LEAK", 1.0, True, {}
        return "obs", 0.0, False, {}
