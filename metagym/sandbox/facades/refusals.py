"""Modules that programs like to import and cannot have, each with what to write instead."""

from __future__ import annotations

_FILES = "there are no files; keep the data in the program"
_PATHS = f"{_FILES} (posixpath takes paths apart)"
_NET = "nothing outside can be reached; simulate it inside the environment"
_PARALLEL = "a program runs in one thread; write the same as plain loops"
_HOST = "the machine is not offered; environments need nothing of it"
_TENSORS = "it is not offered; use plain Python lists{numpy}"

HINTS: dict[str, str] = {
    **dict.fromkeys(("os", "pathlib"), _PATHS),
    **dict.fromkeys(("shutil", "tempfile", "glob", "fileinput", "sqlite3", "zipfile", "tarfile"), _FILES),
    **dict.fromkeys(
        ("pickle", "shelve", "marshal", "dbm", "configparser"), "use json.dumps and json.loads on plain data"
    ),
    **dict.fromkeys(("socket", "ssl", "http", "requests", "httpx", "aiohttp", "smtplib", "ftplib", "select"), _NET),
    **dict.fromkeys(("threading", "multiprocessing", "asyncio", "concurrent", "_thread", "sched"), _PARALLEL),
    **dict.fromkeys(("subprocess", "signal", "ctypes", "platform", "resource", "gc", "atexit", "mmap", "pty"), _HOST),
    **dict.fromkeys(("importlib", "builtins", "runpy", "code", "codeop", "pkgutil", "site", "posix", "nt"), _HOST),
    **dict.fromkeys(("torch", "tensorflow", "jax", "pandas", "scipy", "sklearn", "networkx", "sympy"), _TENSORS),
    "argparse": "a program has no command line; give the settings defaults in __init__",
    "unittest": "leave tests out of the program",
    "pytest": "leave tests out of the program",
    "pydantic": "use dataclasses",
    "attr": "use dataclasses",
    "attrs": "use dataclasses",
    "matplotlib": "draw with text: return lines of characters",
    "pygame": "draw with text: return lines of characters",
    "zoneinfo": "use datetime.timezone with a fixed offset",
    "locale": "format numbers with f-strings",
    "tkinter": "draw with text: return lines of characters",
    "curses": "draw with text: return lines of characters",
}


def module_hint(module: str, offered: frozenset[str], numpy: bool) -> str:
    """One sentence: why `module` cannot be imported and what to write instead.

    Args:
        module: The name in the import statement.
        offered: What can be imported.
        numpy: Whether numpy is offered.
    """
    top = module.partition(".")[0]
    if top == "numpy" and not numpy:
        return "numpy is not offered in this pool; use plain Python lists and math"
    if top in HINTS:
        return f"{module} is not offered: " + HINTS[top].format(numpy=" or numpy" if numpy else "")
    tops = sorted({name for name in offered if "." not in name})
    return f"{module} is not offered; programs may import {', '.join(tops)}"
