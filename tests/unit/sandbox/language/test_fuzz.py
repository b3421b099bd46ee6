"""Trees that nobody wrote: each is compiled or rejected, and no code names what no program may name."""

from __future__ import annotations

import ast
import dis
import random
from collections.abc import Iterator
from types import CodeType
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from metagym import seeding
from metagym.errors import ProgramRejected
from metagym.sandbox import language
from metagym.sandbox.language import names
from metagym.sandbox.language.policy import GUARDS
from tests.unit.sandbox.language.harness import ENV, MODES
from tests.unit.sandbox.language.test_habits import HABITS

TRICKY = (
    "__globals__ __builtins__ __class__ __import__ __dict__ __mro__ __init__ __getattr__ __name__ __match_args__"
    " __slots__ __doc__ __init_subclass__ __code__ __self__ __setattr__ __build_class__ __debug__"
    " _getattr_ _write_ _text_ _meta_ _x __x _ __ _value_ gi_frame tb_frame f_globals"
    " format obj mro open eval exec type super object self metaclass os random"
).split()
"""Names put in place of others."""

_STORES = {"STORE_NAME", "STORE_GLOBAL", "STORE_FAST", "STORE_DEREF", "DELETE_NAME", "DELETE_GLOBAL", "DELETE_FAST"}
_ATTRIBUTES = {"LOAD_ATTR", "LOAD_METHOD", "STORE_ATTR", "DELETE_ATTR", "LOAD_SUPER_ATTR"}
_READABLE = names.OPERATORS | names.PLAIN_READS | names.CALLED | names.SETTABLE | names.LIBRARY


def codes(code: CodeType) -> Iterator[CodeType]:
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from codes(constant)


def faults(code: CodeType) -> list[str]:
    """Instructions that no compiled program may hold."""
    found = []
    for part in codes(code):
        for step in dis.get_instructions(part):
            name = str(step.argval)
            if step.opname in _ATTRIBUTES:
                hidden = name.startswith("_") and name != "_" and name not in _READABLE
                if hidden or name in names.FORBIDDEN or (step.opname == "LOAD_ATTR" and name in names.RISKY):
                    found.append(f"{step.opname} {name}")
            elif step.opname in _STORES and name in GUARDS | {"__builtins__", "__import__", "__name__"}:
                found.append(f"{step.opname} {name}")
            elif step.opname in ("IMPORT_NAME", "IMPORT_FROM") and name.startswith("_"):
                found.append(f"{step.opname} {name}")
        found += [name for name in part.co_varnames if name in GUARDS]
    return found


def judged(source: str, guards: Any) -> str:
    """Compiles a source: the code of its rejection, or "compiled" if its code is clean."""
    try:
        program = language.compile_program(source, guards=guards)
    except ProgramRejected as error:
        assert error.message and 0 <= error.line
        return error.code
    assert not faults(program.code), source
    return "compiled"


class Mutation(ast.NodeTransformer):
    """Replaces some names, attributes, arguments, constants and statements of a tree."""

    def __init__(self, rng: random.Random, donors: list[ast.AST], rate: float) -> None:
        self.rng, self.donors, self.rate = rng, donors, rate

    def visit(self, node: ast.AST) -> Any:
        node = self.generic_visit(node)
        if self.rng.random() >= self.rate:
            return node
        fields = [
            (name, value)
            for name, value in ast.iter_fields(node)
            if isinstance(value, str) and name in ("id", "attr", "arg", "name", "asname", "rest", "module")
        ]
        if fields:
            setattr(node, self.rng.choice(fields)[0], self.rng.choice(TRICKY))
            return node
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            return ast.copy_location(ast.Constant(self.rng.choice(TRICKY)), node)
        kind: Any = ast.expr if isinstance(node, ast.expr) else ast.stmt if isinstance(node, ast.stmt) else None
        if kind is None or not isinstance(getattr(node, "ctx", ast.Load()), ast.Load):
            return node
        others = [donor for donor in self.donors if isinstance(donor, kind)]
        return self.rng.choice(others) if others else node


def mutated(seed: int, rate: float) -> str:
    """A program made of the habits' sources, changed at random; "" where the tree has no source."""
    rng = seeding.rng(seed, "fuzz")
    first, second = (ast.parse(rng.choice(sorted(HABITS.values())).removeprefix("\ufeff")) for _ in range(2))
    donors = [node for node in ast.walk(second) if isinstance(node, ast.expr | ast.stmt)]
    try:
        return ast.unparse(Mutation(rng, donors, rate).visit(first)) + ENV
    except (ValueError, AttributeError, TypeError, RecursionError, KeyError, IndexError):
        return ""


@given(st.integers(0, 2**32), st.sampled_from((0.01, 0.05, 0.3)), st.sampled_from(MODES))
@settings(max_examples=60, deadline=None)
def test_a_changed_program_is_compiled_or_rejected(seed: int, rate: float, guards: str) -> None:
    judged(mutated(seed, rate), guards)


@pytest.mark.slow
@given(st.integers(0, 2**62), st.floats(0.002, 0.5), st.sampled_from(MODES))
@settings(max_examples=4_000, deadline=None, suppress_health_check=list(HealthCheck))
def test_many_changed_programs_are_compiled_or_rejected(seed: int, rate: float, guards: str) -> None:
    judged(mutated(seed, rate), guards)


@pytest.mark.slow
@given(st.integers(0, 2**62), st.integers(1, 12), st.sampled_from(MODES))
@settings(max_examples=2_000, deadline=None, suppress_health_check=list(HealthCheck))
def test_many_damaged_texts_are_compiled_or_rejected(seed: int, cuts: int, guards: str) -> None:
    rng = seeding.rng(seed, "cuts")
    text = rng.choice(sorted(HABITS.values())) + ENV
    for _ in range(cuts):
        at, end = rng.randrange(len(text)), rng.randrange(len(text))
        piece = rng.choice((*TRICKY, text[min(at, end) : max(at, end)][:40], "\0", "(", "\n", " ", "é", "\u2028"))
        text = text[:at] + piece + text[at + rng.randrange(4) :]
    judged(text, guards)


def test_the_fuzzer_sees_both_outcomes_and_would_see_a_fault() -> None:
    outcomes = {judged(mutated(seed, 0.02), "native") for seed in range(60)}
    assert "compiled" in outcomes and len(outcomes) > 3
    assert faults(compile("x.__globals__", "", "exec")) and faults(compile("_write_ = 1", "", "exec"))
    assert faults(compile("def f(_getattr_): pass", "", "exec")) and faults(compile("import _os", "", "exec"))
