"""Which class of a program is the environment, and which names it defines."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from metagym.errors import ProgramRejected
from metagym.sandbox.language import names
from metagym.sandbox.language.naming import never_true

_STEPS_ITSELF = frozenset({"ToolEnv"})
"""Bases outside the source that bring ``reset`` and ``step``."""


class Contract(NamedTuple):
    """The environment of a program.

    Attributes:
        class_name: The class, as its namespace holds it.
        doc: The module's docstring, or "".
        methods: Names that the class or its bases in the source define.
    """

    class_name: str
    doc: str
    methods: frozenset[str]


def read(tree: ast.Module) -> Contract:
    """Finds the class: ``Env`` if it steps, else the last one with reset and step, else the last one with step.

    Args:
        tree: The program as written, before anything is renamed.

    Raises:
        ProgramRejected: ``no_env_class``: no class at the top of the module has a ``step``, its own or inherited.
    """
    classes: dict[str, ast.ClassDef] = {}
    for node in _top(tree.body):
        classes.pop(node.name, None)  # the later of two classes of one name is the one that stays
        classes[node.name] = node
    methods = {name: frozenset(_methods(name, classes, set())) for name in classes}
    stepping = [name for name in classes if "step" in methods[name]]
    whole = [name for name in stepping if "reset" in methods[name]]
    if "Env" in stepping:
        chosen = "Env"
    elif stepping:
        chosen = (whole or stepping)[-1]
    else:
        raise ProgramRejected(
            "no_env_class",
            0,
            "no class of the program has a step method; write class Env with reset(self, seed) and step(self, action)",
        )
    found = frozenset(name for name in methods[chosen] if not name.startswith("__"))
    return Contract(names.renamed(chosen), ast.get_docstring(tree) or "", found)


def _top(body: Iterable[ast.stmt]) -> Iterator[ast.ClassDef]:
    for node in body:
        if isinstance(node, ast.ClassDef):
            yield node
        elif isinstance(node, ast.If):
            yield from _top([*([] if never_true(node.test) else node.body), *node.orelse])
        elif isinstance(node, ast.Try):
            yield from _top([*node.body, *(part for handler in node.handlers for part in handler.body), *node.orelse])
        elif isinstance(node, ast.With):
            yield from _top(node.body)


def _methods(name: str, classes: dict[str, ast.ClassDef], seen: set[str]) -> Iterator[str]:
    """Names that a class and its bases define, with those of bases outside the source that step by themselves."""
    if name in _STEPS_ITSELF and name not in classes:
        yield from ("reset", "step", "tools")
    if name in seen or name not in classes:
        return
    seen.add(name)
    for node in classes[name].body:
        if isinstance(node, ast.FunctionDef):
            yield node.name
        elif isinstance(node, ast.Assign):
            yield from (target.id for target in node.targets if isinstance(target, ast.Name))
    for base in classes[name].bases:
        while isinstance(base, ast.Subscript):  # Base[T]
            base = base.value
        if isinstance(base, ast.Name):
            yield from _methods(base.id, classes, seen)
        elif isinstance(base, ast.Attribute):
            yield from _methods(base.attr, classes, seen)
