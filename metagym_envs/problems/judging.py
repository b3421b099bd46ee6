"""Programs and functions, judged in the sandbox: what they print or return is compared here, out of their reach."""

from __future__ import annotations

import re
import time
from collections.abc import Sequence
from decimal import Decimal, InvalidOperation
from typing import Any, NamedTuple

from metagym.errors import BadInput
from metagym.sandbox.scripts import SCRIPT_LIMITS, Limits, Ran, ScriptPool, SharedPool, Verdict
from metagym_envs.problems.rows import ProgramTest, Row

PREAMBLE = (
    "import sys\nsys.setrecursionlimit(50_000)\n"
    "import bisect, collections, copy, datetime, functools, heapq, itertools, json, math, operator, random, re\n"
    "from bisect import *\nfrom collections import *\nfrom copy import *\nfrom datetime import *\n"
    "from functools import *\nfrom heapq import *\nfrom itertools import *\nfrom math import *\n"
    "from operator import *\nimport string\n"
    "from random import *\nfrom re import *\nfrom string import *\nfrom typing import *\nfrom builtins import *\n"
)
"""What solutions of LiveCodeBench count on, as its own judge does: names of the usual modules, a deep recursion."""


class Judgement(NamedTuple):
    """How an answer did.

    Attributes:
        verdict: See `metagym.sandbox.scripts.VERDICTS`.
        place: Which test failed first, e.g. ``"test 3 of 12"``; "" where none did.
        detail: What went wrong, in one line; never what was expected.
    """

    verdict: Verdict
    place: str
    detail: str


def pool() -> ScriptPool:
    """The workers that run code; one pool for a process, started at first use.

    Raises:
        SandboxUnavailable: A layer of the sandbox is missing.
    """
    return _pool()


@SharedPool
def _pool() -> ScriptPool:
    return ScriptPool(SCRIPT_LIMITS)


def judge_program(row: Row, source: str, seconds: float, limits: Limits | None = None) -> Judgement:
    """Runs a program on the tests of a row, each in a worker of its own, up to the first that fails.

    Args:
        row: The problem.
        source: The answer.
        seconds: Wall-clock seconds of all tests together; the test in which they end counts as a time-out.
        limits: Limits of each test.

    Raises:
        SandboxUnavailable: A layer of the sandbox is missing.
    """
    until = time.monotonic() + seconds
    for number, test in enumerate(row.tests, 1):
        place = f"test {number} of {len(row.tests)}"
        if time.monotonic() >= until:
            return Judgement("timeout", place, f"the tests before it took the {seconds:g} s of all tests")
        ran, right = _tested(row, test, source, limits, until - time.monotonic())
        if ran.verdict != "passed":
            return Judgement(ran.verdict, place, ran.detail)
        if not right:
            return Judgement("wrong", place, "the output is not the right one")
    return Judgement("passed", "", "")


def _tested(row: Row, test: ProgramTest, source: str, limits: Limits | None, seconds: float) -> tuple[Ran, bool]:
    if test.given is not None:
        ran = pool().run([PREAMBLE, source], test.given, limits, seconds=seconds)
        return ran, ran.verdict == "passed" and same_output(ran.output, test.expected)
    ran, value = pool().call([PREAMBLE, source], row.entry_point, test.arguments, limits, seconds=seconds)
    return ran, ran.verdict == "passed" and same_value(value, test.expected)


def same_output(output: str, expected: str) -> bool:
    """Whether two texts are the same answer: line by line without blanks at their ends, numbers by their value.

    As LiveCodeBench compares: no line more or less, ``1.0`` for ``1``, no tolerance.
    """
    ours, theirs = (text.strip().split("\n") for text in (output, expected))
    return len(ours) == len(theirs) and all(map(_same_line, ours, theirs))


def _same_line(ours: str, theirs: str) -> bool:
    if ours.strip() == theirs.strip():
        return True
    left, right = ours.split(), theirs.split()
    return len(left) == len(right) and all(map(_same_number, left, right))


def _same_number(ours: str, theirs: str) -> bool:
    if max(len(ours), len(theirs)) > 1_000:
        return ours == theirs
    try:
        left, right = Decimal(ours), Decimal(theirs)
    except InvalidOperation:
        return False
    return left.is_finite() and right.is_finite() and left == right


def same_value(value: Any, expected: Any) -> bool:
    """Whether a returned value is the one that a JSON file expects: tuples count as lists, numbers as keys as texts."""
    return _jsonlike(value) == expected


def _jsonlike(value: Any) -> Any:
    if isinstance(value, (list, tuple)):
        return [_jsonlike(item) for item in value]
    if isinstance(value, dict):
        return {_key(key): _jsonlike(item) for key, item in value.items()}
    return value


def _key(key: Any) -> Any:
    """A key as JSON writes it. A number that no file holds stays one: of so many digits Python writes no text."""
    short = type(key) is int and key.bit_length() <= 256
    return str(key) if short or isinstance(key, (bool, float)) else key


def judge_function(row: Row, source: str, seconds: float, limits: Limits | None = None) -> Judgement:
    """Runs a row's ``check`` on the function of an answer; the two never share a process.

    Args:
        row: The problem.
        source: The whole function, or its body alone as a completion of the prompt.
        seconds: Wall-clock seconds of the whole.
        limits: Limits of each of the two workers.

    Raises:
        BadInput: The row's check never calls the function.
        SandboxUnavailable: A layer of the sandbox is missing.
    """
    # The prompt itself defines what the check may need beside the function, e.g. `encode_cyclic` in HumanEval/38.
    test = [row.prompt, row.check]
    try:
        judged = pool().check(_sources(row, source), test, row.entry_point, seconds=seconds, limits=limits)
    except BadInput as error:
        raise BadInput(f"row {row.id}: {error}") from None
    return Judgement(judged.verdict, f"call {judged.calls}" if judged.verdict != "passed" else "", judged.detail)


def _sources(row: Row, source: str) -> Sequence[str]:
    """The prompt's imports and helpers, then the answer; or prompt and answer as one text where it goes on from it."""
    name = re.escape(row.entry_point)
    defines = re.search(rf"^(?:(?:async\s+)?def\s+{name}\s*\(|{name}\s*=|from\s.*\b{name}\b)", source, re.MULTILINE)
    return [row.prompt, source] if defines else [row.prompt + source]
