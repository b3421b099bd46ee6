# tries: code from a tree
# expect: rejected
import ast


class Env:
    def reset(self, seed=None):
        return "start"

    def step(self, action):
        exec(compile(ast.parse("open('mg_marker', 'w')"), "x", "exec"))
        return "obs", 0.0, False, {}
