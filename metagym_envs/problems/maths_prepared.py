"""Compares two mathematical answers with math-verify. This file runs in the sandbox alone: it is read, never imported.

SymPy reads an expression by evaluating text as Python, and 9**9**9**9 takes for ever; both are fine in a confined
worker that judges one answer and then ends.
"""

import contextlib
import importlib
import logging
import pkgutil
import sys
from typing import Any

import sympy  # type: ignore[import-untyped]
from math_verify import parse, verify  # type: ignore[import-untyped]

logging.disable(logging.CRITICAL)


class Wanted:
    """Stands last among the finders of modules, and notes what was found nowhere: a worker cannot open files."""

    def __init__(self) -> None:
        self.names: set[str] = set()

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> None:
        """Notes the name."""
        self.names.add(name)


_WANTED = Wanted()
sys.meta_path.append(_WANTED)
_LONGEST = 200
_ROOMS = (  # those in which SymPy imports modules at their first use
    "assumptions assumptions.handlers assumptions.predicates calculus codegen combinatorics concrete discrete "
    "functions.combinatorial functions.elementary functions.special geometry integrals logic logic.algorithms matrices "
    "matrices.expressions ntheory polys polys.agca polys.domains polys.matrices polys.numberfields series sets "
    "sets.handlers simplify solvers solvers.diophantine tensor tensor.array tensor.array.expressions vector"
).split()
_OTHERS = "multiprocessing numpy platform secrets sympy.printing.c"


def _read(text: str) -> list[Any]:
    return parse("\\boxed{" + text + "}", parsing_timeout=None)


def _canonical(parsed: list[Any]) -> str:
    """One text for answers that are equal, as far as that can be had cheaply; "" without one."""
    for found in parsed:
        if isinstance(found, sympy.Eq) and found.lhs.is_Symbol:
            found = found.rhs  # "x = 3" is the answer 3
        if isinstance(found, sympy.Basic):
            try:
                value = found.doit() if found.is_number else found
                if value.is_number:
                    value = sympy.nsimplify(value, rational=value.is_Float or None)
                return str(value)[:_LONGEST]
            except (ArithmeticError, AttributeError, TypeError, ValueError):
                continue
    return next((found.strip()[:_LONGEST] for found in parsed if isinstance(found, str)), "")


def judge(gold: str, answer: str) -> tuple[bool, bool, str, list[str]]:
    """Whether the label can be read, whether the answer is equal to it, the answer in one form, modules missed."""
    _WANTED.names.clear()
    labels, answers = _read(gold), _read(answer)
    equal, canonical = False, ""
    try:
        equal = bool(labels and answers and verify(labels, answers, timeout_seconds=None))
        canonical = _canonical(answers)
    except ImportError:
        pass  # the names tell
    return bool(labels), equal, canonical, sorted(_WANTED.names)


def _load(name: str) -> None:
    """Imports a module; some need what is not installed, here and at their first use alike."""
    with contextlib.suppress(ImportError):
        importlib.import_module(name)


def warm_up() -> None:
    """Uses what answers use, so that nothing has to be loaded in a worker."""
    for room in _ROOMS:
        inside = importlib.import_module(f"sympy.{room}").__path__
        for module in pkgutil.iter_modules(inside, f"sympy.{room}."):
            if not module.name.rpartition(".")[2].startswith(("test", "bench")):
                _load(module.name)
    for name in _OTHERS.split():
        _load(name)
    for gold, answer in (
        ("\\frac{1}{2}", "0.5"),
        ("x^2+2x+1", "(x+1)^2"),
        ("(1,2)", "(1, 2)"),
        ("[0,1)", "[0, 1)"),
        ("\\{1,2\\}", "1, 2"),
        ("\\sqrt{2}", "2^{1/2}"),
        ("\\pi", "3.14159"),
        ("x=3", "3"),
        ("50\\%", "0.5"),
        ("\\begin{pmatrix}1&2\\\\3&4\\end{pmatrix}", "\\begin{pmatrix}1&2\\\\3&5\\end{pmatrix}"),
        ("x>2", "(2,\\infty)"),
        ("\\text{even}", "even"),
        ("1,234", "1234"),
        ("\\frac{\\sqrt{3}}{3}", "1/\\sqrt{3}"),
        ("2+3i", "3i+2"),
        ("\\binom{5}{2}", "10"),
        ("5!", "120"),
        ("\\log_2 8", "3"),
        ("\\sin(\\pi/6)", "1/2"),
        ("\\int_0^1 x dx", "1/2"),
        ("\\sum_{i=1}^{3} i", "6"),
        ("y=2x+1", "y - 2x = 1"),
        ("(-\\infty,0)\\cup(1,2)", "(1,2)\\cup(-\\infty,0)"),
        ("\\lim_{x\\to 0} x", "0"),
        ("|x|", "x"),
        ("\\lfloor 2.5 \\rfloor", "2"),
        ("e^{2}", "7.389"),
        ("10^{-3}", "0.001"),
        ("90^\\circ", "90"),
        ("\\$5.00", "5"),
        ("not a formula {", "}{"),
        ("x \\in \\{1\\}", "x=1"),
        ("1\\frac{1}{2}", "3/2"),
    ):
        judge(gold, answer)
    judge("1", "0.5")  # once more what answers mostly are
