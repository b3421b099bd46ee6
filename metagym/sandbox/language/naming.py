"""Names, attributes and patterns in the form that the guards are made for; the other half is `normalise`."""

from __future__ import annotations

import ast
from collections.abc import Iterable
from typing import Any, TypeVar

from metagym.errors import ProgramRejected
from metagym.sandbox.language import imports, names
from metagym.sandbox.language.annotations import Annotations
from metagym.sandbox.language.reading import Nodes
from metagym.sandbox.language.walking import Walker

_N = TypeVar("_N", bound=ast.AST)


def last_name(node: ast.expr) -> str:
    """``x`` of the expressions ``x`` and ``a.b.x``; empty for others."""
    return node.id if isinstance(node, ast.Name) else node.attr if isinstance(node, ast.Attribute) else ""


def _as_mapping(node: ast.keyword) -> ast.keyword:
    """``**{"_x": 1}`` for ``_x=1``."""
    if node.arg is None or not names.is_private(node.arg):
        return node
    key = ast.copy_location(ast.Constant(node.arg), node.value)
    return ast.copy_location(ast.keyword(None, ast.copy_location(ast.Dict([key], [node.value]), node.value)), node)


def never_true(test: ast.expr) -> bool:
    """Whether a condition is ``__name__ == "__main__"`` or ``TYPE_CHECKING``."""
    if last_name(test) == "TYPE_CHECKING":
        return True
    if not (isinstance(test, ast.Compare) and len(test.ops) == 1 and isinstance(test.ops[0], ast.Eq)):
        return False
    sides = [test.left, *test.comparators]
    names_it = any(isinstance(side, ast.Name) and side.id == "__name__" for side in sides)
    return names_it and any(isinstance(side, ast.Constant) and side.value == "__main__" for side in sides)


def bound_names(nodes: Nodes) -> set[str]:
    """Every name that some of the nodes bind, other than by an import."""
    bound = {node.id for node in nodes[ast.Name] if node.ctx.__class__ is not ast.Load}
    bound.update(node.arg for node in nodes[ast.arg])
    bound.update(node.name for kind in (ast.FunctionDef, ast.ClassDef) for node in nodes[kind])
    bound.update(
        node.name for kind in (ast.ExceptHandler, ast.MatchAs, ast.MatchStar) for node in nodes[kind] if node.name
    )
    return bound


def placed(node: Any, at: Any) -> Any:
    """The node, at the place of another one: `ast.copy_location` without its questions."""
    node.lineno, node.col_offset = at.lineno, at.col_offset
    node.end_lineno, node.end_col_offset = at.end_lineno, at.end_col_offset
    return node


def call(guard: str, *args: ast.expr, at: ast.AST) -> ast.Call:
    """The call of a guard, in the place of the node `at`."""
    parts = [part if "lineno" in part.__dict__ else placed(part, at) for part in args]
    made: ast.Call = placed(ast.Call(placed(ast.Name(guard, _LOAD), at), parts, []), at)
    return made


_LOAD = ast.Load()


class Naming(Walker, ast.NodeTransformer):
    """Renames what is private, turns dunder reads into guards, refuses the rest."""

    generic_visit = Walker.contents

    def __init__(self, tree: ast.Module, nodes: Nodes, numpy: bool) -> None:
        self.doc, self.numpy = ast.get_docstring(tree), numpy
        bound = bound_names(nodes)
        self.imports = imports.Imports(nodes, bound, numpy)
        self.bound = bound | set(self.imports.bound)
        self.annotations = Annotations(bound, self.imports.typing)
        self.scopes: list[ast.AST] = []
        self.owner = ""  # name of the innermost class, for ``__x``
        self.in_class_body = False  # whether names bound here are attributes of a class
        self.own: list[set[str]] = []  # library and dunder names that the class bodies around bind
        self.metaclasses = {"ABCMeta"}
        self.classes = {node.name for node in nodes[ast.ClassDef]}
        self.optional = 0  # inside a try whose handler catches ImportError

    # --- helpers

    def reject(self, code: str, node: ast.AST, message: str) -> ProgramRejected:
        """The rejection of a node."""
        return ProgramRejected(code, getattr(node, "lineno", 0), message)

    def name(self, name: str, node: ast.AST) -> str:
        """The name under which the program's variable is kept."""
        if name[0] != "_":
            return name
        if not names.is_dunder(name):
            return names.renamed(name, self.owner)
        if name in names.MODULE_VARIABLES:
            return names.MARK + name
        raise self.reject(
            "forbidden_name", node, f"the name {name} is not given to programs; {_INSTEAD_OF_NAME.get(name, _OWN)}"
        )

    def attribute(self, name: str, node: ast.AST) -> str:
        """The name under which the program's attribute is kept."""
        if name in names.FORBIDDEN:
            raise self.reject(
                "forbidden_attribute", node, f"the attribute {name} leads to frames or code; keep state on the instance"
            )
        if names.is_dunder(name):
            hint = _INSTEAD_OF_ATTRIBUTE.get(name, "use the operator or the builtin that it stands for")
            raise self.reject("forbidden_attribute", node, f"the attribute {name} is not given to programs; {hint}")
        return name if name in names.LIBRARY else names.renamed(name, self.owner)

    def inside(self, scope: ast.AST, nodes: Iterable[_N]) -> list[Any]:
        """Visits nodes as the body of a scope."""
        outside = self.owner, self.in_class_body
        self.scopes.append(scope)
        self.in_class_body = isinstance(scope, ast.ClassDef)
        if isinstance(scope, ast.ClassDef):
            self.owner = scope.name
        try:
            return self.block(nodes)
        finally:
            self.scopes.pop()
            self.owner, self.in_class_body = outside

    def block(self, statements: Iterable[_N]) -> list[Any]:
        """Visits statements of the present scope."""
        found: list[Any] = []
        for statement in statements:
            new = self.visit(statement)
            found.extend(new if isinstance(new, list) else [] if new is None else [new])
        return found

    # --- the module and its names

    def visit_Module(self, node: ast.Module) -> ast.Module:
        """The body."""
        node.body = self.block(node.body)
        return node

    def visit_Name(self, node: ast.Name) -> ast.expr:
        """Private names get their mark, ``__name__`` and its like become constants, some builtins are refused."""
        load = isinstance(node.ctx, ast.Load)
        name = node.id
        if name[0] != "_" and name not in _LOOKED_AT and name not in self.imports.bound:
            return node  # nearly all: nothing below is about them
        if load and name == "__name__":
            return ast.copy_location(ast.Constant(names.PROGRAM), node)
        if load and name == "__debug__":
            return ast.copy_location(ast.Constant(True), node)
        if load and name == "__doc__" and "__doc__" not in self.bound:
            return ast.copy_location(ast.Constant(self.doc), node)
        if load and name == "__class__" and self.owner and not self.in_class_body:
            return node
        if self.in_class_body and name in self.own[-1]:
            if not load and name in ("__slots__", "__match_args__"):
                raise self.reject("forbidden_syntax", node, f"write {name} as one assignment: {name} = (...)")
            return node
        if load:
            self.imports.judge_name(node)
        if load and name == "super":
            return ast.copy_location(ast.Name("_super_", ast.Load()), node)
        if load and name in names.UNGIVEN and name not in self.bound:
            hint = names.UNGIVEN[name]
            raise self.reject("forbidden_name", node, f"the builtin {name} is not given to programs: {hint}")
        node.id = self.name(name, node)
        return node

    def visit_Global(self, node: ast.Global) -> ast.Global:
        """Renamed like the variables."""
        node.names = [self.name(name, node) for name in node.names]
        return node

    def visit_Nonlocal(self, node: ast.Nonlocal) -> ast.Nonlocal:
        """Renamed like the variables."""
        node.names = [self.name(name, node) for name in node.names]
        return node

    def visit_keyword(self, node: ast.keyword) -> ast.keyword:
        """Keyword arguments are renamed like parameters."""
        if node.arg is not None:
            if names.is_dunder(node.arg):
                raise self.reject("forbidden_name", node, f"no argument may be called {node.arg}; choose another name")
            node.arg = names.renamed(node.arg)
        node.value = self.visit(node.value)
        if node.arg is None:
            node.value = call("_marked_", node.value, at=node.value)
        return node

    def visit_ExceptHandler(self, node: ast.ExceptHandler) -> ast.ExceptHandler:
        """The caught name is renamed like a variable."""
        if node.name:
            node.name = self.name(node.name, node)
        self.generic_visit(node)
        return node

    # --- patterns

    def visit_MatchAs(self, node: ast.MatchAs) -> ast.MatchAs:
        """Captured names are renamed like variables."""
        if node.name:
            node.name = self.name(node.name, node)
        self.generic_visit(node)
        return node

    def visit_MatchStar(self, node: ast.MatchStar) -> ast.MatchStar:
        """Captured names are renamed like variables."""
        if node.name:
            node.name = self.name(node.name, node)
        return node

    def visit_MatchMapping(self, node: ast.MatchMapping) -> ast.MatchMapping:
        """Captured names are renamed like variables."""
        if node.rest:
            node.rest = self.name(node.rest, node)
        self.generic_visit(node)
        return node

    def visit_MatchClass(self, node: ast.MatchClass) -> ast.MatchClass:
        """Attributes are judged: a pattern reads them natively."""
        attributes = []
        for name in node.kwd_attrs:
            if name in names.RISKY:
                raise self.reject(
                    "forbidden_attribute", node, f"a pattern may not read the attribute {name}; read it with a dot"
                )
            attributes.append(self.attribute(name, node))
        node.kwd_attrs = attributes
        self.generic_visit(node)
        return node

    def visit_MatchValue(self, node: ast.MatchValue) -> ast.MatchValue:
        """Attributes are judged: a pattern holds no call, so no guard."""
        for part in ast.walk(node.value):
            if isinstance(part, ast.Attribute) and (part.attr in names.RISKY or names.is_dunder(part.attr)):
                raise self.reject(
                    "forbidden_attribute", part, f"a pattern may not read the attribute {part.attr}; compare with =="
                )
        self.generic_visit(node)
        return node

    # --- attributes

    def visit_Attribute(self, node: ast.Attribute) -> ast.expr:
        """Private attributes get their mark; dunder attributes become guards or are refused."""
        name = node.attr
        if name in names.COPIES and isinstance(node.ctx, ast.Load):
            return call("_text_", self.visit(node.value), ast.Constant(name), at=node)
        if not names.is_dunder(name):
            self.imports.judge(node)
            node.attr = self.attribute(name, node)
            node.value = self.visit(node.value)
            return node
        if isinstance(node.ctx, ast.Load):
            if name == "__hash__":
                return call("_hash_", self.visit(node.value), at=node)
            if name in names.OPERATORS | names.PLAIN_READS:
                node.value = self.visit(node.value)
                return node
            if name in names.TEXTS:
                return call("_text_", self.visit(node.value), ast.Constant(name), at=node)
            if name == "__class__":
                return call("_type_", self.visit(node.value), at=node)
            if name == "__mro__" and isinstance(node.value, ast.Name) and node.value.id in self.classes:
                return call("_mro_", self.visit(node.value), at=node)
            if name == "__dict__" and isinstance(node.value, ast.Name) and node.value.id in self.bound - self.classes:
                return call("_vars_", self.visit(node.value), at=node)
        elif name in names.SETTABLE and isinstance(node.ctx, ast.Store):
            node.value = self.visit(node.value)
            return node
        self.attribute(name, node)
        raise AssertionError("unreachable: every other dunder name is refused")

    def visit_Call(self, node: ast.Call) -> ast.expr:
        """The shapes in which dunder methods may be called by name."""
        function = node.func
        if isinstance(function, ast.Name) and function.id == "super" and not node.args and not node.keywords:
            return node  # the only form that looks at its caller's frame, so no guard can stand in between
        if isinstance(function, ast.Name) and function.id == "dict" and "dict" not in self.bound:
            node.args = [self.visit(argument) for argument in node.args]
            for keyword in node.keywords:  # keys, and no names of parameters
                keyword.value = self.visit(keyword.value)
            node.keywords = [_as_mapping(keyword) for keyword in node.keywords]
            return node
        if isinstance(function, ast.Attribute):
            if function.attr in names.CALLED:
                return self._dunder_call(node, function)
            if function.attr == "__setattr__" and self._on_self(node, function):
                return call("_setattr_", *(self.visit(argument) for argument in node.args), at=node)
            if (owner := self._whose_dict(function.value)) is not None:
                return self._dict_call(node, function, owner)
        self.generic_visit(node)
        return node

    def _dunder_call(self, node: ast.Call, function: ast.Attribute) -> ast.Call:
        """``super().__init__(...)`` and ``Base.__init__(self, ...)``, called at once."""
        target = function.value
        by_super = isinstance(target, ast.Call) and isinstance(target.func, ast.Name) and target.func.id == "super"
        owner = self.visit(target)
        node.args = [self.visit(argument) for argument in node.args]
        node.keywords = [self.visit(keyword) for keyword in node.keywords]
        if by_super and "super" not in self.bound:
            function.value = owner
        else:
            guarded = call("_class_", owner, ast.Constant(function.attr), at=function)
            node.func, node.args = guarded.func, [*guarded.args, *node.args]
        return node

    @staticmethod
    def _on_self(node: ast.Call, function: ast.Attribute) -> bool:
        """Whether this is ``object.__setattr__(self, name, value)``, as frozen dataclasses need it."""
        if node.keywords or len(node.args) != 3 or not isinstance(function.value, ast.Name):
            return False
        first, name = node.args[:2]
        literal = isinstance(name, ast.Constant) and isinstance(name.value, str) and names.is_dunder(name.value)
        return function.value.id == "object" and isinstance(first, ast.Name) and first.id == "self" and not literal

    def _whose_dict(self, node: ast.expr) -> ast.expr | None:
        """``x`` of ``x.__dict__`` and ``vars(x)``."""
        if isinstance(node, ast.Attribute) and node.attr == "__dict__":
            return node.value
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "vars":
            return node.args[0] if len(node.args) == 1 and "vars" not in self.bound else None
        return None

    def _dict_call(self, node: ast.Call, function: ast.Attribute, owner: ast.expr) -> ast.expr:
        """``self.__dict__.update(...)`` becomes guarded writes; what else would change the copy is refused."""
        if function.attr in ("pop", "popitem", "clear", "setdefault"):
            raise self.reject("forbidden_attribute", node, "use setattr and delattr in place of changing __dict__")
        if function.attr != "update":
            self.generic_visit(node)
            return node
        node.func = ast.copy_location(ast.Name("_update_", ast.Load()), function)
        node.args = [self.visit(owner), *(self.visit(argument) for argument in node.args)]
        node.keywords = [self.visit(keyword) for keyword in node.keywords]
        return node

    def visit_Subscript(self, node: ast.Subscript) -> ast.Subscript:
        """``self.__dict__[name] = value`` is refused, since what is read there is a copy."""
        if self._whose_dict(node.value) is not None and not isinstance(node.ctx, ast.Load):
            raise self.reject("forbidden_attribute", node, "write setattr(self, name, value) in place of self.__dict__")
        self.generic_visit(node)
        return node


_LOOKED_AT = frozenset({"super", *names.UNGIVEN})

_OWN = "choose a name without double underscores"

_INSTEAD_OF_NAME = {
    "__import__": "write an import statement",
    "__builtins__": "use the builtins by their names",
    "__file__": "there are no files",
}

_INSTEAD_OF_ATTRIBUTE = {
    "__dict__": "use vars(self), getattr and setattr",
    "__mro__": "use isinstance or issubclass",
    "__bases__": "use isinstance or issubclass",
    "__subclasses__": "keep a list of the classes, filled by a decorator or __init_subclass__",
    "__code__": "use inspect.signature",
    "__defaults__": "use inspect.signature",
    "__wrapped__": "keep the function in a variable",
    "__init__": "call it at once, as super().__init__(...)",
    "__new__": "call it at once, as super().__new__(cls)",
    "__setattr__": "use setattr(self, name, value)",
    "__getattribute__": "use getattr(self, name)",
    "__traceback__": "use str(error) and type(error).__name__",
    "__self__": "keep the object in a variable",
    "__func__": "keep the function in a variable",
}
