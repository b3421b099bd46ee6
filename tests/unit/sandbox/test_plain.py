"""Only plain, finite, bounded data leaves a program, and nothing of its classes is called on the way."""

from __future__ import annotations

import enum
import json
import math
from collections import OrderedDict, defaultdict, deque, namedtuple
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from metagym.errors import BadOutput
from metagym.sandbox import Limits
from metagym.sandbox.plain import plain, type_name

LIMITS = Limits(items=50, output_chars=200, depth=5)

SCALARS = (
    st.none() | st.booleans() | st.integers(-(2**63), 2**63 - 1) | st.floats(allow_nan=False, allow_infinity=False)
)
TEXTS = st.text(st.characters(exclude_categories=("Cs",)), max_size=20)
VALUES = st.recursive(
    SCALARS | TEXTS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXTS, inner, max_size=4),
    max_leaves=10,
)


@settings(max_examples=60, deadline=None)
@given(VALUES)
def test_plain_data_is_copied_equal_and_survives_json(value: Any) -> None:
    copy = plain(value, Limits())
    assert copy == value
    assert plain(json.loads(json.dumps(copy, allow_nan=False)), Limits()) == copy


def hostile(base: type) -> type:
    """A subclass whose every overridden method would be noticed."""

    def trap(self: Any, *_: Any) -> Any:
        raise AssertionError("a method of the value was called")

    names = (
        "__str__ __repr__ __int__ __index__ __float__ __iter__ __len__ __getitem__ __eq__ __bool__ __format__".split()
    )
    return type("Hostile", (base,), {**dict.fromkeys(names, trap), "items": trap, "__class__": property(trap)})


@pytest.mark.parametrize(
    ("base", "value"),
    [(str, "text"), (int, 7), (float, 0.5), (list, [1, 2]), (tuple, (1, 2)), (dict, {"a": 1})],
)
def test_subclasses_give_their_built_in_part_and_are_never_called(base: type, value: Any) -> None:
    copy = plain(hostile(base)(value), LIMITS)
    assert copy == (list(value) if base is tuple else value)
    assert type(copy) in (str, int, float, list, dict)


@pytest.mark.parametrize("base", [object, set, bytes, complex, Decimal, Fraction, deque, np.ndarray, Exception])
def test_other_classes_are_refused_without_a_call(base: type) -> None:
    kind = hostile(base)
    value = kind.__new__(kind, 1) if base in (np.ndarray, Decimal, Fraction) else kind.__new__(kind)
    with pytest.raises(BadOutput, match="the value holds a Hostile"):
        plain(value, LIMITS)


def test_what_programs_return_besides_becomes_plain() -> None:
    Point = namedtuple("Point", "x y")
    Colour = enum.IntEnum("Colour", "RED GREEN")
    assert plain((1, Point(2, 3)), LIMITS) == [1, [2, 3]]
    assert plain(Colour.GREEN, LIMITS) == 2
    assert plain([enum.Enum("Door", {"OPEN": "open"}).OPEN], LIMITS) == ["open"]
    assert plain({3, 1, 2}, LIMITS) == [1, 2, 3] and plain(frozenset("ba"), LIMITS) == ["a", "b"]
    assert plain(range(3), LIMITS) == plain(deque([0, 1, 2]), LIMITS) == [0, 1, 2]
    assert plain({1: {2.5: None, True: 1, (1, "a"): 0}}, LIMITS) == {"1": {"2.5": None, "True": 1, "(1, 'a')": 0}}
    assert plain([OrderedDict(a=1), defaultdict(int, b=2)], LIMITS) == [{"a": 1}, {"b": 2}]
    assert plain({"a": 1}.keys(), LIMITS) == ["a"] and plain({"a": 1}.values(), LIMITS) == [1]
    assert plain(Decimal("0.5"), LIMITS) == plain(Fraction(1, 2), LIMITS) == 0.5


def test_numpy_becomes_numbers_and_lists() -> None:
    assert plain(np.eye(2), LIMITS) == [[1.0, 0.0], [0.0, 1.0]]
    found = plain([np.int64(3), np.float32(0.5), np.bool_(True), np.str_("a"), np.float64(2)], LIMITS)
    assert found == [3, 0.5, True, "a", 2.0] and [type(part) for part in found] == [int, float, bool, str, float]
    for array in (np.array([object()]), np.array([1j]), np.array(["2020-01-01"], dtype="datetime64[D]")):
        with pytest.raises(BadOutput, match="array"):
            plain(array, LIMITS)
    with pytest.raises(BadOutput, match="50 items"):
        plain(np.zeros(10_000), LIMITS)
    with pytest.raises(BadOutput, match="not finite"):
        plain(np.array([math.nan]), LIMITS)


def nested(depth: int) -> Any:
    value: Any = 0
    for _ in range(depth):
        value = [value]
    return value


def cycle() -> Any:
    value: list[Any] = []
    value.append(value)
    return value


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (math.nan, "nan, which is not finite"),
        (math.inf, "inf, which is not finite"),
        ([-math.inf], "not finite"),
        (2**63, "more than 64 bits"),
        (-(2**63) - 1, "more than 64 bits"),
        ("x" * 201, "more than 200 characters"),
        (["x" * 101] * 2, "more than 200 characters"),
        ({"x" * 201: 1}, "more than 200 characters"),
        ([0] * 50, "more than 50 items"),
        ({str(i): i for i in range(51)}, "more than 50 items"),
        (range(10**12), "more than 50 items"),
        (nested(6), "deeper than 5 levels"),
        (cycle(), "contains itself"),
        ({1: 0, "1": 0}, "two keys that both read '1'"),
        ({b"a": 0}, "key of type bytes"),
        ({(): (), ((1,),): 0}, None),
        ({1, "a"}, "mixed types"),
        (b"a", "holds a bytes"),
        (1j, "holds a complex"),
        ((i for i in ()), "holds a generator"),
        (Decimal("Infinity"), "not finite"),
        (Fraction(10**400), "not finite"),
        (len, "holds a builtin_function_or_method"),
    ],
)
def test_what_is_no_plain_bounded_data_is_named(value: Any, words: str | None) -> None:
    if words is None:
        assert plain(value, LIMITS) == {"()": [], "([1],)": 0}
        return
    with pytest.raises(BadOutput, match=words):
        plain(value, LIMITS)


def test_limits_count_for_the_whole_value_and_the_largest_passes() -> None:
    assert plain(nested(5), LIMITS) == nested(5)
    assert plain("x" * 200, LIMITS) == "x" * 200
    assert len(plain([0] * 49, LIMITS)) == 49


def test_lone_surrogates_are_replaced_and_pairs_joined() -> None:
    assert plain("a\ud800b", LIMITS) == "a\ufffdb"
    assert plain("\ud83d\ude00", LIMITS) == "\U0001f600"


def test_type_names_are_cut_and_no_metaclass_is_asked() -> None:
    class Meta(type):
        @property
        def __name__(cls) -> str:  # type: ignore[override]
            raise AssertionError("asked")

    assert type_name(Meta("Real", (), {})()) == "Real"
    assert len(type_name(type("x" * 60_000, (), {})())) == 80
