"""Brings what language models write into the form that the guards are made for, and refuses what has no such form.

One pass over the tree: private names get their mark, annotations are dropped or reduced to built-in types, dunder
attributes become calls of guards, ``__name__`` becomes text, ``if __name__ == "__main__":`` and ``if TYPE_CHECKING:``
lose their bodies. Whatever it emits is judged once more by `policy`.
"""

from __future__ import annotations
import __future__

import ast

from metagym.errors import ProgramRejected
from metagym.sandbox.language import names
from metagym.sandbox.language.annotations import wrapped_in
from metagym.sandbox.language.naming import Naming, call, last_name, never_true
from metagym.sandbox.language.reading import Nodes
from metagym.sandbox.language.walking import MARKS

_IMPORT_ERRORS = {"ImportError", "ModuleNotFoundError", "Exception", "BaseException"}

_INSTEAD_OF_METHOD = {
    "__getattr__": "write a property or an ordinary method for each name",
    "__getattribute__": "write properties",
    "__setattr__": "write a property with a setter",
    "__delattr__": "write an ordinary method",
    "__del__": "free things in step or reset",
    "__class_getitem__": "derive from typing.Generic[T]",
    "__dir__": "keep a list of names",
}


def normalise(tree: ast.Module, nodes: Nodes, *, numpy: bool) -> ast.Module:
    """Rewrites a tree in place.

    Args:
        tree: A tree of bounded size (see `reading.parse`).
        nodes: All of its nodes.
        numpy: Programs may import numpy.

    Raises:
        ProgramRejected: Something in it has no safe form.
    """
    module: ast.Module = _Normaliser(tree, nodes, numpy).visit(tree)
    return module


class _Normaliser(Naming):
    # --- functions and classes

    def visit_arguments(self, node: ast.arguments) -> ast.arguments:
        arguments = [*node.posonlyargs, *node.args, *node.kwonlyargs]
        for argument in [*arguments, node.vararg, node.kwarg]:
            if argument is not None:
                argument.arg = self.name(argument.arg, argument)
                argument.annotation = self.kept(argument.annotation)
                argument.type_comment = None
        node.defaults = [self.visit(default) for default in node.defaults]
        node.kw_defaults = [default and self.visit(default) for default in node.kw_defaults]
        return node

    def kept(self, annotation: ast.expr | None) -> ast.expr | None:
        found = self.annotations.of_function(annotation)
        try:
            return found and self.visit(found)
        except ProgramRejected:  # typing has no such name: nobody evaluates an annotation that is dropped
            return None

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
        node.returns = self.kept(node.returns)
        node.type_comment = None
        node.body = self.inside(node, node.body) or [ast.copy_location(ast.Pass(), node)]
        if node.args.kwarg is not None:
            self._unmark(node, node.args.kwarg)
        return node

    @staticmethod
    def _unmark(node: ast.FunctionDef, argument: ast.arg) -> None:
        """Begins a function by giving the keys of its ``**kwargs`` the names that the author knows."""
        names_it = ast.copy_location(ast.Name(argument.arg, ast.Load()), argument)
        target = ast.copy_location(ast.Name(argument.arg, ast.Store()), argument)
        first = ast.copy_location(ast.Assign([target], call("_unmarked_", names_it, at=argument)), argument)
        has_doc = isinstance(node.body[0], ast.Expr) and isinstance(node.body[0].value, ast.Constant)
        node.body.insert(1 if has_doc else 0, first)

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
        if any(last_name(base) in self.metaclasses for base in node.bases):
            self.metaclasses.add(node.name)
        node.bases = [
            _guard("_meta_", base) if last_name(base) == "ABCMeta" else self.visit(base) for base in node.bases
        ]
        node.keywords = [self._class_keyword(keyword) for keyword in node.keywords]
        original = node.name
        name = self.name(original, node)
        self.own.append(_kept(node.body))
        node.body = self.inside(node, node.body) or [ast.copy_location(ast.Pass(), node)]
        self.own.pop()
        node.name = name
        return node

    def _class_keyword(self, node: ast.keyword) -> ast.keyword:
        if node.arg is None:
            raise self.reject("forbidden_syntax", node, "a class statement takes no **mapping; write its keywords out")
        if node.arg == "metaclass" and last_name(node.value) not in self.metaclasses:
            raise self.reject(
                "forbidden_syntax",
                node,
                "metaclasses other than ABCMeta and classes derived from it are not given to programs; use a class "
                "decorator, __init_subclass__ or a base class",
            )
        if node.arg == "metaclass" and last_name(node.value) == "ABCMeta":
            node.value = _guard("_abcmeta_", node.value)
            return node
        return self.visit_keyword(node)

    # --- assignments

    def visit_Assign(self, node: ast.Assign) -> ast.stmt:
        node.type_comment = None
        if self.in_class_body and len(node.targets) == 1 and isinstance(node.targets[0], ast.Name):
            name = node.targets[0].id
            if name == "__slots__":
                node.value = call("_slots_", self.visit(node.value), ast.Constant(self.owner), at=node.value)
                return node
            if name == "__match_args__":
                node.value = self._match_args(node.value)
                return node
        self.generic_visit(node)
        return node

    def _match_args(self, value: ast.expr) -> ast.expr:
        parts = value.elts if isinstance(value, ast.Tuple) else [value]
        for part in parts:
            if not (isinstance(value, ast.Tuple) and isinstance(part, ast.Constant) and type(part.value) is str):
                raise self.reject("forbidden_syntax", value, "__match_args__ must be a tuple of names, written out")
            if part.value in names.RISKY:
                raise self.reject("forbidden_attribute", part, f"__match_args__ may not hold {part.value!r}")
            part.value = self.attribute(part.value, part)
        return value

    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.stmt | None:
        in_class = self.in_class_body and isinstance(node.target, ast.Name)
        field = in_class and wrapped_in(node.annotation) != "ClassVar"
        if node.value is None and not field:
            return ast.copy_location(ast.Pass(), node)
        if not field:
            assert node.value is not None
            return self.visit_Assign(ast.copy_location(ast.Assign([node.target], node.value), node))
        special = wrapped_in(node.annotation)
        annotation = self.annotations.of_field(node.annotation) or ast.Name("object", ast.Load())
        if special == "InitVar":
            annotation = ast.Name("_initvar_", ast.Load())
        elif special == "KW_ONLY":  # the line ``_: KW_ONLY`` names no field, so any name does
            annotation, node.target = ast.Name("_kwonly_", ast.Load()), ast.Name("kw_only", ast.Store())
        node.target = self.visit(ast.copy_location(node.target, node))
        node.annotation = ast.copy_location(annotation, node)
        node.value = node.value and self.visit(node.value)
        return node

    # --- imports and conditions

    def visit_If(self, node: ast.If) -> ast.stmt | list[ast.stmt]:
        if never_true(node.test):
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
                aliases += [ast.copy_location(ast.alias(name), alias) for name in sorted(offered)]
                continue
            if offered is not None and alias.name not in offered and not self.optional:
                raise self.reject("forbidden_import", node, self.imports.hint(module, alias.name))
            name = alias.asname or alias.name
            bound = self.name(name, node)
            aliases.append(ast.copy_location(ast.alias(alias.name, bound if bound != alias.name else None), alias))
        node.names = aliases
        return node

    def _future(self, node: ast.ImportFrom) -> ast.stmt:
        for alias in node.names:
            if alias.name not in __future__.all_feature_names or alias.name == "barry_as_FLUFL":
                raise self.reject("forbidden_import", node, f"__future__ has no feature {alias.name!r}")
        return ast.copy_location(ast.Pass(), node)


_Normaliser.prepare((ast.Constant, *(kind for mark in MARKS for kind in mark.__subclasses__())))


def _guard(name: str, at: ast.AST) -> ast.Name:
    return ast.copy_location(ast.Name(name, ast.Load()), at)


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


def _catches_import_errors(handler: ast.ExceptHandler) -> bool:
    kinds = handler.type.elts if isinstance(handler.type, ast.Tuple) else [handler.type]
    return any(kind is None or last_name(kind) in _IMPORT_ERRORS for kind in kinds)
