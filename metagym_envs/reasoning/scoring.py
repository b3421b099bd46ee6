"""Scores from Reasoning Gym's own scorers, of which nine hand the answer to `eval`, directly or through SymPy.

An answer is a model's text and therefore hostile. So those nine get it only where it is a literal, or an expression of
numbers, known names and arithmetic; every other text is compared with the solutions as it stands. What they would have
given for such a text is 0 to 0.05 for having answered at all.
"""

from __future__ import annotations

import ast
import math
from collections.abc import Mapping
from typing import Any

LITERALS = frozenset({"string_insertion", "spiral_matrix", "binary_matrix", "n_queens"})
"""Data sets whose scorer evaluates the answer as a Python list."""

EXPRESSIONS = frozenset(
    {"simple_integration", "intermediate_integration", "polynomial_multiplication", "puzzle24", "countdown"}
)
"""Data sets whose scorer hands the answer to ``sympy.parse_expr``, which evaluates it."""

MAX_CHARS = 20_000
"""Longest answer that is scored: more than the largest board of the hard configurations, 50 x 50 numbers, takes."""

MAX_POWER = 100
"""Largest exponent, and largest number of digits of a number."""

MAX_NODES = 2_000
MAX_DIGITS = 20_000
"""Most digits that a number in the course of the computation may have."""

_FUNCTIONS = frozenset("sin cos tan exp log ln sqrt asin acos atan sinh cosh tanh Abs erf Ei Si Ci gamma".split())
_CONSTANTS = frozenset({"E", "I", "pi"})
_SHAPES = (ast.Expression, ast.BinOp, ast.UnaryOp, ast.Call, ast.Name, ast.Constant, ast.Load)
_OPERATORS = (ast.Add, ast.Sub, ast.Mult, ast.Div, ast.Pow, ast.UAdd, ast.USub)


def score(dataset: Any, name: str, entry: Mapping[str, Any], answer: str | None) -> float:
    """The score of an answer.

    Args:
        dataset: Reasoning Gym's data set.
        name: Its name.
        entry: The question as the data set made it.
        answer: The model's answer; None where it gave none.

    Returns:
        In [0, 1]; 1 is right. 0.0 without an answer, for one longer than `MAX_CHARS`, and where the scorer cannot
        read it.
    """
    if answer is None or len(answer) > MAX_CHARS:
        return 0.0
    if (name in LITERALS and not is_literal(answer)) or (name in EXPRESSIONS and not is_expression(answer)):
        return float(answer.strip() in solutions(entry))
    try:
        found = float(dataset.score_answer(answer, entry))
    except Exception:  # whatever a scorer does with a text that it did not expect, the text was no right answer
        return 0.0
    return min(1.0, max(0.0, found)) if math.isfinite(found) else 0.0


def solutions(entry: Mapping[str, Any]) -> set[str]:
    """The texts that are right as they stand."""
    metadata = entry.get("metadata") or {}
    known = [entry.get("answer"), *(metadata.get("valid_answers") or ())]
    return {text.strip() for text in known if isinstance(text, str) and text.strip()}


def is_literal(text: str) -> bool:
    """Whether a text is a Python literal of bounded size."""
    try:
        ast.literal_eval(text.strip())
    except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
        return False
    return True


def is_expression(text: str) -> bool:
    """Whether a text is arithmetic on numbers and letters whose value is of bounded size.

    Allowed are + - * / ** and ^, numbers, names of one letter, ``pi``, and the functions that occur in integrals. An
    exponent holds no power of its own.
    """
    try:
        tree = ast.parse(text.strip().replace("^", "**"), mode="eval")
    except (SyntaxError, ValueError, MemoryError, RecursionError):
        return False
    nodes = list(ast.walk(tree))
    return len(nodes) <= MAX_NODES and all(map(_harmless, nodes)) and _digits(tree) <= MAX_DIGITS


def _harmless(node: ast.AST) -> bool:
    if isinstance(node, ast.Constant):
        small = type(node.value) is int and abs(node.value) < 10**MAX_POWER
        return small or (type(node.value) is float and math.isfinite(node.value))
    if isinstance(node, ast.Name):
        return (len(node.id) == 1 and node.id.isascii()) or node.id in _CONSTANTS or node.id in _FUNCTIONS
    if isinstance(node, ast.Call):
        named = isinstance(node.func, ast.Name) and node.func.id in _FUNCTIONS
        return named and len(node.args) == 1 and not node.keywords
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Pow):
        return all(_small_exponent(part) for part in ast.walk(node.right))
    return isinstance(node, _SHAPES + _OPERATORS)


def _small_exponent(node: ast.AST) -> bool:
    if isinstance(node, ast.Constant):
        return isinstance(node.value, int | float) and abs(node.value) <= MAX_POWER
    return not isinstance(node, ast.Pow | ast.Call | ast.Mult)


def _digits(node: ast.AST) -> float:
    """An upper bound on the digits of the largest number that computing a harmless expression makes."""
    if isinstance(node, ast.Constant):
        return len(str(node.value))
    parts = [_digits(part) for part in ast.iter_child_nodes(node)]
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Pow):
        powers = [abs(part.value) for part in ast.walk(node.right) if isinstance(part, ast.Constant)]  # type: ignore[arg-type]
        return _digits(node.left) * max(1.0, sum(powers))
    return sum(parts) if isinstance(node, ast.BinOp) else max(parts, default=1.0)
