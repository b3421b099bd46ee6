"""What a zygote of scripts holds before it forks: the modules that scripts import, and what its owner prepared.

A confined worker opens no file, so a module that was not imported before the fork cannot be imported at all: not by a
script, and not by the library, which imports some of its own only when they are first used.
"""

from __future__ import annotations

import atexit
import contextlib
import importlib
import random
import sys
from collections.abc import Callable, Mapping
from typing import Any

from metagym.sandbox.limits import Limits
from metagym.sandbox.scripts.inside import ScriptPlayer

LIBRARY = tuple(
    "abc argparse array ast asyncio base64 bisect builtins calendar cmath collections collections.abc contextlib copy "
    "copyreg csv dataclasses datetime decimal difflib encodings.idna enum errno fractions functools gc getpass hashlib "
    "heapq html inspect io itertools json keyword locale logging math numbers operator os os.path pathlib pickle "
    "platform pprint queue random re reprlib secrets select shlex signal socket statistics string struct subprocess "
    "sys tempfile textwrap threading time timeit token tokenize traceback types typing unicodedata unittest "
    "urllib.parse uuid warnings weakref zlib zoneinfo".split()
)
"""Modules of the standard library that solutions import."""

WHERE_INSTALLED = ("numpy", "sortedcontainers")

AT_FIRST_USE = (
    *("_strptime", "_pylong"),  # _pylong: long numbers, from Python 3.12 on
    *(
        f"encodings.{name}"
        for name in "ascii base64_codec cp1252 cp437 hex_codec latin_1 punycode rot_13 unicode_escape utf_8_sig utf_16 "
        "utf_16_be utf_16_le utf_32 utf_32_be utf_32_le".split()
    ),
    *(f"numpy.{name}" for name in "char fft ma polynomial random strings".split()),
)
"""Modules that nobody imports by name: `datetime.strptime`, an encoding's name, and ``numpy`` do."""


def make_player(settings: Mapping[str, Any]) -> Callable[[Limits, Callable[[str], None]], ScriptPlayer]:
    """Imports and prepares; a worker's player comes of what is given back.

    Args:
        settings: ``libraries``: whether scripts get the modules of `LIBRARY`, `WHERE_INSTALLED` and `AT_FIRST_USE`;
            ``prepared``: a source of the owner's (trusted: it runs here, before any confinement), whose functions
            workers may call. Its function ``warm_up()``, where it has one, is called once.
    """
    if settings["libraries"]:
        for name in LIBRARY:
            importlib.import_module(name)
        for name in (*WHERE_INSTALLED, *AT_FIRST_USE):
            with contextlib.suppress(ImportError):
                importlib.import_module(name)
    prepared: dict[str, Any] = {"__name__": "prepared"}
    if settings["prepared"]:
        exec(compile(settings["prepared"], "<prepared>", "exec"), prepared)  # noqa: S102  (the owner's own source)
        prepared.get("warm_up", lambda: None)()
    atexit._clear()  # a script's own exit functions are run, the interpreter's are not
    random.seed(0)  # a script draws the same numbers in every zygote
    if "numpy.random" in sys.modules:
        sys.modules["numpy.random"].seed(0)
    sys.setswitchinterval(1.0)
    return lambda limits, tell: ScriptPlayer(prepared, limits)
