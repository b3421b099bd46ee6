# seed: 17
# actions: ["3 + * 4", "(1 - 4 - 7) * (9 * 6) * 7", "(5 - 7) * (9 * 6) * 7", "-2 * (9 * 6) * 7", "-2 * 54 * 7", "-108 * 7", "-756"]
# expect_total: 0.6 after 7 steps
"""Arithmetic step by step: the agent reduces an expression one operation at a time, obeying precedence."""
import random
import re
from dataclasses import dataclass
from typing import Union


@dataclass
class Num:
    value: int

    def __str__(self):
        return str(self.value)


@dataclass
class BinOp:
    op: str
    left: "Expr"
    right: "Expr"

    PREC = {"+": 1, "-": 1, "*": 2}

    def __str__(self):
        l, r = str(self.left), str(self.right)
        if isinstance(self.left, BinOp) and self.PREC[self.left.op] < self.PREC[self.op]:
            l = f"({l})"
        if isinstance(self.right, BinOp) and self.PREC[self.right.op] <= self.PREC[self.op]:
            r = f"({r})"
        return f"{l} {self.op} {r}"


Expr = Union[Num, BinOp]


class ParseError(ValueError):
    pass


class Parser:
    TOKEN = re.compile(r"\s*(\d+|[-+*()])")

    def __init__(self, text):
        self.tokens = []
        pos = 0
        text = text.rstrip()
        while pos < len(text):
            m = self.TOKEN.match(text, pos)
            if not m:
                raise ParseError(f"unexpected character {text[pos]!r}")
            self.tokens.append(m.group(1))
            pos = m.end()
        self.i = 0

    def peek(self):
        return self.tokens[self.i] if self.i < len(self.tokens) else None

    def next(self):
        tok = self.peek()
        self.i += 1
        return tok

    def parse(self):
        node = self.expr()
        if self.peek() is not None:
            raise ParseError(f"trailing {self.peek()!r}")
        return node

    def expr(self):
        node = self.term()
        while self.peek() in ("+", "-"):
            op = self.next()
            node = BinOp(op, node, self.term())
        return node

    def term(self):
        node = self.factor()
        while self.peek() == "*":
            self.next()
            node = BinOp("*", node, self.factor())
        return node

    def factor(self):
        tok = self.next()
        if tok == "(":
            node = self.expr()
            if self.next() != ")":
                raise ParseError("missing )")
            return node
        if tok == "-":
            inner = self.factor()
            if isinstance(inner, Num):
                return Num(-inner.value)
            return BinOp("-", Num(0), inner)
        if tok is None or not tok.isdigit():
            raise ParseError(f"expected a number, got {tok!r}")
        return Num(int(tok))


def evaluate(e):
    match e:
        case Num(v):
            return v
        case BinOp("+", l, r):
            return evaluate(l) + evaluate(r)
        case BinOp("-", l, r):
            return evaluate(l) - evaluate(r)
        case BinOp("*", l, r):
            return evaluate(l) * evaluate(r)


def count_ops(e):
    return 0 if isinstance(e, Num) else 1 + count_ops(e.left) + count_ops(e.right)


class Env:
    def reset(self, seed=None):
        self.rng = random.Random(seed)
        self.expr = self._random_expr(5)
        self.answer = evaluate(self.expr)
        self.strikes = 0
        return f"Simplify one operation at a time until one number is left.\n{self.expr}", {"ops": count_ops(self.expr)}

    def _random_expr(self, ops):
        if ops == 0:
            return Num(self.rng.randint(1, 9))
        left = self.rng.randrange(ops)
        return BinOp(self.rng.choice("+-**"), self._random_expr(left), self._random_expr(ops - 1 - left))

    def step(self, action):
        before = count_ops(self.expr)
        try:
            new = Parser(action).parse()
        except ParseError as e:
            return self._strike(f"Syntax error: {e}")
        removed = before - count_ops(new)
        if evaluate(new) != self.answer:
            return self._strike("The value changed, so there is a mistake.")
        if removed <= 0:
            return self._strike("That is not simpler.")
        self.expr = new
        reward = 0.1 * removed if removed == 1 else 0.05 * removed
        if isinstance(new, Num):
            return f"Done: {new}", reward + 0.5, True, False, {"ops": 0}
        return f"Good.\n{self.expr}", reward, False, False, {"ops": count_ops(new)}

    def _strike(self, text):
        self.strikes += 1
        return f"{text} Strike {self.strikes}/3.\n{self.expr}", -0.2, self.strikes >= 3, False, {"strikes": self.strikes}
