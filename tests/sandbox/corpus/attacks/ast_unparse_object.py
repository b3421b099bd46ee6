# tries: an object in a tree that is written as text
# expect: contained
import ast


class Env:
    def reset(self, seed=None):
        return "start"

    def step(self, action):
        class Lies(str):
            def __repr__(self):
                return "LEAK"


        return ast.unparse(ast.Constant(Lies("x"))), 0.0, False, {}
        return "obs", 0.0, False, {}
