"""Sources of any kind, size and encoding end as a tree or as a rejection."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from metagym.errors import ProgramRejected
from metagym.sandbox import language
from metagym.sandbox.language import reading
from tests.unit.sandbox.language.harness import ENV


def code_of(source: str | bytes) -> str:
    with pytest.raises(ProgramRejected) as caught:
        language.compile_program(source)
    return caught.value.code


@pytest.mark.parametrize(
    ("source", "code"),
    [
        ("", "empty"),
        (b"", "empty"),
        (" \n\t\n", "empty"),
        ("\ufeff", "empty"),
        ("x = 1\0", "not_text"),
        (b"x = 1\0", "not_text"),
        (b"\xff\xfe\x00x", "not_text"),
        (b"x = '\xe9'", "not_text"),
        ("x = '\ud800'", "not_text"),
        ("\udcff", "not_text"),
        ("x" * 10_000_000, "too_long"),
        (b"\xff" * 10_000_000, "too_long"),
        ("#" * 65_537, "too_long"),
        ("(" * 60_000, "syntax_error"),
        ("x = " + "-" * 60_000 + "1", "too_deep"),
        ("x = a" + ".a" * 30_000, "too_deep"),
        ("x = a" + "()" * 3_000, "too_deep"),
        ("x = " + "1 + " * 10_000 + "1", "too_deep"),
        ("x = [" + "1, " * 21_000 + "]", "too_many_nodes"),
        ("if x: pass\n" + "elif x: pass\n" * 101, "too_deep"),
    ],
)
def test_a_source_that_cannot_be_read_is_rejected(source: str | bytes, code: str) -> None:
    assert code_of(source) == code


@pytest.mark.parametrize("mark", ["\ufeff", ""])
@pytest.mark.parametrize("ending", ["\n", "\r\n", "\r"])
def test_bytes_and_text_are_read_alike(mark: str, ending: str) -> None:
    text = mark + "# coding: latin-1\nclass Env:\n\tdef step(self, a):\n\t\treturn 'é'\n".replace("\n", ending)
    assert language.compile_program(text.encode()).code.co_code == language.compile_program(text).code.co_code


def test_warnings_of_the_compiler_are_not_shown() -> None:
    language.compile_program("x = '\\d'\ny = 1 is 1\nassert (1, 'x')" + ENV)


def nested_finally(depth: int) -> str:
    lines = []
    for level in range(depth):
        lines += [" " * level + "try: a = 1", " " * level + "finally:"]
    return "\n".join([*lines, " " * depth + "b = 1"])


def test_nested_finally_is_bounded() -> None:
    language.compile_program(nested_finally(3) + ENV)
    assert code_of(nested_finally(4) + ENV) == "too_deep"
    assert code_of(nested_finally(16) + ENV) == "too_deep"


def test_finally_in_functions_of_their_own_is_not_nested() -> None:
    source = ""
    for level in range(6):
        pad = " " * level
        source += f"{pad}def f{level}():\n{pad} try: pass\n{pad} finally: pass\n"
    language.compile_program(source + ENV)


def test_a_finally_copied_at_many_returns_is_refused() -> None:
    body = "\n".join(f"  if x == {i}: return {i}" for i in range(400))
    last = "\n".join(f"  y = {i} + y" for i in range(400))
    assert code_of(f"def f(x):\n try:\n{body}\n finally:\n{last}\n" + ENV) == "too_many_nodes"
    language.compile_program(f"def f(x):\n try:\n{body}\n finally:\n  y = 1\n" + ENV)


@pytest.mark.parametrize(
    "source", ["x = 'a' * 10**9", "x = 2 ** 10**8", "x = 1 << 10**9", "x = (1,) * 10**9", "x = '%1000000000d' % 1"]
)
def test_constant_expressions_are_not_computed_by_the_compiler(source: str) -> None:
    program = language.compile_program(source + ENV)
    assert all(not isinstance(part, (str, tuple)) or len(part) < 5_000 for part in program.code.co_consts)


@given(st.one_of(st.text(max_size=300), st.binary(max_size=300)))
@settings(max_examples=150, deadline=None)
def test_any_source_is_compiled_or_rejected(source: str | bytes) -> None:
    try:
        language.compile_program(source)
    except ProgramRejected as error:
        assert error.code and error.message


@given(st.text(alphabet="()[]{}:=.,@*\n \t\"'\\_ax1#-+~", max_size=200))
@settings(max_examples=150, deadline=None)
def test_any_near_python_is_compiled_or_rejected(source: str) -> None:
    try:
        language.compile_program(source + ENV)
    except ProgramRejected as error:
        assert error.code and error.message


def test_the_limits_are_the_documented_ones() -> None:
    assert (reading.MAX_CHARS, reading.MAX_NODES, reading.MAX_DEPTH, reading.MAX_FINALLY) == (65_536, 20_000, 100, 3)
