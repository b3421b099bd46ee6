"""RestrictedPython's transformer with the two guard modes; the last judge of what is compiled.

RestrictedPython refuses every node that it does not know and hands every access to a guard. What is loosened here
rests on two facts: private names were renamed before (`normalise`), so nothing can bind the name of a guard, and the
objects that a program can reach hold no modules (`facades`), so an attribute whose name is judged here may be read
natively.
"""

from __future__ import annotations

import ast
from typing import Any, NoReturn

from RestrictedPython.transformer import IOPERATOR_TO_STR, RestrictingNodeTransformer

from metagym.errors import ProgramRejected
from metagym.sandbox.language import names
from metagym.sandbox.language.formatting import has_no_path
from metagym.sandbox.language.naming import call, placed
from metagym.sandbox.language.walking import JUDGED, MARKS, Walker

GUARDS = frozenset(
    "_getattr_ _getitem_ _write_ _apply_ _inplacevar_ _aug_ _old_attr_ _old_item_ _type_ _text_ _vars_ _class_ _mro_"
    " _slots_ _setattr_ _super_ _hash_ _update_ _marked_ _unmarked_ _meta_ _abcmeta_ _initvar_ _kwonly_"
    " _kind_ _own_".split()
)
"""The names of the guards; they stand in the builtins of a namespace and no program can bind one."""

_IN, _LOAD = ast.In(), ast.Load()
_NATIVE_DUNDERS = names.OPERATORS | names.PLAIN_READS | names.CALLED
_DEFINED = names.DEFINABLE | names.LIBRARY | names.CLASS_VARIABLES

_WORDS = {
    "AsyncFunctionDef": "async functions are not run; write plain functions, the environment is called step by step",
    "AsyncFor": "async loops are not run; write a plain for loop",
    "AsyncWith": "async with is not run; write a plain with",
    "Await": "await is not run; call the function",
    "TryStar": "except* is not given to programs; write except",
}


class Policy(Walker, RestrictingNodeTransformer):
    """Judges and guards one normalised tree; raises at the first fault."""

    full = False
    _fields = JUDGED
    shared: frozenset[str] = frozenset()
    """Names that the program declares ``nonlocal`` anywhere."""
    _parameters: frozenset[str] = frozenset()
    """Parameters of the function whose own statements are visited, as far as no other function can bind them."""
    node_contents_visit = Walker.contents

    # --- faults

    def error(self, node: ast.AST, info: str) -> NoReturn:
        """Raises `ProgramRejected`."""
        raise ProgramRejected("forbidden_syntax", getattr(node, "lineno", 0), names.shown(info))

    def not_allowed(self, node: ast.AST) -> NoReturn:
        """Raises `ProgramRejected` with what to write instead."""
        kind = type(node).__name__
        self.error(
            node, _WORDS.get(kind, f"the construct {kind} is not given to programs; write it in simpler statements")
        )

    def check_name(self, node: Any, name: str | None, allow_magic_methods: bool = False) -> None:
        """Refuses what begins with ``_`` and is not known to be harmless."""
        if name is None or not name.startswith("_") or name == "_" or name in _DEFINED:
            return
        raise ProgramRejected("forbidden_name", getattr(node, "lineno", 0), f"the name {name} is not given to programs")

    # --- names and attributes

    def visit_Name(self, node: ast.Name) -> ast.AST:
        """A guard's name is read where `normalise` wrote it and bound nowhere."""
        if not (isinstance(node.ctx, ast.Load) and (node.id in GUARDS or node.id == "__class__")):
            self.check_name(node, node.id)
        return node

    def visit_Global(self, node: ast.Global) -> ast.AST:
        """Names are judged like any other."""
        for name in node.names:
            self.check_name(node, name)
        return node

    def visit_Nonlocal(self, node: ast.Nonlocal) -> ast.AST:
        """Names are judged like any other."""
        for name in node.names:
            self.check_name(node, name)
        return node

    def visit_Attribute(self, node: ast.Attribute) -> Any:
        """Writes are guarded, reads are where the mode or the name asks for it."""
        self._judge(node, node.attr, load=isinstance(node.ctx, ast.Load))
        if isinstance(node.ctx, ast.Load) and not self.full and node.attr not in names.RISKY:
            return self.node_contents_visit(node)
        node = self.node_contents_visit(node)
        if isinstance(node.ctx, ast.Load):
            return call("_getattr_", node.value, ast.Constant(node.attr), at=node)
        node.value = self._writable(node.value)
        return node

    def _writable(self, owner: ast.expr) -> ast.expr:
        """``_write_(x)``; for parameters ``x if _kind_(x) in _own_ else _write_(x)``, which takes a third of the time.

        Only for what nothing but the function itself can bind: nobody may exchange the object after the question.
        """
        guarded = call("_write_", owner, at=owner)
        if not isinstance(owner, ast.Name) or owner.id not in self._parameters:
            return guarded
        asked = ast.Compare(call("_kind_", owner, at=owner), [_IN], [placed(ast.Name("_own_", _LOAD), owner)])
        return placed(ast.IfExp(placed(asked, owner), owner, guarded), owner)

    def _judge(self, node: ast.AST, name: str, *, load: bool) -> None:
        plain = not name.startswith("_") or name == "_"
        if plain and name not in names.FORBIDDEN or name in names.LIBRARY:
            return
        if name in (_NATIVE_DUNDERS if load else names.SETTABLE):
            return
        raise ProgramRejected(
            "forbidden_attribute", getattr(node, "lineno", 0), f"the attribute {name} is not given to programs"
        )

    def visit_Subscript(self, node: ast.Subscript) -> Any:
        """Reads are guarded in the full mode; writes never, a program can only reach containers of its own."""
        if self.full and isinstance(node.ctx, ast.Load):
            node = self.node_contents_visit(node)
            return call("_getitem_", node.value, node.slice, at=node)
        return self.node_contents_visit(node)

    # --- statements and calls

    def visit_Call(self, node: ast.Call) -> Any:
        """Calls with stars go through a guard in the full mode; a harmless ``"...".format(...)`` needs none."""
        if self.full:
            return super().visit_Call(node)
        if _formats_plainly(node):
            node.args = [self.visit(argument) for argument in node.args]
            node.keywords = [self.visit(keyword) for keyword in node.keywords]
            return node
        return self.node_contents_visit(node)

    def visit_Assign(self, node: ast.Assign) -> Any:
        """Unpacking is native: there is no object that may be held and not be iterated."""
        return self.node_contents_visit(node)

    def visit_With(self, node: ast.With) -> Any:
        """Unpacking is native."""
        return self.node_contents_visit(node)

    def guard_iter(self, node: Any) -> Any:
        """Iteration is native."""
        return self.node_contents_visit(node)

    def visit_AugAssign(self, node: ast.AugAssign) -> Any:
        """``a.b += v`` guards the write; where reads are guarded it becomes ``_aug_(_old_attr_(a, "b"), "+=", v)``."""
        target = node.target
        if isinstance(target, ast.Name):
            self.check_name(target, target.id)
            return super().visit_AugAssign(node) if self.full else self.node_contents_visit(node)
        risky = isinstance(target, ast.Attribute) and target.attr in names.RISKY
        if not self.full and not risky:
            return self.node_contents_visit(node)
        value = self.visit(node.value)
        owner = self.visit(target.value)
        if isinstance(target, ast.Attribute):
            self._judge(target, target.attr, load=False)
            old = call("_old_attr_", owner, ast.Constant(target.attr), at=target)
        else:
            old = call("_old_item_", owner, self.visit(target.slice), at=target)
        operator = ast.Constant(IOPERATOR_TO_STR[type(node.op)])
        return ast.copy_location(ast.Expr(call("_aug_", old, operator, value, at=node)), node)

    def visit_AnnAssign(self, node: ast.AnnAssign) -> Any:
        """Only fields of classes are left, with a built-in type as annotation."""
        if not isinstance(node.annotation, ast.Name) or not isinstance(node.target, ast.Name):
            self.not_allowed(node)
        return self.node_contents_visit(node)

    def visit_comprehension(self, node: ast.comprehension) -> Any:
        """Allowed unless it is asynchronous."""
        if node.is_async:
            self.error(node.target, _WORDS["AsyncFor"])
        return self._within(frozenset(), node)

    # --- definitions

    def visit_Module(self, node: ast.Module) -> Any:
        """The body; printing needs no collector."""
        return self.node_contents_visit(node)

    def visit_FunctionDef(self, node: ast.FunctionDef) -> Any:
        """Names are judged; printing needs no collector."""
        self._judge_definition(node)
        self.check_function_argument_names(node)
        given = node.args
        own = {arg.arg for arg in (*given.posonlyargs, *given.args, *given.kwonlyargs)}
        return self._within(frozenset(own - self.shared), node)

    def _within(self, parameters: frozenset[str], node: ast.AST) -> Any:
        around, self._parameters = self._parameters, parameters
        node = self.node_contents_visit(node)
        self._parameters = around
        return node

    def visit_ClassDef(self, node: ast.ClassDef) -> Any:
        """The guard is ``__build_class__``, not a metaclass."""
        self._judge_definition(node)
        if any(keyword.arg is None for keyword in node.keywords):
            self.error(node, "a class statement takes no **mapping; write its keywords out")
        return self._within(frozenset(), node)

    def _judge_definition(self, node: ast.FunctionDef | ast.ClassDef) -> None:
        self.check_name(node, node.name)
        if getattr(node, "type_params", None):
            self.error(node, "type parameters in brackets are not given to programs; use typing.TypeVar and Generic")

    # --- patterns

    def visit_Match(self, node: ast.Match) -> Any:
        """Allowed."""
        return self.node_contents_visit(node)

    def visit_match_case(self, node: ast.match_case) -> Any:
        """Allowed."""
        return self.node_contents_visit(node)

    def visit_MatchSingleton(self, node: ast.MatchSingleton) -> Any:
        """Allowed."""
        return node

    def visit_MatchSequence(self, node: ast.MatchSequence) -> Any:
        """Allowed."""
        return self.node_contents_visit(node)

    def visit_MatchOr(self, node: ast.MatchOr) -> Any:
        """Allowed."""
        return self.node_contents_visit(node)

    def visit_MatchAs(self, node: ast.MatchAs) -> Any:
        """The captured name is judged."""
        self.check_name(node, node.name)
        return self.node_contents_visit(node)

    def visit_MatchStar(self, node: ast.MatchStar) -> Any:
        """The captured name is judged."""
        self.check_name(node, node.name)
        return node

    def visit_MatchValue(self, node: ast.MatchValue) -> Any:
        """A constant or a dotted name: its attributes are judged and read natively, a pattern can hold no call."""
        self._judge_pattern(node.value)
        return node

    def _judge_pattern(self, node: ast.AST) -> None:
        for part in ast.walk(node):
            if isinstance(part, ast.Attribute):
                if part.attr in names.RISKY:
                    self.error(part, f"a pattern may not read the attribute {part.attr}; compare with ==")
                self._judge(part, part.attr, load=False)
            elif isinstance(part, ast.Name):
                self.check_name(part, part.id)

    def visit_MatchMapping(self, node: ast.MatchMapping) -> Any:
        """Keys are judged like values, the rest like a captured name."""
        self.check_name(node, node.rest)
        for key in node.keys:
            self._judge_pattern(key)
        node.patterns = [self.visit(pattern) for pattern in node.patterns]
        return node

    def visit_MatchClass(self, node: ast.MatchClass) -> Any:
        """The attributes that it reads are judged."""
        self._judge_pattern(node.cls)
        for name in node.kwd_attrs:
            if name in names.RISKY:
                self.error(node, f"a pattern may not read the attribute {name}; read it with a dot")
            self._judge(node, name, load=False)
        node.patterns = [self.visit(pattern) for pattern in node.patterns]
        node.kwd_patterns = [self.visit(pattern) for pattern in node.kwd_patterns]
        return node


class FullPolicy(Policy):
    """Every read of an attribute or item goes through a guard."""

    full = True


def _formats_plainly(node: ast.Call) -> bool:
    """Whether a call is the interpreter's own ``str.format`` on a text in the source whose fields follow no path."""
    called = node.func
    return (
        isinstance(called, ast.Attribute)
        and called.attr == "format"
        and isinstance(called.value, ast.Constant)
        and type(called.value.value) is str
        and all(keyword.arg is not None and names.MARK not in keyword.arg for keyword in node.keywords)
        and has_no_path(called.value.value)
    )


def _leaves() -> list[type[ast.AST]]:
    """Constants, operators and marks, as far as RestrictedPython has nothing against them."""
    found: list[type[ast.AST]] = []
    judge = RestrictingNodeTransformer()
    for node in [ast.Constant(0), *(kind() for mark in MARKS for kind in mark.__subclasses__())]:
        if judge.visit(node) is node and not judge.errors:
            found.append(type(node))
        judge.errors.clear()
    return found


for _policy in (Policy, FullPolicy):
    _policy.prepare(_leaves())
