"""Spaces of any kind and nesting, for hypothesis."""

from __future__ import annotations

from typing import Any

import numpy as np
from gymnasium import Space, spaces
from hypothesis import strategies as st

from metagym.spaces import FreeText

shapes = st.lists(st.integers(1, 3), max_size=2).map(tuple)


@st.composite
def boxes(draw: Any) -> spaces.Box:
    shape = draw(shapes)
    kind = draw(st.sampled_from(["float16", "float32", "float64", "int8", "uint8", "int64", "uint64"]))
    if kind.startswith("float"):
        low, high = draw(st.sampled_from([(-1.0, 1.0), (0.0, 1e-3), (-np.inf, np.inf), (-2.5, np.inf), (-np.inf, 7.0)]))
    else:
        limits = np.iinfo(kind)
        low, high = draw(st.sampled_from([(limits.min, limits.max), (0, 5), (2, 3)]))
        return spaces.Box(np.full(shape, low, kind), np.full(shape, high, kind), dtype=getattr(np, kind))
    return spaces.Box(low, high, shape, getattr(np, kind))


def multi_discretes() -> st.SearchStrategy[spaces.MultiDiscrete]:
    def made(numbers: list[int], start: int) -> spaces.MultiDiscrete:
        return spaces.MultiDiscrete(np.array(numbers), start=np.full(len(numbers), start))

    return st.builds(made, st.lists(st.integers(1, 9), min_size=1, max_size=4), st.integers(-3, 3))


def texts() -> st.SearchStrategy[spaces.Text]:
    marks = st.sampled_from(["ab", ' "\\`', "é—鍵\n\t", "\u2028\x85 x", "[1]{}", "0123"])
    return st.builds(lambda most, charset: spaces.Text(most, min_length=0, charset=charset), st.integers(1, 6), marks)


arrays = st.one_of(
    st.builds(lambda n, start: spaces.Discrete(n, start=start), st.integers(1, 80), st.integers(-5, 5)),
    boxes(),
    multi_discretes(),
    st.integers(1, 6).map(spaces.MultiBinary),
)
leaves = st.one_of(arrays, texts(), st.just(FreeText()))


def _graph(draw: Any) -> spaces.Graph:
    nodes = draw(st.sampled_from([spaces.Box(-1, 1, (2,)), spaces.Discrete(4)]))
    return spaces.Graph(nodes, draw(st.sampled_from([None, spaces.Discrete(3), spaces.Box(0, 1, (1,))])))


graphs = st.composite(_graph)()


def _nest(parts: st.SearchStrategy[Space[Any]]) -> st.SearchStrategy[Space[Any]]:
    keys = st.sampled_from(["a", "b c", 'd"e', "é"])
    return st.one_of(
        st.lists(parts, min_size=1, max_size=3).map(lambda found: spaces.Tuple(tuple(found))),
        st.dictionaries(keys, parts, min_size=1, max_size=3).map(spaces.Dict),
        st.lists(parts, min_size=1, max_size=3).map(lambda found: spaces.OneOf(tuple(found))),
        parts.map(spaces.Sequence),
        arrays.map(lambda part: spaces.Sequence(part, stack=True)),
    )


any_space = st.recursive(st.one_of(leaves, graphs), _nest, max_leaves=6)
"""A space of Gymnasium, or `FreeText`, nested or not."""


def equal(one: Any, other: Any) -> bool:
    """Whether two values of a space are equal, types of arrays included."""
    if isinstance(one, np.ndarray) or isinstance(other, np.ndarray):
        same = np.asarray(one).dtype == np.asarray(other).dtype
        return same and np.array_equal(np.asarray(one), np.asarray(other))
    if isinstance(one, dict):
        return one.keys() == other.keys() and all(equal(one[key], other[key]) for key in one)
    if isinstance(one, tuple):
        return len(one) == len(other) and all(equal(a, b) for a, b in zip(one, other, strict=True))
    return bool(one == other)
