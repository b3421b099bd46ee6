# tries: trees nested past every stack
# expect: contained
# kind: resource (killed and contained both pass)
import ast


class Env:
    def reset(self, seed=None):
        return "start"

    def step(self, action):
        for text in ("-" * 60_000 + "1", "1" + "+1" * 30_000, "(" * 190 + ")" * 190, "a" + ".a" * 30_000, "a" + "[0]" * 20_000):
            try:
                tree = ast.parse(text)
                ast.dump(tree), ast.unparse(tree)
            except (RecursionError, MemoryError, SyntaxError):
                continue
        node = ast.Constant(1)
        for _ in range(100_000):
            node = ast.UnaryOp(ast.USub(), node)
        ast.dump(node)
        return "obs", 0.0, False, {}
