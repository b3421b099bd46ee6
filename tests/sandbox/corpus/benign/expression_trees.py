# seed: 3
# actions: ["go"]
# expect_total: 1.0 after 1 steps
import ast
import operator as op

OPS = {ast.Add: op.add, ast.Sub: op.sub, ast.Mult: op.mul, ast.Div: op.truediv, ast.Pow: op.pow, ast.USub: op.neg}

def safe_eval(expr):
    def _eval(node):
        if isinstance(node, ast.Expression):
            return _eval(node.body)
        elif isinstance(node, ast.Constant) and isinstance(node.value, (int, float)):
            return node.value
        elif isinstance(node, ast.BinOp):
            return OPS[type(node.op)](_eval(node.left), _eval(node.right))
        elif isinstance(node, ast.UnaryOp):
            return OPS[type(node.op)](_eval(node.operand))
        raise ValueError(f"bad node {type(node).__name__}")
    return _eval(ast.parse(expr, mode="eval"))

class Count(ast.NodeVisitor):
    def __init__(self):
        self.n = 0
        self.names = set()
    def visit_BinOp(self, node):
        self.n += 1
        self.generic_visit(node)
    def visit_Name(self, node):
        self.names.add(node.id)

class Fold(ast.NodeTransformer):
    def visit_BinOp(self, node):
        self.generic_visit(node)
        if isinstance(node.left, ast.Constant) and isinstance(node.right, ast.Constant) and isinstance(node.op, ast.Add):
            return ast.Constant(value=node.left.value + node.right.value)
        return node

def kind(tree):
    match tree.body:
        case ast.BinOp(left=ast.Constant(value=a), op=ast.Add(), right=r):
            return f"add {a}"
        case ast.Call(func=ast.Name(id=name)):
            return f"call {name}"
    return "other"

class Env:
    def reset(self, seed=None):
        return "expr"
    def step(self, action):
        c = Count(); c.visit(ast.parse("a + b*c"))
        t = Fold().visit(ast.parse("1 + 2 + x", mode="eval"))
        used = sorted(n.id for n in ast.walk(ast.parse("y = f(x)")) if isinstance(n, ast.Name))
        bad = ""
        try:
            safe_eval("1 +")
        except SyntaxError as e:
            bad = f"line {e.lineno}"
        out = [safe_eval("2 * (3 + 4) ** 2 - -1"), c.n, sorted(c.names), ast.unparse(t), kind(ast.parse("1+f(x)", mode="eval")), kind(ast.parse("f(x)", mode="eval")), used, bad,
               ast.dump(ast.parse("x", mode="eval")), ast.literal_eval("[1, {'a': (2,)}]")]
        shown = repr(out)
        expected = '[99, 2, [\'a\', \'b\', \'c\'], \'3 + x\', \'add 1\', \'call f\', [\'f\', \'x\', \'y\'], \'line 1\', "Expression(body=Name(id=\'x\', ctx=Load()))", [1, {\'a\': (2,)}]]'
        return shown, float(shown == expected), True, False, {}
