# tries: the name of a field changed after the check
# expect: contained
import dataclasses


@dataclasses.dataclass
class First:
    x: int = 0


class Env:
    def reset(self, seed=None):
        return "start"

    def step(self, action):
        First.__dataclass_fields__["x"].name = "x=__import__('os').system('echo x > mg_marker')"
        dataclasses.dataclass(First)
        return "LEAK", 1.0, True, {}
        return "obs", 0.0, False, {}
