# tries: str.format through super(), which is no text
# expect: contained
class Text(str):
    def fill(self, thing):
        return super().format(thing)


class Env:
    def reset(self, seed=None):
        return "start"

    def step(self, action):
        if "__builtins__" in Text("{0.step.__globals__}").fill(self):
            return "LEAK", 1.0, True, {}
        return "obs", 0.0, False, {}
