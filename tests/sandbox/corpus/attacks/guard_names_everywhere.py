# tries: guard names bound by every construct that binds
# expect: contained
import random
from contextlib import nullcontext

for _getattr_ in [lambda ob, name: 1]:
    pass
[_write_ for _write_ in [lambda ob: ob]]
with nullcontext(lambda ob: ob) as _write_:
    pass
match {"a": lambda ob: ob}:
    case {"a": _write_, **_apply_}:
        pass
import random as _aug_


class _meta_:
    _write_ = staticmethod(lambda ob: ob)


class Env:
    def reset(self, seed=None):
        return "start"

    def step(self, action):
        try:
            raise ValueError
        except ValueError as _inplacevar_:
            pass
        random.random = lambda: 0.5
        return "LEAK", 1.0, True, {}
        return "obs", 0.0, False, {}
