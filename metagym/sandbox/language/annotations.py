"""Annotations are never evaluated; what programs look at again (`inspect.signature`) is kept as a built-in type."""

from __future__ import annotations

import ast

_SIMPLE = frozenset({"int", "float", "str", "bool", "bytes", "list", "dict", "set", "tuple", "frozenset", "object"})

_ALIASES = {"List": "list", "Dict": "dict", "Set": "set", "Tuple": "tuple", "FrozenSet": "frozenset", "Text": "str"}

_PARSED = 200  # characters of an annotation written as text that are looked at


def reduced(annotation: ast.expr | None, bound: set[str]) -> ast.Name | None:
    """The built-in type that an annotation names (``list`` for ``List[int]``), or None.

    Args:
        annotation: The annotation as written.
        bound: Names that the program binds; those do not mean the built-in type.
    """
    name = _head(annotation)
    name = _ALIASES.get(name, name)
    if name not in _SIMPLE or name in bound or annotation is None:
        return None
    return ast.copy_location(ast.Name(name, ast.Load()), annotation)


def wrapped_in(annotation: ast.expr | None) -> str:
    """The name before the bracket: ``ClassVar`` of ``typing.ClassVar[int]``, also when written as text."""
    return _head(annotation)


def _head(node: ast.expr | None) -> str:
    if isinstance(node, ast.Constant) and isinstance(node.value, str) and len(node.value) <= _PARSED:
        return node.value.split("[")[0].strip().split(".")[-1]
    if isinstance(node, ast.Subscript):
        node = node.value
    if isinstance(node, ast.Name):
        return node.id
    return node.attr if isinstance(node, ast.Attribute) else ""
