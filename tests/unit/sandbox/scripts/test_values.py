"""Values that go between a tested function and its test."""

from __future__ import annotations

import itertools
import json
import math
from collections import Counter, OrderedDict, namedtuple
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from metagym.sandbox.scripts.values import KEYS, Unsendable, pack, unpack

PLAIN = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text() | st.binary(max_size=20),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.lists(inner, max_size=4).map(tuple)
        | st.dictionaries(st.integers() | st.text() | st.tuples(st.integers(), st.text()), inner, max_size=4)
        | st.frozensets(st.integers() | st.text(), max_size=4)
        | st.sets(st.integers() | st.text(), max_size=4)
    ),
    max_leaves=20,
)


def kinds(value: Any) -> Any:
    """The types in a value, in the order of its parts."""
    inner = value.items() if type(value) is dict else value if type(value) in (list, tuple) else ()
    return [type(value), *map(kinds, inner)]


@given(PLAIN)
def test_every_plain_value_survives_json_with_its_types(value: Any) -> None:
    again = unpack(json.loads(json.dumps(pack(value))))
    assert again == value and kinds(again) == kinds(value)


def test_numbers_that_json_has_not_survive() -> None:
    assert unpack(pack(2**200)) == 2**200 and unpack(pack(-(2**63))) == -(2**63)
    assert math.isnan(unpack(pack(math.nan))) and unpack(pack([-math.inf])) == [-math.inf]
    assert unpack(pack(complex(1, -math.inf))) == complex(1, -math.inf)


def test_subclasses_give_what_they_are_made_of() -> None:
    point = namedtuple("point", "x y")
    for value, found in (
        (Counter("aab"), {"a": 2, "b": 1}),
        (OrderedDict(a=1), {"a": 1}),
        (point(1, 2), (1, 2)),
        (np.float64(1.5), 1.5),
        (np.int64(3), 3),
        (np.bool_(True), True),
    ):
        again = unpack(pack(value))
        assert again == found and type(again) is type(found)


@pytest.mark.parametrize(
    "value", [object(), range(3), iter([]), np.zeros(3), len, int], ids=lambda one: type(one).__name__
)
def test_other_types_are_refused(value: Any) -> None:
    with pytest.raises(Unsendable, match="not carried over"):
        pack(value)


def test_what_is_too_deep_or_too_long_is_refused() -> None:
    deep: list[Any] = []
    for _ in range(70):
        deep = [deep]
    with pytest.raises(Unsendable, match="nested too deeply"):
        pack(deep)
    with pytest.raises(Unsendable, match="too many digits"):
        pack(1 << 200_000)
    packed: list[Any] = ["list"]
    for _ in range(70):
        packed = ["list", packed]
    with pytest.raises(Unsendable, match="nested too deeply"):
        unpack(packed)


def test_where_a_caller_reads_sets_and_dicts_are_short() -> None:
    colliding = [n * (2**61 - 1) for n in range(1, 6_000)]  # all of one hash: each entry meets all the others
    for value in (set(colliding), dict.fromkeys(colliding), [set(colliding[:3_000]), set(colliding[:3_000])]):
        with pytest.raises(Unsendable, match="hold too much"):
            unpack(pack(value), KEYS)
    ones = list(itertools.islice(itertools.product((-1, -2), repeat=11), 450))  # hash(-1) == hash(-2)
    assert len({hash(one) for one in ones}) == 1
    deep: list[Any] = [{one: 1 for one in ones}, set(ones), {((0.5,) * 300, *one) for one in ones[:50]}]
    deep += [{1: {(*one, "x"): 2 for one in ones}}, {frozenset((one,)) for one in ones}]
    deep += [{2 ** (4 * 9_000) * n for n in range(1, 50)}]
    for value in deep:
        with pytest.raises(Unsendable, match="hold too much"):
            unpack(pack(value), KEYS)
        assert unpack(pack(value)) == value
    with pytest.raises(Unsendable, match="hold too much"):
        unpack(["set", *range(10**4_000, 10**4_000 + 120)], KEYS)  # as plain JSON numbers, which `pack` never writes
    assert len(unpack(pack(set(range(5_000))), KEYS)) == 5_000 and len(unpack(pack(set(range(9_000))))) == 9_000


def test_half_characters_do_not_arrive() -> None:
    assert unpack(["dict", ["\ud800", ["list", "a\udfff"]]]) == {"\ufffd": ["a\ufffd"]}


@pytest.mark.parametrize(
    "data",
    [
        [], [1], ["tuple", [1]], ["eval", "1"], ["int", "zz"], ["int", "f" * 50_000], ["float", "1.5"], ["bytes", "x"],
        ["set", ["list"]], ["dict", [["list"], 1]], ["dict", [1]], ["complex", 1, 2], ["complex", 1.0], {}, {"a": 1},
        ["int", 3], ["float", "nan", "nan"], 1e999, -1e999, ["list", math.nan], ["complex", 1e999, 0.0],
    ],
    ids=repr,
)  # fmt: skip
def test_what_is_no_value_is_refused(data: Any) -> None:
    with pytest.raises(Unsendable):
        unpack(data)
