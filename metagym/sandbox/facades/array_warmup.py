"""Runs what numpy's C code imports at its first use: in a worker it would import through a program's own hook."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np


def warm_up() -> None:
    """Calls each method that is written in Python behind C code, and each error that has a class of its own."""
    a = np.arange(12.0).reshape(3, 4)
    for name in "sum mean std var max min any all prod argmax argmin cumsum cumprod trace ravel round sort".split():
        getattr(a.copy(), name)()
    for name in "sum mean std max min any all prod round".split():
        getattr(np.float64(1), name)()
    a.clip(1, 2)
    a.dot(a.T)
    np.einsum("ij->i", a)
    np.linalg.inv(np.eye(2))
    np.fft.fft([1.0, 2.0])
    np.unique(a)
    np.median(a)
    np.random.default_rng(1).choice(5, 2, replace=False)
    np.random.RandomState(1).permutation(3)
    for shown in (a, a[0, 0], np.array(["a"]), np.dtype("f4"), np.dtype([("x", "i4")]), np.array([True]), np.array(1j)):
        str(shown)
        repr(shown)
    f"{a[0, 0]:.2f}"
    np.dtype("i4,f4")
    np.frombuffer(b"abcdefgh")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for fails in _FAILURES:
            try:
                fails(a)
            except (ValueError, TypeError, IndexError, OverflowError, AttributeError, MemoryError):
                continue  # the point was to load the class of the error


_FAILURES: tuple[Callable[[Any], Any], ...] = (
    lambda a: a.sum(axis=9),
    lambda a: a + "x",
    lambda a: np.add("x", 1, dtype=float),
    lambda a: a @ np.ones(7),
    lambda a: np.linalg.inv(np.zeros((2, 2))),
    lambda a: a.reshape(7),
    lambda a: int(a),
    lambda a: a.astype("nonsense"),
    lambda a: a[99],
    lambda a: np.int8(300),
    lambda a: np.array([1j]).astype(float),
    lambda a: np.array([[1], [2, 3]]),
    lambda a: a.__iadd__(np.array([1j])),
    lambda a: np.zeros(2**58),
    lambda a: np.concatenate([np.array(["a"]), np.array([1])], dtype=float),
    lambda a: a / 0,
    lambda a: a == "x",
    lambda a: np.array([1.0])[0].nonsense,
    lambda a: np.promote_types("f8", np.dtype([("x", "i4")])),
    lambda a: bool(a),
)
