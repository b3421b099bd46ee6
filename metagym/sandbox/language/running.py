"""The globals that a program's code runs in, one set per session."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

from metagym.sandbox import facades
from metagym.sandbox.language import builtin_names, classes, guards, names
from metagym.sandbox.language.compiler import Compiled
from metagym.sandbox.language.identity import Identities

_SESSION = "session of the language layer"  # no identifier, so no program can name it

_templates: dict[bool, dict[str, Any]] = {}


def warm_up(numpy: bool = True) -> None:
    """Does what would else be done at first use, in a confined worker: imports, templates. Called before the fork.

    Args:
        numpy: Programs may import numpy.
    """
    facades.warm_up(numpy)
    _template(numpy)


def _template(numpy: bool) -> dict[str, Any]:
    found = _templates.get(numpy)
    if found is None:
        found = _templates[numpy] = builtin_names.template()
        for module in facades.modules(numpy).values():
            classes.name_types(getattr(module, name, None) for name in dir(module))
        if numpy:
            import numpy as np

            guards.guard_arrays((np.ndarray, np.generic, np.random.BitGenerator, np.random.SeedSequence))
    return found


def namespace(compiled: Compiled, seed: int, *, print_to: Callable[[str], None]) -> dict[str, Any]:
    """Fresh globals for one session of a program.

    Args:
        compiled: The program; its code is not run here.
        seed: What the global generators draw from until `reseed`.
        print_to: Takes each piece of printed text.
    """
    session = facades.bind(seed, numpy=compiled.numpy, print_to=print_to)
    modules = session.modules
    identities = Identities()
    own: set[type] = set()

    def print_(*values: Any, sep: Any = None, end: Any = None, file: Any = None, flush: Any = False) -> None:
        text = (" " if sep is None else sep).join(map(str, values)) + ("\n" if end is None else end)
        if file is None:
            print_to(names.shown(text))
        else:
            file.write(text)

    def import_(name: str, globals: Any = None, locals: Any = None, fromlist: Any = (), level: int = 0) -> Any:
        if type(fromlist) is list:  # C code of a library, which looks in sys.modules afterwards
            if name in sys.modules:
                return None
            raise ImportError(f"{name} is not loaded")
        found = modules.get(name if fromlist else name.split(".")[0])
        if found is None or level:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
        return found

    built = {
        **_template(compiled.numpy),
        "print": print_,
        "id": identities.id,
        "hash": identities.hash,
        "_hash_": identities.method,
        "_kind_": type,
        "_own_": own,
        "_write_": guards.writer(own),
        "_super_": guards.super_guard(own),
        "__import__": import_,
        _SESSION: session,
    }
    return {"__builtins__": built, "__name__": names.PROGRAM}


def reseed(namespace: dict[str, Any], seed: int) -> None:
    """Starts the global generators of a session anew, so that what they draw depends on `seed` alone.

    Args:
        namespace: Made by `namespace`.
        seed: Any non-negative integer.
    """
    namespace["__builtins__"][_SESSION].reseed(seed)
