"""Checks of what callers hand in: numbers, switches, mappings, each refused in one sentence that names the setting.

NumPy's numbers and booleans are taken wherever Python's are, and become plain ones, so that records are plain JSON.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Mapping
from numbers import Real
from typing import Any

import numpy as np

from metagym.errors import BadInput


def shown(value: Any) -> str:
    """A value as a message shows it: its `repr`, cut at 80 characters."""
    text = repr(value)
    return text if len(text) <= 80 else text[:77] + "..."


def whole(name: str, value: Any, least: int) -> int:
    """A whole number of at least `least`.

    Raises:
        BadInput: It is smaller, or no whole number (booleans, texts and 2.0 are none).
    """
    try:
        if isinstance(value, bool):
            raise TypeError
        found = operator.index(value)
    except TypeError:
        raise BadInput(f"{name} is a whole number of at least {least}, got {shown(value)}") from None
    if found < least:
        raise BadInput(f"{name} is at least {least}, got {found}")
    return found


def number(name: str, value: Any, low: float, high: float = math.inf, *, above: bool = False) -> float:
    """A finite number from `low` to `high`.

    Args:
        name: The setting, for the message.
        value: What was handed in.
        low: Smallest value.
        high: Largest value; infinity for no limit.
        above: `low` itself is too small.

    Raises:
        BadInput: It is outside, not finite, or no number (booleans and texts are none).
    """
    limits = f"from {low:g} to {high:g}" if math.isfinite(high) else f"{'above' if above else 'at least'} {low:g}"
    if isinstance(value, bool) or not isinstance(value, Real):
        raise BadInput(f"{name} is a number ({limits}), got {shown(value)}")
    try:
        found = float(value)
    except OverflowError:
        found = math.inf
    if not low <= found <= high or (above and found == low):  # NaN is within no limits
        raise BadInput(f"{name} is {limits}, got {shown(value)}")
    if math.isinf(found):
        raise BadInput(f"{name} is {found}, and must be finite")
    return found


def flag(name: str, value: Any) -> bool:
    """True or False.

    Raises:
        BadInput: Anything else, 0, 1 and None included.
    """
    if not isinstance(value, (bool, np.bool_)):
        raise BadInput(f"{name} is True or False, got {shown(value)}")
    return bool(value)


def texts(name: str, value: Any) -> list[str]:
    """A list of texts: a list of them, or one text with commas between.

    Raises:
        BadInput: It is neither.
    """
    found = value.split(",") if isinstance(value, str) else value
    if not isinstance(found, (list, tuple)) or not all(isinstance(one, str) for one in found):
        raise BadInput(f"{name} is a list of names, or names with commas between, got {shown(value)}")
    return [one.strip() for one in found]


def mapping(name: str, value: Any) -> dict[str, Any]:
    """A dict, as a copy; None is an empty one.

    Raises:
        BadInput: It is no mapping.
    """
    if value is None:
        return {}
    if not isinstance(value, Mapping):
        raise BadInput(f"{name} is a dict, got {shown(value)}")
    return dict(value)


def settle(
    settings: Any, name: str, check: Callable[..., Any], *limits: float, none: bool = False, **more: Any
) -> None:
    """Replaces a field of a frozen dataclass by its checked value.

    Args:
        settings: The dataclass, in its ``__post_init__``.
        name: The field.
        check: `whole`, `number` or `flag`.
        *limits: Limits for `check`.
        none: None is a value too.
        **more: Further arguments of `check`.

    Raises:
        BadInput: The value is not usable.
    """
    value = getattr(settings, name)
    if not (none and value is None):
        object.__setattr__(settings, name, check(name, value, *limits, **more))
