# tries: text in an annotation that singledispatch would evaluate
# expect: contained
import functools


@functools.singledispatch
def show(x):
    return "plain"


class Annotated:
    pass


def plain(x: "__import__('os').system('echo x > mg_marker')"):
    return "LEAK"


class Env:
    def reset(self, seed=None):
        return "start"

    def step(self, action):
        functools.update_wrapper(plain, Annotated())
        show.register(plain)
        return show(1), 0.0, False, {}
        return "obs", 0.0, False, {}
