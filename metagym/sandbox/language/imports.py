"""What a program imports, judged before it runs: modules, names, and the attributes read off a module."""

from __future__ import annotations

import ast
import sys

from metagym.errors import ProgramRejected
from metagym.sandbox import facades
from metagym.sandbox.language.reading import Nodes

_LONGEST = 200
"""Longest name for which a hint is looked up, in characters."""


class Imports:
    """The imports of one program.

    Args:
        nodes: All nodes of the program as written.
        rebound: Names that it binds otherwise too; what they hold is not known before the program runs.
        numpy: Programs may import numpy.

    Attributes:
        bound: Name in the program -> module that it holds, "" where it is no module or not always the same.
        typing: Names that come from `typing`, or hold it (True), and are bound nowhere else.
    """

    def __init__(self, nodes: Nodes, rebound: set[str], numpy: bool) -> None:
        self.numpy = numpy
        self.bound: dict[str, str] = {}
        self.typing: dict[str, bool] = {}
        self._asked: set[int] = set()  # of which an attribute is named
        for node in nodes[ast.Import]:
            for alias in node.names:
                module = alias.name if alias.asname else alias.name.split(".")[0]
                self._bind(alias.asname or module, module)
        for node in nodes[ast.ImportFrom]:
            for alias in node.names:
                module = f"{node.module}.{alias.name}"
                known = facades.exported(module, numpy) is not None
                self._bind(alias.asname or alias.name, module if known else "")
                if node.module == "typing":
                    self.typing[alias.asname or alias.name] = False
        for name in rebound & set(self.bound):
            self.bound[name] = ""
        self.typing |= {name: True for name, module in self.bound.items() if module == "typing"}

    def _bind(self, name: str, module: str) -> None:
        self.bound[name] = module if self.bound.get(name, module) == module else ""

    def offered(self, module: str, node: ast.AST, optional: bool) -> frozenset[str] | None:
        """The names that a module offers.

        Args:
            module: The module of an import statement.
            node: The statement.
            optional: The program goes on without the module: it stands in a ``try`` with ``except ImportError``.

        Returns:
            None where the module's absence is an ImportError that the program expects.

        Raises:
            ProgramRejected: ``forbidden_import``.
        """
        found = facades.exported(module, self.numpy)
        elsewhere = module.split(".")[0] not in sys.stdlib_module_names and not any(
            part.startswith("_") for part in module.split(".")
        )
        if found is None and not (optional and elsewhere):
            raise _rejected("forbidden_import", node, self.hint(module, None))
        return found

    def hint(self, module: str, name: str | None) -> str:
        """Why a module or a name of it is not there, and the way out."""
        if len(module) > _LONGEST or (name is not None and len(name) > _LONGEST):
            return f"no module or name is longer than {_LONGEST} characters"
        return facades.hint(module, name, self.numpy).rstrip(".")

    def judge(self, node: ast.Attribute) -> None:
        """Refuses the attribute of a module that the module does not offer.

        Raises:
            ProgramRejected: ``forbidden_attribute``.
        """
        root: ast.expr = node
        while isinstance(root, ast.Attribute):
            root = root.value
        if not (isinstance(root, ast.Name) and self.bound.get(root.id)):
            return
        self._asked.add(id(root))
        module = self._module(node.value)
        offered = facades.exported(module, self.numpy) if module else None
        if offered is None:
            return
        if not isinstance(node.ctx, ast.Load):
            raise _rejected(
                "forbidden_attribute", node, f"{module}.{node.attr} cannot be set; an imported module is read-only"
            )
        if node.attr not in offered:
            raise _rejected("forbidden_attribute", node, self.hint(module, node.attr))

    def judge_name(self, node: ast.Name) -> None:
        """Refuses a module of which little is offered where no attribute is named, as in ``getattr(time, name)``.

        Raises:
            ProgramRejected: ``forbidden_import``.
        """
        module = self.bound.get(node.id)
        if module in facades.NARROW and id(node) not in self._asked:
            raise _rejected(
                "forbidden_import",
                node,
                f"{module} is only offered by its attributes; write {module}.name where you use it",
            )

    def _module(self, node: ast.expr) -> str:
        if isinstance(node, ast.Name):
            return self.bound.get(node.id, "")
        if isinstance(node, ast.Attribute) and (above := self._module(node.value)):
            module = f"{above}.{node.attr}"
            return module if facades.exported(module, self.numpy) is not None else ""
        return ""


def _rejected(code: str, node: ast.AST, message: str) -> ProgramRejected:
    return ProgramRejected(code, getattr(node, "lineno", 0), message)
