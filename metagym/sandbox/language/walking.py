"""The way through a syntax tree that all passes take: `ast.NodeTransformer` with its look-ups made once.

`ast.NodeTransformer` builds the name of a method for every node and looks at every field of it, at texts and numbers
too. Here each class of nodes has its method and the fields that can hold nodes in a table, made before any fork. What
the tables do not know takes the slow way of the library.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable
from types import NoneType
from typing import Any, TypeAlias

_NO_NODES = frozenset(
    "ctx type_comment type_ignores kind id attr arg asname module level is_async simple conversion rest kwd_attrs"
    " Global.names Nonlocal.names Constant.value MatchSingleton.value alias.name FunctionDef.name AsyncFunctionDef.name"
    " ClassDef.name ExceptHandler.name MatchAs.name MatchStar.name TypeVar.name ParamSpec.name"
    " TypeVarTuple.name".split()
)
"""Fields that hold texts, numbers, truth values or load and store marks, in every class or in the one named."""

_OPERATORS = frozenset({"op", "ops"})

MARKS = (ast.expr_context, ast.operator, ast.unaryop, ast.cmpop, ast.boolop)
"""Nodes without content, of which the parser makes one object each."""

_KINDS = tuple(kind for kind in vars(ast).values() if isinstance(kind, type) and issubclass(kind, ast.AST))

JUDGED: dict[type, tuple[str, ...]] = {
    kind: tuple(name for name in kind._fields if name not in _NO_NODES and f"{kind.__name__}.{name}" not in _NO_NODES)
    for kind in _KINDS
}
"""By class of nodes: the fields that can hold nodes, those with operators among them."""

CHILDREN: dict[type, tuple[str, ...]] = {
    kind: tuple(name for name in fields if name not in _OPERATORS) for kind, fields in JUDGED.items()
}
"""The same without the fields that hold operators."""

_Way: TypeAlias = Callable[[Any, Any], Any] | None


class _Ways(dict[type, _Way]):
    """By class of nodes: the method that visits it; None where there is nothing to do."""

    def __init__(self, owner: type) -> None:
        self._owner = owner

    def __missing__(self, kind: type) -> _Way:
        found: _Way = getattr(self._owner, f"visit_{kind.__name__}", None) or self._owner.generic_visit  # type: ignore[attr-defined]
        return found


class Walker:
    """Visits and replaces nodes; to be derived from together with a transformer of the library."""

    _ways: _Ways
    _fields = CHILDREN

    @classmethod
    def prepare(cls, leaves: Iterable[type]) -> None:
        """Makes the tables of a class.

        Args:
            leaves: Classes of nodes of which a visit does nothing.
        """
        cls._ways = _Ways(cls)
        cls._ways.update({kind: cls._ways[kind] for kind in _KINDS})
        cls._ways.update(dict.fromkeys((*leaves, NoneType)))

    def visit(self, node: Any) -> Any:
        """What the method for the node's class makes of it."""
        way = self._ways[node.__class__]
        return node if way is None else way(self, node)

    def contents(self, node: Any) -> Any:
        """The node with everything in it visited."""
        fields = self._fields.get(node.__class__)
        if fields is None:
            return ast.NodeTransformer.generic_visit(self, node)  # type: ignore[arg-type]
        ways = self._ways
        for name in fields:
            value = getattr(node, name, None)
            if value.__class__ is list:
                self._replace(value, ways)
                continue
            way = ways[value.__class__]
            if way is not None:
                new = way(self, value)
                if new is None:
                    delattr(node, name)
                elif new is not value:
                    setattr(node, name, new)
        return node

    def _replace(self, values: list[Any], ways: _Ways) -> None:
        """Visits the nodes of a list in place; a visit may give one node, several or none."""
        found: list[Any] = []
        same = True
        for value in values:
            way = ways[value.__class__]
            new = value if way is None else way(self, value)
            if new is value:
                found.append(value)
                continue
            same = False
            if isinstance(new, ast.AST):
                found.append(new)
            elif new is not None:
                found += new
        if not same:
            values[:] = found
