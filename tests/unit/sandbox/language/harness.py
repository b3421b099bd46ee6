"""Runs small programs in the language layer alone. Never an attack: those run in the confined worker only."""

from __future__ import annotations

import sys
import types
from typing import Any

from metagym.sandbox import language

MODES = ("native", "full")
ENV = """
class Env:
    def reset(self, seed=None): return "start"
    def step(self, action): return "obs", 0.0, False, {}
"""


def compiled(source: str, **options: Any) -> language.Compiled:
    """Compiles a source that needs no environment of its own."""
    return language.compile_program(source + ENV, **options)


def run(source: str, guards: Any = "native", seed: int = 0) -> dict[str, Any]:
    """The globals of a program after its body has run; printed text under ``printed``."""
    program = compiled(source, guards=guards)
    printed: list[str] = []
    namespace = language.namespace(program, seed, print_to=printed.append)
    exec(program.code, namespace)
    return {**namespace, "printed": "".join(printed)}


def result(source: str, guards: Any = "native", seed: int = 0) -> Any:
    """What the program left in ``result``."""
    return run(source, guards, seed)["result"]


def plain_result(source: str) -> Any:
    """The same by plain Python."""
    module = types.ModuleType("plain_program")
    sys.modules[module.__name__] = module
    try:
        exec(compile(source + ENV, "<plain>", "exec", dont_inherit=True), module.__dict__)
    finally:
        del sys.modules[module.__name__]
    return module.__dict__["result"]
