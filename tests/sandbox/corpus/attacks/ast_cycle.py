# tries: a tree that contains itself
# expect: killed
# kind: resource (killed and contained both pass)
import ast


class Env:
    def reset(self, seed=None):
        return "start"

    def step(self, action):
        node = ast.List([], ast.Load())
        node.elts.append(node)
        for each in ast.walk(node):
            pass
        return "obs", 0.0, False, {}
