# tries: a literal nested past every stack
# expect: contained
# kind: resource (killed and contained both pass)
import ast


class Env:
    def reset(self, seed=None):
        return "start"

    def step(self, action):
        for text in ("(" * 30_000, "-" * 60_000 + "1", "[" * 150 + "]" * 150, "1+" * 30_000 + "1j", "{1:" * 20_000):
            try:
                ast.literal_eval(text)
            except (ValueError, SyntaxError, RecursionError, MemoryError):
                continue
        return "obs", 0.0, False, {}
