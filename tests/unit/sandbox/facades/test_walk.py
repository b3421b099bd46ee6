"""A walk over everything that a program reaches by public names finds no way out."""

from __future__ import annotations

import builtins
import importlib.machinery
import io
import types
from typing import Any

import pytest

from metagym.sandbox import facades
from metagym.sandbox.facades import GUARDED_ATTRIBUTES, UNREADABLE

FORBIDDEN_TYPES = (
    types.ModuleType,
    types.FrameType,
    types.CodeType,
    types.TracebackType,
    types.CellType,
    io.FileIO,
    io.TextIOWrapper,
    io.BufferedReader,
    io.BufferedWriter,
    importlib.machinery.ModuleSpec,
    importlib.machinery.SourceFileLoader,
)
FORBIDDEN = [
    *(open, eval, exec, compile, __import__, input, breakpoint, globals, locals, vars, getattr, setattr, delattr),
    *(type, memoryview, io.open_code, vars(builtins)),
]
SHARED = {
    "textwrap.TextWrapper.unicode_whitespace_trans": "a table of the library that only its own method reads",
    "metagym.spade.SyntheticEnv.metadata": "notes of the base class, which programs replace and do not change",
    "metagym.spade.ToolEnv.metadata": "the same",
}
DEPTH = 5


def reachable(root: Any, name: str, seen: dict[int, Any]) -> Any:
    todo = [(root, name, 0)]
    while todo:
        thing, path, depth = todo.pop()
        if id(thing) in seen or depth > DEPTH:
            continue
        seen[id(thing)] = thing  # kept alive, so that no address is used twice
        yield thing, path, depth
        if isinstance(thing, (str, bytes, int, float, complex, type(None))):
            continue
        for attribute in dir(thing):
            if attribute.startswith("_") or attribute in UNREADABLE or attribute in GUARDED_ATTRIBUTES:
                continue
            try:
                value = getattr(thing, attribute)
            except (AttributeError, TypeError, ValueError, NotImplementedError):
                continue
            todo.append((value, f"{path}.{attribute}", depth + 1))


@pytest.mark.parametrize("numpy", [False, True], ids=["plain", "numpy"])
def test_no_module_frame_code_builtin_loader_or_file_is_reachable(numpy: bool) -> None:
    seen: dict[int, Any] = {}
    count = 0
    for module, facade in facades.modules(numpy).items():
        for thing, path, depth in reachable(facade, module, seen):
            count += 1
            assert not isinstance(thing, FORBIDDEN_TYPES), path
            assert not any(thing is each for each in FORBIDDEN), path
            if isinstance(thing, (list, dict, set, bytearray)) and depth <= 2 and "gymnasium" not in path:
                assert path in SHARED, f"{path} is shared by all sessions and can be changed"
    assert count > 2_000
