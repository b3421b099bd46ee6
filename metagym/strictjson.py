"""Strict JSON: plain data in, and nothing that another language's parser would refuse."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Any, NoReturn

import numpy as np

from metagym.errors import BadInput

MAX_DEPTH = 100
"""Deepest nesting that is stored: far above any record's need, far below the limit of every parser."""


def plain_json(value: Any, where: str = "value") -> Any:
    """Turns a value into plain JSON data, or says which part of it is none.

    NumPy scalars and arrays become numbers and lists, tuples become lists, mappings become dicts, subclasses of str,
    int and float (enums) their plain value.

    Args:
        value: Any value.
        where: How error messages call it.

    Raises:
        BadInput: A number is not finite, a key is no text, a type has no JSON form, or the nesting is deeper than
            `MAX_DEPTH`; the message names the path, e.g. ``record 'turn/1/eval/0': value.episode.return is nan``.
    """
    return _plain(value, where, 0)


def strict_json(text: str | bytes) -> Any:
    """Parses JSON and refuses NaN and Infinity, which Python's parser lets through.

    Raises:
        ValueError: It is no JSON.
    """
    try:
        return json.loads(text, parse_constant=no_constant)
    except RecursionError:
        raise ValueError("nested too deeply") from None


def _plain(value: Any, where: str, depth: int) -> Any:
    if value is None or value is True or value is False or _is_plain_text(value):
        return value
    if isinstance(value, np.floating):
        value = float(value)
    elif isinstance(value, (np.generic, np.ndarray)):
        value = value.tolist()
    if isinstance(value, str):
        # A pair of surrogates is the same text as the character it stands for, and JSON cannot tell them apart.
        return str.__str__(value).encode("utf-16-le", "surrogatepass").decode("utf-16-le", "surrogatepass")
    if isinstance(value, int):
        return value if isinstance(value, bool) else int(value)
    if isinstance(value, float):
        if not math.isfinite(value):
            raise BadInput(f"{where} is {float(value)!r}, which JSON cannot hold; store None for what was not measured")
        return float(value)
    if depth >= MAX_DEPTH:
        raise BadInput(f"{where[:200]}... is nested deeper than {MAX_DEPTH} levels (or contains itself)")
    if isinstance(value, Mapping):
        return {
            key if _is_plain_text(key) else _key(key, where): (
                item if _is_plain_text(item) else _plain(item, f"{where}.{key}", depth + 1)
            )
            for key, item in value.items()
        }
    if isinstance(value, (list, tuple)):
        return [_plain(item, f"{where}[{index}]", depth + 1) for index, item in enumerate(value)]
    raise BadInput(f"{where} is of type {type(value).__name__}, which has no JSON form")


def _is_plain_text(value: Any) -> bool:
    """Most of what is stored, and nothing is to be done with it."""
    return value.__class__ is str and value.isascii()


def _key(key: Any, where: str) -> str:
    if not isinstance(key, str):
        raise BadInput(f"{where} has the key {key!r}; keys of JSON objects are texts")
    return str(_plain(key, where, 0))


def no_constant(name: str) -> NoReturn:
    """What a strict parser does with NaN and Infinity.

    Raises:
        ValueError: Always.
    """
    raise ValueError(f"{name} is not allowed")
