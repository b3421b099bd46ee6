# seed: 16
# actions: ["12", "ast", "7", "tokens", "-3", "15", "next", "20.5", "4", "1", "0"]
# expect_total: -2.05 after 10 steps
"""Expression evaluation tutor: hand-written tokenizer, parser and visitor."""
from __future__ import annotations

import random
import re
from abc import ABC, abstractmethod
from dataclasses import dataclass
from fractions import Fraction
from typing import Iterator, List, Optional, Union


@dataclass(frozen=True)
class Token:
    kind: str
    value: str
    pos: int


class ParseError(ValueError):
    pass


class Lexer:
    SPEC = [("NUM", r"\d+"), ("OP", r"[-+*/]"), ("LP", r"\("), ("RP", r"\)"), ("WS", r"\s+"), ("BAD", r".")]
    REGEX = re.compile("|".join(f"(?P<{k}>{p})" for k, p in SPEC))

    def __init__(self, text: str) -> None:
        self.text = text

    def __iter__(self) -> Iterator[Token]:
        for m in self.REGEX.finditer(self.text):
            kind = m.lastgroup
            if kind == "WS":
                continue
            if kind == "BAD":
                raise ParseError(f"bad character {m.group()!r} at {m.start()}")
            yield Token(kind, m.group(), m.start())


class Node(ABC):
    @abstractmethod
    def accept(self, visitor: "Visitor"):
        ...


class Number(Node):
    __slots__ = ("value",)

    def __init__(self, value: int) -> None:
        self.value = value

    def accept(self, visitor):
        return visitor.visit_number(self)


class Binary(Node):
    __slots__ = ("op", "left", "right")

    def __init__(self, op: str, left: Node, right: Node) -> None:
        self.op, self.left, self.right = op, left, right

    def accept(self, visitor):
        return visitor.visit_binary(self)


class Visitor(ABC):
    @abstractmethod
    def visit_number(self, node: Number): ...

    @abstractmethod
    def visit_binary(self, node: Binary): ...


class Evaluator(Visitor):
    def visit_number(self, node):
        return Fraction(node.value)

    def visit_binary(self, node):
        a, b = node.left.accept(self), node.right.accept(self)
        return {"+": lambda: a + b, "-": lambda: a - b, "*": lambda: a * b, "/": lambda: a / b}[node.op]()


class Printer(Visitor):
    def visit_number(self, node):
        return str(node.value)

    def visit_binary(self, node):
        return f"({node.op} {node.left.accept(self)} {node.right.accept(self)})"


class Parser:
    """expr := term (('+'|'-') term)*;  term := atom (('*'|'/') atom)*"""

    def __init__(self, tokens: List[Token]) -> None:
        self.tokens, self.i = tokens, 0

    def peek(self) -> Optional[Token]:
        return self.tokens[self.i] if self.i < len(self.tokens) else None

    def take(self) -> Token:
        tok = self.peek()
        if tok is None:
            raise ParseError("unexpected end")
        self.i += 1
        return tok

    def binary(self, ops: str, sub) -> Node:
        left = sub()
        while (tok := self.peek()) is not None and tok.kind == "OP" and tok.value in ops:
            self.take()
            left = Binary(tok.value, left, sub())
        return left

    def expr(self) -> Node:
        return self.binary("+-", self.term)

    def term(self) -> Node:
        return self.binary("*/", self.atom)

    def atom(self) -> Node:
        tok = self.take()
        if tok.kind == "NUM":
            return Number(int(tok.value))
        if tok.kind == "LP":
            node = self.expr()
            if self.take().kind != "RP":
                raise ParseError("expected )")
            return node
        raise ParseError(f"unexpected {tok.value!r}")


class ExpressionTutorEnv:
    def reset(self, seed: Optional[int] = None) -> str:
        self._rng = random.Random(seed)
        self.score, self.asked = 0, 0
        return self._new()

    def _gen(self, depth: int) -> str:
        if depth == 0 or self._rng.random() < 0.2:
            return str(self._rng.randint(1, 9))
        e = f"{self._gen(depth - 1)} {self._rng.choice('+-*')} {self._gen(depth - 1)}"
        return f"({e})" if self._rng.random() < 0.5 else e

    def _new(self) -> str:
        self.text = self._gen(2)
        self.tree = Parser(list(Lexer(self.text))).expr()
        self.asked += 1
        return f"Q{self.asked}: {self.text} = ?"

    def step(self, action: str):
        action = action.strip()
        if action == "ast":
            return self.tree.accept(Printer()), -0.1, False, {}
        if action == "tokens":
            return " ".join(t.value for t in Lexer(self.text)), 0.0, False, {}
        if action == "next":
            return self._new(), -0.2, self.asked > 8, {}
        try:
            answer: Union[Fraction, int] = Fraction(action)
        except ValueError:
            return "Not a number.", -0.1, False, {}
        truth = self.tree.accept(Evaluator())
        if answer == truth:
            self.score += 1
            return "Right! " + self._new(), 1.0, self.score >= 5, {"score": self.score}
        return f"No, it is {truth}. " + self._new(), -0.25, self.asked > 8, {"score": self.score}
