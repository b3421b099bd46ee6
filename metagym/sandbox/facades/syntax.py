"""``ast`` for programs: texts are parsed into nodes of our own, looked at, and written back; nothing is compiled.

Programs of the kind "evaluate this expression safely" walk over a tree. The library's nodes take any attribute by any
name, which NumPy and others then look up, so ours have the slots of their fields and no dictionary.
"""

from __future__ import annotations

import ast
import functools
import re
from collections import deque
from collections.abc import Iterator
from typing import Any

from metagym.sandbox.facades.facade import Table

MAX_CHARS = 65_536
"""Longest text that is parsed, in characters."""

_ADDRESS = re.compile(r" object at 0x[0-9a-fA-F]+")
_PLACES = ("lineno", "col_offset", "end_lineno", "end_col_offset")


class AST:
    """``ast.AST``: base of all nodes."""

    __slots__ = _PLACES
    _fields: tuple[str, ...] = ()
    _attributes: tuple[str, ...] = ()

    def __init__(self, *args: Any, **fields: Any) -> None:
        names = _FIELDS[_kind(self)]
        if len(args) > len(names):
            raise TypeError(f"{_kind(self).__name__} constructor takes at most {len(names)} positional arguments")
        for name, value in (*zip(names, args, strict=False), *fields.items()):
            if name not in names and name not in _PLACES:
                raise TypeError(f"{_kind(self).__name__} has no field {name[:80]!r}")
            object.__setattr__(self, name, value)
        for name in _OPTIONAL.get(_kind(self).__name__, ()):
            if not hasattr(self, name):
                object.__setattr__(self, name, None)

    def __repr__(self) -> str:
        """The kind of node."""
        return f"<ast.{_kind(self).__name__}>"


_FIELDS: dict[type, tuple[str, ...]] = {AST: ()}
_NODES: dict[str, type[AST]] = {"AST": AST}
_OPTIONAL = {"Constant": ("kind",), "arg": ("annotation", "type_comment"), "Return": ("value",)}
_DEPRECATED = ("Num", "Str", "Bytes", "NameConstant", "Ellipsis", "Index", "ExtSlice", "Suite", "AugLoad", "AugStore")


def _make(real: type) -> type[AST]:
    """Our class for a class of the library, with those above it."""
    name = real.__name__
    if name not in _NODES:
        base = _make(real.__bases__[0])
        fields = tuple(real._fields)  # type: ignore[attr-defined]
        taken = {slot for above in base.__mro__ for slot in getattr(above, "__slots__", ())}
        body = {
            "__slots__": tuple(field for field in fields if field not in taken),
            "__match_args__": fields,
            "__module__": "ast",
            "_fields": fields,
            "_attributes": tuple(real._attributes),  # type: ignore[attr-defined]
        }
        _NODES[name] = made = type(name, (base,), body)
        _FIELDS[made] = fields
    return _NODES[name]


for _name in dir(ast):
    _real_class = getattr(ast, _name)
    if isinstance(_real_class, type) and issubclass(_real_class, ast.AST) and _name not in (*_DEPRECATED, "Param"):
        if not _name.startswith("_"):
            _make(_real_class)


def _kind(node: Any) -> type:
    """The class of ours that a node is of; a program may have derived from it."""
    kind = type(node)
    if type(kind) is type and kind in _FIELDS:  # a class of the program may have a metaclass that lies
        return kind
    return next(kind for kind in kind.__mro__ if kind in _FIELDS)


_OURS = {getattr(ast, name): (kind, {*kind._fields, *_PLACES}) for name, kind in _NODES.items()}
_new, _set = object.__new__, object.__setattr__


def _ours(value: Any) -> Any:
    """A tree of ours for one that the parser made, which sets every field that a node has."""
    if value.__class__ is list:
        return [_ours(item) for item in value]
    known = _OURS.get(value.__class__)
    if known is None:
        return value
    kind, names = known
    made = _new(kind)
    for name, item in value.__dict__.items():
        if name in names:
            _set(made, name, item if item.__class__ is int or item is None else _ours(item))
    return made


_MISSING = object()
_CONSTANTS = (type(None), bool, int, float, complex, str, bytes, type(...))


def _real(value: Any) -> Any:
    """A node of the library for one of ours, to be written as text or read as a literal."""
    if isinstance(value, list):
        return [_real(item) for item in value]
    if isinstance(value, AST):
        kind = _kind(value)
        fields = {name: _real(getattr(value, name)) for name in _FIELDS[kind] if hasattr(value, name)}
        return getattr(ast, kind.__name__)(**fields)
    if type(value) in _CONSTANTS:
        return value
    raise TypeError(f"a field of a node holds a {type(value).__name__}, which is no node and no constant")


def _node(value: Any) -> Any:
    if not isinstance(value, AST):
        raise TypeError(f"expected a node of ast, got {type(value).__name__}")
    return value


def _text(source: Any) -> str:
    if type(source) is not str:
        raise TypeError("ast takes a text here")
    if len(source) > MAX_CHARS:
        raise ValueError(f"the text is longer than {MAX_CHARS:,} characters")
    return source


def parse(source: str, filename: str = "<unknown>", mode: str = "exec", **_: Any) -> Any:
    """``ast.parse``: the tree of a text.

    Raises:
        SyntaxError: It is no Python.
        ValueError: It is longer than 65,536 characters, or the mode is unknown.
    """
    if mode not in ("exec", "eval", "single"):
        raise ValueError("the mode of ast.parse is 'exec', 'eval' or 'single'")
    return _ours(_parsed(_text(source), str(mode)))


_REMEMBERED_CHARS = 1_000


def _parsed(source: str, mode: str) -> ast.AST:
    """The library's tree of a text, which nobody changes: programs get copies of it."""
    return _remembered(source, mode) if len(source) <= _REMEMBERED_CHARS else ast.parse(source, mode=mode)


@functools.lru_cache(64)
def _remembered(source: str, mode: str) -> ast.AST:
    return ast.parse(source, mode=mode)


def literal_eval(node_or_string: Any) -> Any:
    """``ast.literal_eval``: numbers, texts, lists, tuples, dicts, sets, True, False and None.

    Args:
        node_or_string: A text of at most 65,536 characters, or a node.

    Raises:
        TypeError: It is neither.
        ValueError: It holds more than a literal, or is too long.
    """
    if isinstance(node_or_string, AST):
        tree = _real(node_or_string)
    else:
        tree = _parsed(_text(node_or_string).lstrip(" \t"), "eval")
    try:
        return ast.literal_eval(tree)
    except ValueError as error:
        # Programs show it to players who typed no literal: with an address in it no replay would be equal.
        raise ValueError(_ADDRESS.sub("", str(error))) from None


def unparse(ast_obj: Any) -> str:
    """``ast.unparse``: the text of a tree."""
    return ast.unparse(ast.fix_missing_locations(_real(_node(ast_obj))))


def dump(node: Any, annotate_fields: bool = True, include_attributes: bool = False, *, indent: Any = None) -> str:
    """``ast.dump``: the tree as text, for people."""
    return ast.dump(_real(_node(node)), annotate_fields, False, indent=indent)


def iter_fields(node: Any) -> Iterator[tuple[str, Any]]:
    """``ast.iter_fields``: names and values of a node's fields."""
    for name in _FIELDS[_kind(_node(node))]:
        value = getattr(node, name, _MISSING)
        if value is not _MISSING:
            yield name, value


def iter_child_nodes(node: Any) -> Iterator[Any]:
    """``ast.iter_child_nodes``: the nodes right below a node."""
    for name in _FIELDS[_kind(_node(node))]:
        value = getattr(node, name, None)
        if isinstance(value, list):
            yield from (item for item in value if isinstance(item, AST))
        elif isinstance(value, AST):
            yield value


def walk(node: Any) -> Iterator[Any]:
    """``ast.walk``: a node and all below it."""
    pending = deque([_node(node)])
    while pending:
        node = pending.popleft()
        pending.extend(iter_child_nodes(node))
        yield node


def get_docstring(node: Any, clean: bool = True) -> str | None:
    """``ast.get_docstring`` of a module, class or function."""
    return ast.get_docstring(_real(_node(node)), clean)


def copy_location(new_node: Any, old_node: Any) -> Any:
    """``ast.copy_location``: the first node with the place of the second."""
    for name in _PLACES:
        if hasattr(_node(old_node), name):
            object.__setattr__(_node(new_node), name, getattr(old_node, name))
    return new_node


def fix_missing_locations(node: Any) -> Any:
    """``ast.fix_missing_locations``: the node as it is, since nothing is compiled."""
    return _node(node)


class NodeVisitor:
    """``ast.NodeVisitor``: calls ``visit_<Kind>`` for each node."""

    def visit(self, node: Any) -> Any:
        """Visits a node."""
        return getattr(self, f"visit_{_kind(_node(node)).__name__}", self.generic_visit)(node)

    def generic_visit(self, node: Any) -> Any:
        """Visits what is below a node."""
        for child in iter_child_nodes(node):
            self.visit(child)


class NodeTransformer(NodeVisitor):
    """``ast.NodeTransformer``: puts what ``visit`` returns in the place of each node."""

    def generic_visit(self, node: Any) -> Any:
        """Visits what is below a node and replaces it."""
        for name, value in iter_fields(node):
            if isinstance(value, list):
                found: list[Any] = []
                for item in value:
                    new = self.visit(item) if isinstance(item, AST) else item
                    found += new if isinstance(new, list) else [] if new is None else [new]
                value[:] = found
            elif isinstance(value, AST):
                object.__setattr__(node, name, self.visit(value))
        return node


NODES = tuple(_NODES.values())
"""Classes of nodes; their fields may be set."""

_NEVER = "no code is made from text here; walk over the nodes and compute"
AST_TABLE = (
    Table("ast")
    .ours("nodes of ours, with the slots of their fields and no dictionary", **_NODES)
    .ours("a text of bounded length into nodes; nothing is run", parse=parse, literal_eval=literal_eval)
    .ours(
        "read the fields that nodes have, and no attribute by a name of the program's",
        walk=walk,
        dump=dump,
        unparse=unparse,
        iter_fields=iter_fields,
        iter_child_nodes=iter_child_nodes,
        get_docstring=get_docstring,
        copy_location=copy_location,
        fix_missing_locations=fix_missing_locations,
        NodeVisitor=NodeVisitor,
        NodeTransformer=NodeTransformer,
    )
    .rest(_NEVER)
)

TABLES = (AST_TABLE,)
