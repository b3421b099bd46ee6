"""A model's answer never reaches `eval`, and a scorer's failure is no right answer."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from metagym_envs.reasoning.scoring import EXPRESSIONS, LITERALS, MAX_CHARS, is_expression, is_literal, score

HOSTILE = [
    "__import__('os').system('id')",
    "().__class__.__bases__[0].__subclasses__()",
    "[x for x in (1, 2)]",
    "open('/etc/passwd').read()",
    "(lambda: 1)()",
    "x.evalf()",
    "Symbol('x')",
    "f'{1}'",
    "exec('1')",
    "print",
    "x if x else 1",
    "x := 1",
]


class Evaluating:
    """Stands for a data set whose scorer evaluates what it gets."""

    def __init__(self) -> None:
        self.seen: list[str] = []

    def score_answer(self, answer: str, entry: Any) -> float:
        self.seen.append(answer)
        return 0.5


@pytest.mark.parametrize("name", sorted(LITERALS | EXPRESSIONS))
@pytest.mark.parametrize("text", HOSTILE)
def test_code_is_not_handed_to_a_scorer_that_evaluates(name: str, text: str) -> None:
    dataset = Evaluating()
    assert score(dataset, name, {"answer": "1 2 3"}, text) == 0.0 and not dataset.seen


def test_a_text_that_is_the_solution_is_right_without_being_evaluated() -> None:
    dataset = Evaluating()
    assert score(dataset, "spiral_matrix", {"answer": "1 2 3"}, " 1 2 3\n") == 1.0
    assert score(dataset, "n_queens", {"answer": None, "metadata": {"valid_answers": ["Q _\n_ Q"]}}, "Q _\n_ Q") == 1.0
    assert score(dataset, "n_queens", {"answer": None, "metadata": {"valid_answers": ["Q _\n_ Q"]}}, "_ Q") == 0.0
    assert not dataset.seen


@pytest.mark.parametrize("text", ["[1, 2]", "[['a'], ['b']]", "(1, -2.5)"])
def test_a_literal_is(text: str) -> None:
    assert is_literal(text)
    assert score(Evaluating(), "binary_matrix", {"answer": "x"}, text) == 0.5


ARITHMETIC = ["3*x**2 + 2*x - 1", "(8 - 2) * 4", "sin(x)/2 + C", "x^2*exp(-x)", "2**-1", "x**(1/2)", "pi"]
TOO_MUCH = ["9**9**9**9", "(9**99)**99**2", "((9**90)**90)**90", "10**101", "1" * 200, "9" * 99 + "**(9*9)"]


@pytest.mark.parametrize("text", ARITHMETIC)
def test_arithmetic_is_an_expression(text: str) -> None:
    assert is_expression(text)


@pytest.mark.parametrize("text", [*HOSTILE, *TOO_MUCH, "factorial(99999)", "sin(x, y)", "x[0]", ""])
def test_what_is_no_bounded_arithmetic_is_none(text: str) -> None:
    assert not is_expression(text)


@settings(max_examples=200, deadline=None)
@given(st.text(max_size=60))
def test_any_text_gets_a_score(text: str) -> None:
    for name in ("spiral_matrix", "countdown", "chain_sum"):
        assert 0.0 <= score(Evaluating(), name, {"answer": "5"}, text) <= 1.0


def test_no_answer_a_long_one_and_a_scorer_that_fails_are_not_right() -> None:
    class Failing:
        def score_answer(self, answer: str, entry: Any) -> float:
            raise RuntimeError("unexpected text")

    class Wild:
        def score_answer(self, answer: str, entry: Any) -> float:
            return float(answer)

    assert score(Evaluating(), "gcd", {"answer": "5"}, None) == 0.0
    assert score(Evaluating(), "gcd", {"answer": "5"}, "5" * (MAX_CHARS + 1)) == 0.0
    assert score(Failing(), "gcd", {"answer": "5"}, "5") == 0.0
    assert [score(Wild(), "gcd", {}, text) for text in ("nan", "inf", "7", "-3", "0.25")] == [0, 0, 1, 0, 0.25]
