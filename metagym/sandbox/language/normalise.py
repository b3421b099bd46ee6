"""Brings what language models write into the form that the guards are made for, and refuses what has no such form.

One pass over the tree: private names get their mark, annotations are dropped or reduced to built-in types, dunder
attributes become calls of guards, ``__name__`` becomes text, ``if __name__ == "__main__":`` and ``if TYPE_CHECKING:``
lose their bodies. Whatever it emits is judged once more by `policy`.
"""

from __future__ import annotations

import __future__ as future
import ast
from collections.abc import Iterable
from typing import Any, TypeVar

from metagym.errors import ProgramRejected
from metagym.sandbox.language import imports, names
from metagym.sandbox.language.annotations import reduced, wrapped_in

_N = TypeVar("_N", bound=ast.AST)

_IMPORT_ERRORS = {"ImportError", "ModuleNotFoundError", "Exception", "BaseException"}


def normalise(tree: ast.Module, *, numpy: bool) -> ast.Module:
    """Rewrites a tree in place.

    Args:
        tree: A tree of bounded size (see `reading.parse`).
        numpy: Programs may import numpy.

    Raises:
        ProgramRejected: Something in it has no safe form.
    """
    module: ast.Module = _Normaliser(tree, numpy).visit(tree)
    return ast.fix_missing_locations(module)


def _bound_names(tree: ast.Module) -> set[str]:
    """Every name that the program binds somewhere, other than by an import."""
    bound: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load):
            bound.add(node.id)
        elif isinstance(node, ast.arg):
            bound.add(node.arg)
        elif isinstance(node, ast.FunctionDef | ast.ClassDef):
            bound.add(node.name)
        elif isinstance(node, ast.ExceptHandler | ast.MatchAs | ast.MatchStar) and node.name:
            bound.add(node.name)
    return bound


def _call(guard: str, *args: ast.expr, at: ast.AST) -> ast.Call:
    call = ast.Call(ast.Name(guard, ast.Load()), list(args), [])
    return ast.fix_missing_locations(ast.copy_location(call, at))


class _Normaliser(ast.NodeTransformer):
    def __init__(self, tree: ast.Module, numpy: bool) -> None:
        self.doc, self.numpy = ast.get_docstring(tree), numpy
        self.imports = imports.Imports(tree, _bound_names(tree), numpy)
        self.bound = _bound_names(tree) | set(self.imports.bound)
        self.scopes: list[ast.AST] = []
        self.own: list[set[str]] = []  # library and dunder names that the class bodies around bind
        self.metaclasses = {"ABCMeta"}
        self.optional = 0  # inside a try whose handler catches ImportError

    # --- helpers

    def reject(self, code: str, node: ast.AST, message: str) -> ProgramRejected:
        return ProgramRejected(code, getattr(node, "lineno", 0), message)

    @property
    def owner(self) -> str:
        """Name of the innermost class, for ``__x``."""
        return next((scope.name for scope in reversed(self.scopes) if isinstance(scope, ast.ClassDef)), "")

    @property
    def in_class_body(self) -> bool:
        return bool(self.scopes) and isinstance(self.scopes[-1], ast.ClassDef)

    def name(self, name: str, node: ast.AST) -> str:
        """The name under which the program's variable is kept."""
        if not names.is_dunder(name):
            return names.renamed(name, self.owner)
        if name in names.MODULE_VARIABLES:
            return names.MARK + name
        raise self.reject(
            "forbidden_name", node, f"the name {name} is not given to programs; {_INSTEAD_OF_NAME.get(name, _OWN)}"
        )

    def attribute(self, name: str, node: ast.AST) -> str:
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
        self.scopes.append(scope)
        try:
            found: list[Any] = []
            for node in nodes:
                new = self.visit(node)
                found.extend(new if isinstance(new, list) else [] if new is None else [new])
            return found
        finally:
            self.scopes.pop()

    def block(self, statements: list[ast.stmt]) -> list[ast.stmt]:
        found: list[ast.stmt] = []
        for statement in statements:
            new = self.visit(statement)
            found.extend(new if isinstance(new, list) else [] if new is None else [new])
        return found

    # --- the module and its names

    def visit_Module(self, node: ast.Module) -> ast.Module:
        node.body = self.block(node.body)
        return node

    def visit_Name(self, node: ast.Name) -> ast.expr:
        load = isinstance(node.ctx, ast.Load)
        name = node.id
        if load and name == "__name__":
            return ast.copy_location(ast.Constant(names.PROGRAM), node)
        if load and name == "__debug__":
            return ast.copy_location(ast.Constant(True), node)
        if load and name == "__doc__" and "__doc__" not in self.bound:
            return ast.copy_location(ast.Constant(self.doc), node)
        if load and name == "__class__" and self.owner and not self.in_class_body:
            return node
        if self.in_class_body and name in self.own[-1]:
            return node
        if load and name in names.UNGIVEN and name not in self.bound:
            hint = names.UNGIVEN[name]
            raise self.reject("forbidden_name", node, f"the builtin {name} is not given to programs: {hint}")
        node.id = self.name(name, node)
        return node

    def visit_Global(self, node: ast.Global) -> ast.Global:
        node.names = [self.name(name, node) for name in node.names]
        return node

    def visit_Nonlocal(self, node: ast.Nonlocal) -> ast.Nonlocal:
        node.names = [self.name(name, node) for name in node.names]
        return node

    def visit_keyword(self, node: ast.keyword) -> ast.keyword:
        if node.arg is not None:
            if names.is_dunder(node.arg):
                raise self.reject("forbidden_name", node, f"no argument may be called {node.arg}; choose another name")
            node.arg = names.renamed(node.arg)
        node.value = self.visit(node.value)
        return node

    def visit_ExceptHandler(self, node: ast.ExceptHandler) -> ast.ExceptHandler:
        if node.name:
            node.name = self.name(node.name, node)
        self.generic_visit(node)
        return node

    # --- patterns

    def visit_MatchAs(self, node: ast.MatchAs) -> ast.MatchAs:
        if node.name:
            node.name = self.name(node.name, node)
        self.generic_visit(node)
        return node

    def visit_MatchStar(self, node: ast.MatchStar) -> ast.MatchStar:
        if node.name:
            node.name = self.name(node.name, node)
        return node

    def visit_MatchMapping(self, node: ast.MatchMapping) -> ast.MatchMapping:
        if node.rest:
            node.rest = self.name(node.rest, node)
        self.generic_visit(node)
        return node

    def visit_MatchClass(self, node: ast.MatchClass) -> ast.MatchClass:
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
        for part in ast.walk(node.value):
            if isinstance(part, ast.Attribute) and (part.attr in names.RISKY or names.is_dunder(part.attr)):
                raise self.reject(
                    "forbidden_attribute", part, f"a pattern may not read the attribute {part.attr}; compare with =="
                )
        self.generic_visit(node)
        return node

    # --- attributes

    def visit_Attribute(self, node: ast.Attribute) -> ast.expr:
        name = node.attr
        if not names.is_dunder(name):
            self.imports.judge(node)
            node.attr = self.attribute(name, node)
            node.value = self.visit(node.value)
            return node
        if isinstance(node.ctx, ast.Load):
            if name in names.OPERATORS | names.PLAIN_READS:
                node.value = self.visit(node.value)
                return node
            if name in names.TEXTS | names.COPIES:
                return _call("_text_", self.visit(node.value), ast.Constant(name), at=node)
            if name == "__class__":
                return _call("_type_", self.visit(node.value), at=node)
            if name == "__dict__" and isinstance(node.value, ast.Name) and node.value.id == "self":
                return _call("_vars_", self.visit(node.value), at=node)
        elif name in names.SETTABLE and isinstance(node.ctx, ast.Store):
            node.value = self.visit(node.value)
            return node
        self.attribute(name, node)
        raise AssertionError("unreachable: every other dunder name is refused")

    def visit_Call(self, node: ast.Call) -> ast.expr:
        function = node.func
        if isinstance(function, ast.Attribute):
            if function.attr in names.CALLED:
                return self._dunder_call(node, function)
            if function.attr == "__setattr__" and self._on_self(node, function):
                return _call("_setattr_", *(self.visit(argument) for argument in node.args), at=node)
            if function.attr == "update" and self._is_own_dict(function.value):
                node.func = ast.copy_location(ast.Name("_update_", ast.Load()), function)
                target = self.visit(function.value.value)  # type: ignore[attr-defined]
                node.args = [target, *(self.visit(argument) for argument in node.args)]
                node.keywords = [self.visit(keyword) for keyword in node.keywords]
                return node
        self.generic_visit(node)
        return node

    def _dunder_call(self, node: ast.Call, function: ast.Attribute) -> ast.Call:
        """``super().__init__(...)`` and ``Base.__init__(self, ...)``, called at once."""
        target = function.value
        by_super = isinstance(target, ast.Call) and isinstance(target.func, ast.Name) and target.func.id == "super"
        function.value = self.visit(target)
        if not by_super:
            function.value = _call("_class_", function.value, at=function.value)
        node.args = [self.visit(argument) for argument in node.args]
        node.keywords = [self.visit(keyword) for keyword in node.keywords]
        return node

    @staticmethod
    def _on_self(node: ast.Call, function: ast.Attribute) -> bool:
        """Whether this is ``object.__setattr__(self, name, value)``, as frozen dataclasses need it."""
        if node.keywords or len(node.args) != 3 or not isinstance(function.value, ast.Name):
            return False
        first, name = node.args[:2]
        literal = isinstance(name, ast.Constant) and isinstance(name.value, str) and names.is_dunder(name.value)
        return function.value.id == "object" and isinstance(first, ast.Name) and first.id == "self" and not literal

    @staticmethod
    def _is_own_dict(node: ast.expr) -> bool:
        return (
            isinstance(node, ast.Attribute)
            and node.attr == "__dict__"
            and isinstance(node.value, ast.Name)
            and node.value.id == "self"
        )

    def visit_Subscript(self, node: ast.Subscript) -> ast.Subscript:
        if self._is_own_dict(node.value) and not isinstance(node.ctx, ast.Load):
            raise self.reject("forbidden_attribute", node, "write setattr(self, name, value) in place of self.__dict__")
        self.generic_visit(node)
        return node

    # --- functions and classes

    def visit_arguments(self, node: ast.arguments) -> ast.arguments:
        arguments = [*node.posonlyargs, *node.args, *node.kwonlyargs]
        for argument in [*arguments, node.vararg, node.kwarg]:
            if argument is not None:
                argument.arg = self.name(argument.arg, argument)
                argument.annotation = reduced(argument.annotation, self.bound)
                argument.type_comment = None
        node.defaults = [self.visit(default) for default in node.defaults]
        node.kw_defaults = [default and self.visit(default) for default in node.kw_defaults]
        return node

    def visit_Lambda(self, node: ast.Lambda) -> ast.Lambda:
        node.args = self.visit(node.args)
        node.body = self.inside(node, [node.body])[0]
        return node

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.FunctionDef:
        node.decorator_list = [self.visit(decorator) for decorator in node.decorator_list]
        name = node.name
        if self.in_class_body and names.is_dunder(name):
            self._definable(node)
        elif not (self.in_class_body and name in names.LIBRARY):
            node.name = self.name(name, node)
        node.args = self.visit(node.args)
        node.returns = reduced(node.returns, self.bound)
        node.type_comment = None
        node.body = self.inside(node, node.body) or [ast.copy_location(ast.Pass(), node)]
        return node

    def _definable(self, node: ast.FunctionDef) -> None:
        name = node.name
        if name not in names.DEFINABLE:
            hint = _INSTEAD_OF_METHOD.get(name, "write a method with an ordinary name")
            raise self.reject("forbidden_method", node, f"a class may not define {name}; {hint}")
        if name == "__init_subclass__" and not any(
            isinstance(part, ast.Attribute) and part.attr == name for part in ast.walk(node)
        ):
            raise self.reject(
                "forbidden_method",
                node,
                "__init_subclass__ must pass on: call super().__init_subclass__(**kwargs) in it",
            )

    def visit_ClassDef(self, node: ast.ClassDef) -> ast.ClassDef:
        node.decorator_list = [self.visit(decorator) for decorator in node.decorator_list]
        if any(_last_name(base) in self.metaclasses for base in node.bases):
            self.metaclasses.add(node.name)
        node.bases = [self.visit(base) for base in node.bases]
        node.keywords = [keyword for keyword in map(self._class_keyword, node.keywords) if keyword is not None]
        original = node.name
        name = self.name(original, node)
        self.own.append(_kept(node.body))
        node.body = self.inside(node, node.body) or [ast.copy_location(ast.Pass(), node)]
        self.own.pop()
        node.name = name
        return node

    def _class_keyword(self, node: ast.keyword) -> ast.keyword | None:
        if node.arg is None:
            raise self.reject("forbidden_syntax", node, "a class statement takes no **mapping; write its keywords out")
        if node.arg == "metaclass" and _last_name(node.value) not in self.metaclasses:
            raise self.reject(
                "forbidden_syntax",
                node,
                "metaclasses other than ABCMeta and classes derived from it are not given to programs; use a class "
                "decorator, __init_subclass__ or a base class",
            )
        return self.visit_keyword(node)

    # --- assignments

    def visit_Assign(self, node: ast.Assign) -> ast.stmt:
        node.type_comment = None
        if self.in_class_body and len(node.targets) == 1 and isinstance(node.targets[0], ast.Name):
            name = node.targets[0].id
            if name == "__slots__":
                node.value = _call("_slots_", self.visit(node.value), ast.Constant(self.owner), at=node.value)
                return node
            if name == "__match_args__":
                node.value = self._match_args(node.value)
                return node
        self.generic_visit(node)
        return node

    def _match_args(self, value: ast.expr) -> ast.expr:
        parts = value.elts if isinstance(value, ast.Tuple) else None
        if parts is None or not all(isinstance(part, ast.Constant) and isinstance(part.value, str) for part in parts):
            raise self.reject("forbidden_syntax", value, "__match_args__ must be a tuple of names, written out")
        for part in parts:
            if part.value in names.RISKY:  # type: ignore[attr-defined]
                raise self.reject("forbidden_attribute", part, f"__match_args__ may not hold {part.value!r}")  # type: ignore[attr-defined]
            part.value = self.attribute(part.value, part)  # type: ignore[attr-defined]
        return value

    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.stmt | None:
        in_class = self.in_class_body and isinstance(node.target, ast.Name)
        field = in_class and wrapped_in(node.annotation) != "ClassVar"
        if node.value is None and not field:
            return ast.copy_location(ast.Pass(), node)
        if not field:
            assert node.value is not None
            return self.visit_Assign(ast.copy_location(ast.Assign([node.target], node.value), node))  # type: ignore[return-value]
        special = wrapped_in(node.annotation)
        annotation = reduced(node.annotation, self.bound) or ast.Name("object", ast.Load())
        if special in ("InitVar", "KW_ONLY"):
            annotation = ast.Name("_initvar_" if special == "InitVar" else "_kwonly_", ast.Load())
        node.target = self.visit(node.target)
        node.annotation = ast.copy_location(annotation, node)
        node.value = node.value and self.visit(node.value)
        return node

    # --- imports and conditions

    def visit_If(self, node: ast.If) -> ast.stmt | list[ast.stmt]:
        if _is_main(node.test) or _last_name(node.test) == "TYPE_CHECKING":
            return self.block(node.orelse) or ast.copy_location(ast.Pass(), node)
        self.generic_visit(node)
        return node

    def visit_Try(self, node: ast.Try) -> ast.Try:
        optional = any(_catches_import_errors(handler) for handler in node.handlers)
        self.optional += optional
        node.body = self.block(node.body)
        self.optional -= optional
        node.handlers = [self.visit(handler) for handler in node.handlers]
        node.orelse = self.block(node.orelse)
        node.finalbody = self.block(node.finalbody)
        return node

    def visit_Import(self, node: ast.Import) -> ast.Import:
        for alias in node.names:
            self.imports.offered(alias.name, node, bool(self.optional))
            if alias.asname:
                alias.asname = self.name(alias.asname, node)
        return node

    def visit_ImportFrom(self, node: ast.ImportFrom) -> ast.stmt | None:
        module = node.module or ""
        if node.level:
            raise self.reject(
                "forbidden_import", node, "relative imports have no package here; put all code in one file"
            )
        if module == "__future__":
            return self._future(node)
        offered = self.imports.offered(module, node, bool(self.optional))
        aliases = []
        for alias in node.names:
            if alias.name == "*":
                if self.scopes or offered is None:
                    raise self.reject("forbidden_import", node, f"import the names of {module} that you use, not *")
                aliases += [ast.alias(name) for name in sorted(offered)]
                continue
            if offered is not None and alias.name not in offered and not self.optional:
                raise self.reject("forbidden_import", node, self.imports.hint(module, alias.name))
            name = alias.asname or alias.name
            aliases.append(
                ast.alias(alias.name, self.name(name, node) if name != alias.name or name[0] == "_" else None)
            )
        node.names = aliases
        return node

    def _future(self, node: ast.ImportFrom) -> ast.stmt:
        for alias in node.names:
            if alias.name not in future.all_feature_names or alias.name == "barry_as_FLUFL":
                raise self.reject("forbidden_import", node, f"__future__ has no feature {alias.name!r}")
        return ast.copy_location(ast.Pass(), node)


def _kept(body: list[ast.stmt]) -> set[str]:
    """Names of a class body that keep their spelling there: library names, methods assigned, ``__slots__`` and such."""
    kept: set[str] = set()
    for statement in body:
        if isinstance(statement, ast.FunctionDef):
            kept.add(statement.name)
        for part in ast.walk(statement) if isinstance(statement, ast.Assign | ast.AnnAssign) else ():
            if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Store):
                kept.add(part.id)
    return kept & (names.LIBRARY | names.OPERATORS | names.CLASS_VARIABLES)


def _last_name(node: ast.expr) -> str:
    """``x`` of the expressions ``x`` and ``a.b.x``; empty for others."""
    return node.id if isinstance(node, ast.Name) else node.attr if isinstance(node, ast.Attribute) else ""


def _is_main(test: ast.expr) -> bool:
    if not (isinstance(test, ast.Compare) and len(test.ops) == 1 and isinstance(test.ops[0], ast.Eq)):
        return False
    sides = [test.left, *test.comparators]
    names_it = any(isinstance(side, ast.Name) and side.id == "__name__" for side in sides)
    return names_it and any(isinstance(side, ast.Constant) and side.value == "__main__" for side in sides)


def _catches_import_errors(handler: ast.ExceptHandler) -> bool:
    kinds = handler.type.elts if isinstance(handler.type, ast.Tuple) else [handler.type]
    return any(kind is None or _last_name(kind) in _IMPORT_ERRORS for kind in kinds)


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

_INSTEAD_OF_METHOD = {
    "__getattr__": "write a property or an ordinary method for each name",
    "__getattribute__": "write properties",
    "__setattr__": "write a property with a setter",
    "__delattr__": "write an ordinary method",
    "__del__": "free things in step or reset",
    "__class_getitem__": "derive from typing.Generic[T]",
    "__dir__": "keep a list of names",
}
