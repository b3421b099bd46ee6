"""Annotations: those that are made of types alone are kept for programs that look at them, the rest is dropped.

A program may build the description of a tool from the annotations of a function. Nothing in an annotation is evaluated
but names of built-in types and of `typing`, what they hold in brackets, and ``|`` between them: names of the program's
own need not exist yet, and what a library does with an annotation written as text is not to be found out.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping

_SIMPLE = frozenset({"int", "float", "str", "bool", "bytes", "list", "dict", "set", "tuple", "frozenset", "object"})

_ALIASES = {"List": "list", "Dict": "dict", "Set": "set", "Tuple": "tuple", "FrozenSet": "frozenset", "Text": "str"}

_PARSED = 200  # characters of an annotation written as text that are looked at


class Annotations:
    """What is kept of the annotations of one program.

    Args:
        bound: Names that the program binds otherwise than by an import; those mean no built-in type.
        typing: Names that it imports from `typing` and never binds otherwise, or that hold the module itself.
    """

    def __init__(self, bound: set[str], typing: Mapping[str, bool]) -> None:
        self._bound, self._typing = bound, typing

    def of_function(self, annotation: ast.expr | None) -> ast.expr | None:
        """The annotation itself if it is made of types alone, else None."""
        if isinstance(annotation, ast.Constant) and isinstance(annotation.value, str):
            return self.of_field(annotation)
        return annotation if annotation is not None and self._types(annotation) else None

    def of_field(self, annotation: ast.expr | None) -> ast.Name | None:
        """The built-in type that an annotation names (``list`` for ``List[int]``), or None."""
        name = wrapped_in(annotation)
        name = _ALIASES.get(name, name)
        if name not in _SIMPLE or name in self._bound or annotation is None:
            return None
        return ast.copy_location(ast.Name(name, ast.Load()), annotation)

    def _types(self, node: ast.expr) -> bool:
        if isinstance(node, ast.Name):
            if node.id in self._bound:
                return False
            return node.id in _SIMPLE or self._typing.get(node.id) is False
        if isinstance(node, ast.Attribute):
            return isinstance(node.value, ast.Name) and self._typing.get(node.value.id) is True
        if isinstance(node, ast.Subscript):
            inside = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
            literal = wrapped_in(node) in ("Literal", "Annotated")
            return self._types(node.value) and all(
                self._types(part) or literal and isinstance(part, ast.Constant) for part in inside
            )
        if isinstance(node, ast.BinOp):
            return isinstance(node.op, ast.BitOr) and self._types(node.left) and self._types(node.right)
        return isinstance(node, ast.Constant) and (node.value is None or node.value is ...)


def wrapped_in(annotation: ast.expr | None) -> str:
    """The name before the bracket: ``ClassVar`` of ``typing.ClassVar[int]``, also when written as text."""
    node = annotation
    if isinstance(node, ast.Constant) and isinstance(node.value, str) and len(node.value) <= _PARSED:
        return node.value.split("[")[0].strip().split(".")[-1]
    if isinstance(node, ast.Subscript):
        node = node.value
    if isinstance(node, ast.Name):
        return node.id
    return node.attr if isinstance(node, ast.Attribute) else ""
