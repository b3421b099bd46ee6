"""Success predicates as text: a tiny grammar, read by a parser of its own and never evaluated as Python.

::

    predicate   = side { "or" side }
    side        = part { "and" part }
    part        = "not" part | "(" predicate ")" | value [ (">" | ">=" | "<" | "<=" | "==" | "!=") value ]
    value       = number | "text" | true | false | name
    name        = return | reward | steps | terminated | truncated | info.KEY[.KEY ...]

``return`` is the sum of rewards so far, ``reward`` the last one, ``steps`` the number of steps. What ``info`` does not
hold is unknown: a comparison with it is None, and so is ``and``/``or``/``not`` where the other side does not decide.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from metagym.checks import shown
from metagym.errors import BadInput

MAX_LENGTH = 500
"""Longest predicate, in characters."""
_MAX_DEPTH = 30

_TOKEN = re.compile(
    r"\s*(?:(?P<number>[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)|(?P<text>\"[^\"]*\"|'[^']*')"
    r"|(?P<name>[A-Za-z_]\w*(?:\.\w+)*)|(?P<mark>>=|<=|==|!=|[><()]))"
)
_COMPARE: Mapping[str, Callable[[Any, Any], Any]] = {
    ">": operator.gt,
    ">=": operator.ge,
    "<": operator.lt,
    "<=": operator.le,
    "==": operator.eq,
    "!=": operator.ne,
}
_NUMBERS = ("return", "reward", "steps")
_FLAGS = ("terminated", "truncated")

_Node = tuple[Any, ...]


@dataclass(frozen=True)
class Predicate:
    """A predicate that was read; call it with the state of an episode.

    Attributes:
        text: As it was written.
        node: Its tree, plain tuples.
    """

    text: str
    node: _Node

    def __call__(
        self,
        *,
        ret: float,
        reward: float,
        steps: int,
        terminated: bool,
        truncated: bool,
        info: Mapping[str, Any],
    ) -> bool | None:
        """True, False, or None where it cannot be told."""
        facts = {"return": ret, "reward": reward, "steps": steps, "terminated": terminated, "truncated": truncated}
        return _truth(_value(self.node, facts, info))


def _value(node: _Node, facts: Mapping[str, Any], info: Mapping[str, Any]) -> Any:
    kind = node[0]
    if kind == "fact":
        return facts[node[1]]
    if kind == "constant":
        return node[1]
    if kind == "compare":
        return _compared(node[1], _value(node[2], facts, info), _value(node[3], facts, info))
    if kind == "info":
        return _looked_up(info, node[1])
    first = _truth(_value(node[1], facts, info))
    if kind == "not":
        return None if first is None else not first
    decides = kind == "or"  # True decides an "or", False an "and"
    if first is decides:
        return decides
    second = _truth(_value(node[2], facts, info))
    if second is decides:
        return decides
    return None if first is None or second is None else not decides


def _truth(value: Any) -> bool | None:
    return None if value is None else bool(value)


def _looked_up(info: Any, path: tuple[str, ...]) -> Any:
    for key in path:
        if not isinstance(info, Mapping) or key not in info:
            return None
        info = info[key]
    if isinstance(info, np.ndarray):
        return info.item() if info.size == 1 else None
    return info if isinstance(info, (bool, int, float, str, np.generic)) else None


def _compared(mark: str, left: Any, right: Any) -> bool | None:
    if left is None or right is None:
        return None
    if isinstance(left, str) != isinstance(right, str):
        return {"==": False, "!=": True}.get(mark)
    return bool(_COMPARE[mark](left, right))


def parse_predicate(text: str) -> Predicate:
    """Reads a predicate.

    Raises:
        BadInput: It is none; the message shows the place and what could stand there.
    """
    if not isinstance(text, str) or not text.strip():
        raise BadInput(f"a success predicate is a text such as 'return > 0', got {shown(text)}")
    if len(text) > MAX_LENGTH:
        raise BadInput(f"a success predicate has at most {MAX_LENGTH} characters, got {len(text)}")
    reader = _Reader(text)
    node = reader.either(0)
    if reader.kind:
        raise reader.wrong("'and', 'or' or the end")
    return Predicate(text, node)


class _Reader:
    """A recursive-descent parser with one token of look-ahead."""

    def __init__(self, text: str) -> None:
        self.text, self.at = text, 0
        self.kind, self.token = "", ""
        self.next()

    def next(self) -> None:
        self.start = self.at
        if not self.text[self.at :].strip():
            self.kind, self.token = "", ""
            return
        match = _TOKEN.match(self.text, self.at)
        if match is None:
            self.kind = "other"
            raise self.wrong("a number, a name or a comparison")
        self.at = match.end()
        self.kind = match.lastgroup or ""
        self.token = match[self.kind]

    def wrong(self, wanted: str) -> BadInput:
        rest = self.text[self.start :].strip()
        place = f"at {rest[:40]!r}" if rest else "at its end"
        return BadInput(f"success predicate {self.text!r} cannot be read {place}: {wanted} is expected there")

    def word(self, name: str) -> bool:
        """Whether this word stands here; it is read then."""
        if self.kind == "name" and self.token == name:
            self.next()
            return True
        return False

    def either(self, depth: int) -> _Node:
        node = self.both(depth)
        while self.word("or"):
            node = ("or", node, self.both(depth))
        return node

    def both(self, depth: int) -> _Node:
        node = self.part(depth)
        while self.word("and"):
            node = ("and", node, self.part(depth))
        return node

    def part(self, depth: int) -> _Node:
        if depth > _MAX_DEPTH:
            raise BadInput(f"success predicate {self.text[:40]!r}... is nested deeper than {_MAX_DEPTH} levels")
        if self.word("not"):
            return ("not", self.part(depth + 1))
        if self.token == "(" and self.kind == "mark":
            self.next()
            node = self.either(depth + 1)
            if self.token != ")":
                raise self.wrong("')'")
            self.next()
            return node
        start, left = self.start, self.value()
        if self.kind == "mark" and self.token in _COMPARE:
            mark = self.token
            self.next()
            return ("compare", mark, left, self.value())
        if left[0] == "constant" and not isinstance(left[1], bool) or left[0] == "fact" and left[1] in _NUMBERS:
            self.start = self.start if self.kind else len(self.text)
            raise self.wrong(f"a comparison of {self.text[start : self.start].strip()!r}, such as '> 0',")
        return left

    def value(self) -> _Node:
        kind, token = self.kind, self.token
        if kind == "number":
            node: _Node = ("constant", float(token))
        elif kind == "text":
            node = ("constant", token[1:-1])
        elif kind == "name" and token in ("true", "false", "True", "False"):
            node = ("constant", token.lower() == "true")
        elif kind == "name" and token in (*_NUMBERS, *_FLAGS):
            node = ("fact", token)
        elif kind == "name" and token.startswith("info."):
            node = ("info", tuple(token.split(".")[1:]))
        else:
            raise self.wrong(f'a number, a "text" or one of {", ".join((*_NUMBERS, *_FLAGS))}, info.KEY')
        self.next()
        return node
