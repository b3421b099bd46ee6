"""From source of any kind to a syntax tree of bounded size, before anything looks at its meaning."""

from __future__ import annotations

import ast
import threading
import warnings
from collections import defaultdict
from collections.abc import Iterable
from typing import Any, TypeAlias

from metagym.errors import ProgramRejected
from metagym.sandbox.language.walking import CHILDREN, MARKS

MAX_CHARS = 65_536
"""Longest source, in characters."""

MAX_NODES = 20_000
"""Most nodes of the syntax tree (load and store marks not counted)."""

MAX_DEPTH = 100
"""Deepest nesting of the syntax tree; the visitors use about six Python frames a level."""

MAX_FINALLY = 3
"""Deepest nesting of ``finally``: CPython compiles such a block once for each way out of the ``try``."""

MAX_EMITTED = 4 * MAX_NODES
"""Most nodes that the compiler may have to emit, copies of ``finally`` blocks counted."""

PARSER = threading.Lock()
"""Held while CPython builds or compiles a tree.

Before 3.13 it counts the depth of the tree in one place for all threads: a thread that comes in between (while garbage
is collected, say) makes the other one's parser raise SystemError. Filters of warnings are one for all threads, too.
"""

Nodes: TypeAlias = dict[type[ast.AST], list[Any]]
"""All nodes of a tree but operators and marks, by class."""

GRAMMAR = (3, 11)
"""Programs are read by the oldest supported grammar, so that a program is one on every Python or on none."""


def parse(source: str | bytes) -> tuple[ast.Module, Nodes]:
    """Reads a program into its tree and the tree's nodes.

    Args:
        source: Text, or UTF-8 bytes with or without a byte order mark.

    Raises:
        ProgramRejected: ``not_text``, ``empty``, ``too_long``, ``syntax_error``, ``too_deep`` or ``too_many_nodes``.
    """
    text = _text(source)
    try:
        with PARSER, warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tree = ast.parse(text, "<program>", feature_version=GRAMMAR)
    except SyntaxError as error:
        raise syntax_error(error) from None
    except (RecursionError, MemoryError):
        raise ProgramRejected("too_deep", 0, "the source is nested too deeply to be read; write it flatter") from None
    except (ValueError, OverflowError) as error:
        raise ProgramRejected("syntax_error", 0, f"the source cannot be read: {str(error)[:200]}") from None
    return tree, _bound(tree)


def syntax_error(error: SyntaxError) -> ProgramRejected:
    """The rejection of a source that is no Python."""
    quoted = f": {error.text.strip()[:80]!r}" if error.text and error.text.strip() else ""
    return ProgramRejected("syntax_error", error.lineno or 0, f"this is not valid Python: {error.msg}{quoted}")


def _text(source: str | bytes) -> str:
    if len(source) > 4 * MAX_CHARS:
        raise _too_long(len(source))
    if isinstance(source, bytes | bytearray):
        try:
            text = bytes(source).decode("utf-8")
        except UnicodeDecodeError as error:
            line = bytes(source)[: error.start].count(b"\n") + 1
            raise ProgramRejected("not_text", line, "the source is not UTF-8 text; save it as UTF-8") from None
    else:
        text = source
        if not text.isascii():
            try:
                text.encode("utf-8")
            except UnicodeEncodeError as error:
                line = text.count("\n", 0, error.start) + 1
                raise ProgramRejected(
                    "not_text", line, "the source holds half of a surrogate pair, which is no text; remove it"
                ) from None
    text = text.removeprefix("\ufeff")
    if "\0" in text:
        line = text.count("\n", 0, text.index("\0")) + 1
        raise ProgramRejected("not_text", line, "the source holds a null byte; remove it (write \\0 inside a string)")
    if len(text) > MAX_CHARS:
        raise _too_long(len(text))
    if not text.strip():
        raise ProgramRejected(
            "empty", 0, "the source is empty; write a class with reset(self, seed) and step(self, action)"
        )
    return text


def _too_long(length: int) -> ProgramRejected:
    return ProgramRejected(
        "too_long", 0, f"the source has {length:,} characters and may have {MAX_CHARS:,}; make tables shorter"
    )


def _bound(tree: ast.Module) -> Nodes:
    """Counts nodes level by level, without recursion, then the work that ``finally`` makes."""
    found: Nodes = defaultdict(list)
    count, level = 0, [tree]
    for _ in range(MAX_DEPTH + 1):
        count += len(level)
        if count > MAX_NODES:
            raise ProgramRejected(
                "too_many_nodes", 0, f"the program has more than {MAX_NODES:,} syntax nodes; make it smaller"
            )
        below: list[Any] = []
        for node in level:
            kind = node.__class__
            found[kind].append(node)
            for name in CHILDREN[kind]:
                value = getattr(node, name, None)
                if value.__class__ is list:
                    below += value
                elif value is not None:
                    below.append(value)
        if not below:
            break
        level = [node for node in below if node is not None] if None in below else below
    else:
        raise ProgramRejected(
            "too_deep",
            next((line for node in level if (line := getattr(node, "lineno", 0))), 0),
            f"code is nested more than {MAX_DEPTH} levels deep here (each elif and each link of a chain counts); "
            "use a dict, a list or several statements",
        )
    if any(node.finalbody for node in found[ast.Try]):
        _emitted(tree, 0, 0)
    return found


def _children(node: ast.AST) -> list[ast.AST]:
    children: list[ast.AST] = []
    for value in node.__dict__.values():
        if isinstance(value, list):
            children += [item for item in value if isinstance(item, ast.AST) and not isinstance(item, MARKS)]
        elif isinstance(value, ast.AST) and not isinstance(value, MARKS):
            children.append(value)
    return children


def _emitted(node: ast.AST, pending: int, level: int) -> int:
    """Nodes that the compiler emits for a node.

    Args:
        node: A statement or expression.
        pending: Emitted size of the ``finally`` blocks around it, each copied at every way out.
        level: How many they are.
    """
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda | ast.ClassDef):
        pending = level = 0
    if isinstance(node, ast.Return | ast.Break | ast.Continue):
        return 1 + pending + _sum(_children(node), pending, level)
    if not isinstance(node, ast.Try) or not node.finalbody:
        return _checked(1 + _sum(_children(node), pending, level), node)
    if level >= MAX_FINALLY:
        raise ProgramRejected(
            "too_deep", node.lineno, f"finally is nested more than {MAX_FINALLY} levels deep; use functions or with"
        )
    final = _sum(node.finalbody, pending, level + 1)
    inside = _sum([*node.body, *node.handlers, *node.orelse], pending + final, level + 1)
    return _checked(1 + 2 * final + inside, node)


def _sum(nodes: Iterable[ast.AST], pending: int, level: int) -> int:
    return sum(_emitted(node, pending, level) for node in nodes)


def _checked(emitted: int, node: ast.AST) -> int:
    if emitted > MAX_EMITTED:
        line = getattr(node, "lineno", 0)
        raise ProgramRejected(
            "too_many_nodes",
            line,
            "the finally blocks here are copied at so many returns that the code gets too large; return in one place",
        )
    return emitted
