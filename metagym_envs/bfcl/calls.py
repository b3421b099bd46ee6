"""From what a model wrote to tool calls, without evaluating any of it.

A text is read as calls in one of these forms, tried in this order:

1. Blocks ``<tool_call> ... </tool_call>``, wherever they stand, each with one of the forms below inside.
2. JSON: ``{"name": "ls", "arguments": {"a": true}}``, or a list of such objects.
3. Python's notation: ``ls(a=True)``, or a list ``[cd(folder="x"), ls()]``. It is parsed into a syntax tree, of which
   plain values are copied out; the tree is never compiled.

Everything else is plain text. Something that has the form of a call and cannot be run, as one whose argument is an
expression, stays a call with a `fault`: the tool answers with it, and nothing happens.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from metagym.chat import ToolParseMessage, parse_tool_arguments

MAX_TEXT = 100_000
"""Longest text that is read for calls, in characters."""

MAX_DEPTH = 20
"""Deepest nesting of an argument; the deepest of the benchmark's own calls is 2."""

MAX_WHOLE = 10**18
"""Largest whole number of an argument, in either direction; the benchmark's own are below 10**6."""

_OPEN = re.compile(r"<tool_?call>", re.IGNORECASE)
_CLOSE = re.compile(r"</tool_?call>", re.IGNORECASE)
_FENCE = re.compile(r"\A```[\w-]*\n(.*?)\n?```\Z", re.DOTALL)
_ESCAPE = re.compile(r"\\(.)", re.DOTALL)
_KNOWN_ESCAPES = frozenset("\n\\'\"abfnrtv01234567xNuU")
_KEYS = frozenset(("name", "function", "arguments", "parameters", "id", "type"))
_RAW_STRING = re.compile(r"\b[rRbB]{1,2}['\"]")


class _Unfit(Exception):
    """A call that cannot be run, and why."""


@dataclass(frozen=True)
class Call:
    """One tool call.

    Attributes:
        name: Of the tool, as it was written.
        args: Arguments by position: plain values.
        kwargs: Arguments by name.
        fault: Why it cannot be run; "" where it can.
    """

    name: str
    args: tuple[Any, ...] = ()
    kwargs: Mapping[str, Any] = field(default_factory=dict)
    fault: str = ""


def read_calls(text: str) -> tuple[Call, ...]:
    """The calls in a text, in order; () where it is plain text or an empty list.

    Args:
        text: Any text.
    """
    if len(text) > MAX_TEXT:
        return (Call("", fault=f"the reply is longer than {MAX_TEXT:,} characters"),)
    opened = _OPEN.search(text)
    if opened is None:
        return _formed(_bare(text)) or ()
    found: list[Call] = []
    while opened is not None:
        closed = _CLOSE.search(text, opened.end())
        block = text[opened.end() : closed.start() if closed else len(text)]
        inside = _formed(_bare(block)) if closed else None
        found += inside or (Call("", fault='a <tool_call> block holds no call {"name": ..., "arguments": {...}}'),)
        opened = _OPEN.search(text, closed.end()) if closed else None
    return tuple(found)


def python_call(source: str) -> Call:
    """One call in Python's notation, as the benchmark's own answers are written.

    Raises:
        ValueError: It is none, or it cannot be run.
    """
    found = _python(source)
    if found is None or len(found) != 1 or found[0].fault:
        raise ValueError(f"not one call with plain arguments: {source[:200]!r}")
    return found[0]


def _bare(text: str) -> str:
    """A text without blanks, and without the fence around all of it."""
    text = text.strip()
    fenced = _FENCE.match(text)
    return (fenced[1] if fenced else text.strip("`")).strip()


def _formed(text: str) -> tuple[Call, ...] | None:
    """Calls in JSON or in Python's notation; None where the text is neither."""
    if text[:1] in ("{", "["):
        found = _json(text)
        if found is not None:
            return found
    return _python(text) if "(" in text and text[-1:] in (")", "]", ",") else None


def _json(text: str) -> tuple[Call, ...] | None:
    read = parse_tool_arguments(f'{{"calls": {text}}}')  # strict: no NaN, and no name twice
    if isinstance(read, ToolParseMessage):
        return None
    value = read.values["calls"] if len(read.values) == 1 else None
    items = [_unwrapped(item) for item in (value if isinstance(value, list) else [value])]
    names = [item.get("name", item.get("function")) for item in items]
    if not all(isinstance(name, str) and name for name in names):
        return None
    return tuple(_from_json(str(name), item) for name, item in zip(names, items, strict=True))


def _unwrapped(item: Any) -> dict[str, Any]:
    """An object with a tool's name and arguments; {} where it is something else."""
    if isinstance(item, dict) and isinstance(item.get("function"), dict):  # as servers write calls
        item = item["function"]
    return item if isinstance(item, dict) and set(item) <= _KEYS else {}


def _from_json(name: str, item: Mapping[str, Any]) -> Call:
    raw = item.get("arguments", item.get("parameters"))
    if not (raw is None or isinstance(raw, (str, dict))):
        return Call(name, fault="the arguments must be one JSON object")
    read = parse_tool_arguments(raw)
    if isinstance(read, ToolParseMessage):
        return Call(name, fault=read.message.rstrip("."))
    try:
        return Call(name, kwargs={key: _checked(value, 0) for key, value in read.values.items()})
    except _Unfit as error:
        return Call(name, fault=str(error))


def _python(text: str) -> tuple[Call, ...] | None:
    if "\\" in text and not _RAW_STRING.search(text):  # Python keeps an escape it does not know, and warns
        text = _ESCAPE.sub(lambda m: m[0] if m[1] in _KNOWN_ESCAPES else "\\" + m[0], text)
    try:
        node = ast.parse(text, mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError, Warning):
        return None
    nodes = node.elts if isinstance(node, (ast.List, ast.Tuple)) else [node]
    calls = [one for one in nodes if isinstance(one, ast.Call)]
    return tuple(map(_from_node, calls)) if calls and len(calls) == len(nodes) else None


def _from_node(node: ast.Call) -> Call:
    if not isinstance(node.func, ast.Name):
        return Call("", fault="a tool is called by its plain name")
    name = node.func.id
    try:
        args = tuple(_value(arg, 0) for arg in node.args)
        kwargs: dict[str, Any] = {}
        for keyword in node.keywords:
            if keyword.arg is None:
                raise _Unfit("arguments are written one by one")
            kwargs[keyword.arg] = _value(keyword.value, 0)
    except _Unfit as error:
        return Call(name, fault=str(error))
    return Call(name, args, kwargs)


def _value(node: ast.expr, depth: int) -> Any:
    """The plain value that a piece of a syntax tree writes down."""
    if depth > MAX_DEPTH:
        raise _Unfit(f"an argument is nested deeper than {MAX_DEPTH} levels")
    if isinstance(node, ast.Constant):
        return _checked(node.value, depth)
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub) and isinstance(node.operand, ast.Constant):
        value = _checked(node.operand.value, depth)
        if type(value) in (int, float):
            return -value
    if isinstance(node, ast.List):
        return [_value(item, depth + 1) for item in node.elts]
    if isinstance(node, ast.Tuple):
        return tuple(_value(item, depth + 1) for item in node.elts)
    if isinstance(node, ast.Dict) and all(isinstance(key, ast.Constant) for key in node.keys):
        keys = [_value(key, depth) for key in node.keys if key is not None]
        return dict(zip(keys, (_value(item, depth + 1) for item in node.values), strict=True))
    raise _Unfit("arguments are plain values: texts, numbers, True, False, None, lists and dicts of them")


def _checked(value: Any, depth: int) -> Any:
    """A value of JSON or a constant, if a tool may get it."""
    if depth > MAX_DEPTH:
        raise _Unfit(f"an argument is nested deeper than {MAX_DEPTH} levels")
    if value is None or isinstance(value, (str, bool)):
        return value
    if isinstance(value, int):
        if abs(value) > MAX_WHOLE:
            raise _Unfit("a whole number is out of range")
        return value
    if isinstance(value, float):
        if value - value != 0:  # 1e999 is infinite
            raise _Unfit("a number is out of range")
        return value
    if isinstance(value, list):
        return [_checked(item, depth + 1) for item in value]
    if isinstance(value, dict):
        return {key: _checked(item, depth + 1) for key, item in value.items()}
    raise _Unfit("arguments are plain values: texts, numbers, True, False, None, lists and dicts of them")


def written(calls: Iterable[Call]) -> str:
    """Calls in Python's notation, as `read_calls` reads them."""
    return "[" + ", ".join(f"{call.name}({', '.join(_arguments(call))})" for call in calls) + "]"


def _arguments(call: Call) -> list[str]:
    return [*map(repr, call.args), *(f"{name}={value!r}" for name, value in call.kwargs.items())]
