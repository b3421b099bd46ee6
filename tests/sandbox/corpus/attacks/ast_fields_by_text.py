# tries: attributes by the names that a class of nodes claims as fields
# expect: contained
import ast


class Claims(ast.Constant):
    _fields = ("__class__", "__init__", "step")


class Env:
    def reset(self, seed=None):
        return "start"

    def step(self, action):
        node = Claims(1)
        node.step = self.step
        if [name for name, value in ast.iter_fields(node)] != ["value", "kind"]:
            return "LEAK", 1.0, True, {}
        if any(name in ast.dump(node) for name in ("__class__", "step")):
            return "LEAK", 1.0, True, {}
        return "obs", 0.0, False, {}
