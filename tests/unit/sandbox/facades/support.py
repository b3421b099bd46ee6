"""Runs a piece of a program against facades alone: its imports give facades, everything else is plain Python."""

from __future__ import annotations

import builtins
from typing import Any

from metagym.sandbox import facades


def run(source: str, *, seed: int = 1, numpy: bool = True, session: Any = None) -> dict[str, Any]:
    modules = (session or facades.bind(seed, numpy=numpy)).modules

    def import_(name: str, globals: Any = None, locals: Any = None, fromlist: Any = (), level: int = 0) -> Any:
        found = modules.get(name if fromlist else name.split(".")[0])
        if found is None:
            raise ImportError(name)
        return found

    scope: dict[str, Any] = {
        "__builtins__": {**vars(builtins), "__import__": import_},
        "__name__": facades.PROGRAM_MODULE,
    }
    exec(compile(source, "<program>", "exec", dont_inherit=True), scope)
    return scope
